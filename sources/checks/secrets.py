"""Probe of the credentials that the configuration names: there, private, and of the right form."""

from collections.abc import Iterator, Sequence

from index.errors import SourcesError
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.config.settings import repo_login
from sources.credentials import Credentials


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    return list(_findings(config, credentials))


def _findings(config: Config, credentials: Credentials) -> Iterator[Finding]:
    for name, purpose in needed(config).items():
        try:
            credentials.read(name)
        except SourcesError as error:
            yield failure(f"credential {name}", error)
        else:
            yield Finding(f"credential {name}", Verdict.OK, f"readable; {purpose}")
    for repo in config.repo:
        login = repo_login(repo, credentials)
        try:
            if login is not None:
                login()
        except SourcesError as error:
            yield failure(f"credential {repo.credential}", error)


def needed(config: Config) -> dict[str, str]:
    """Each credential of this configuration, with what it is for."""
    names: dict[str, str] = {}
    if config.embed.api_key_credential:
        names[config.embed.api_key_credential] = "for [embed]"
    if config.index.engine == "qdrant" and config.index.qdrant.api_key_credential:
        names.setdefault(config.index.qdrant.api_key_credential, "for [index.qdrant]")
    if config.ask.kind != "off" and config.ask.api_key_credential:
        names.setdefault(config.ask.api_key_credential, "for [ask]")
    if config.audit.alert_credential:
        names.setdefault(config.audit.alert_credential, "for the alerts of [audit]")
    for repo in config.repo:
        if repo.credential:
            names.setdefault(repo.credential, f"for repo {repo.name}")
    for forge in config.forge:
        if forge.credential:
            names.setdefault(forge.credential, f"for forge {forge.name}")
    if config.chat is not None:
        names["matrix-reader-token"] = "for [chat]"
    if config.bot is not None:
        names["matrix-bot-token"] = "for [bot]"
        if config.bot.looks_with == "reader":
            names.setdefault("matrix-reader-token", "for [bot]")
    return names
