"""From `[[forge]]` to what reads it. One token serves the API and git; it is read from its file when it is sent."""

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from index.model import SourceId
from ingest.forge.forge_api import ApiPatience, ForgeApi
from ingest.forge.forge_worker import ForgeWorker, Found
from ingest.forge.git import Git
from ingest.forge.listed import Flag, ForgeKind, Visibility
from ingest.forge.listing import Owner, OwnerKind
from ingest.forge.remote import origin
from ingest.forge.repository import RepoSettings, Repository
from ingest.forge.roster import Roster
from ingest.forge.selection import Selection
from ingest.forge.settled import Trust
from ingest.forge.worker import RepoWorker
from ingest.scrub import scrub
from sources.config.model import Config
from sources.config.settings import clones_folder, cutting_rules, secret_reader, source_timeout_s, validation
from sources.config.source_tables import Forge
from sources.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

_GIT_USERS: Final = {ForgeKind.GITHUB: "x-access-token"}


def roster(
    forge: Forge, config: Config, credentials: Credentials, client: "httpx.AsyncClient", *, attempts: int = 4
) -> Roster:
    """Who asks this forge what there is."""
    api = ForgeApi(
        client,
        ForgeKind(forge.kind),
        forge.url,
        about=f"forge {forge.name} ({origin(forge.url)})",
        token=secret_reader(credentials, forge.credential),
        patience=ApiPatience(attempt_s=config.refresh.silence_timeout_ms / 1000, attempts=attempts),
    )
    return Roster(api, owners(forge), selection(forge), forge.parallel)


def owners(forge: Forge) -> tuple[Owner, ...]:
    return (
        *(Owner(OwnerKind.ORGANISATION, name) for name in forge.organisations),
        *(Owner(OwnerKind.USER, name) for name in forge.users),
    )


def selection(forge: Forge) -> Selection:
    return Selection(
        include=forge.include,
        exclude=forge.exclude,
        visibilities=frozenset(map(Visibility, forge.visibility)),
        left_out=frozenset(map(Flag, forge.leave_out)),
    )


def forge_clones(config: Config, forge: Forge) -> Path:
    """The folder of its clones, which is its alone."""
    return clones_folder(config) / f"forge-{forge.name}"


def forge_repository(
    forge: Forge, config: Config, credentials: Credentials, git: Git, *, label: str, url: str, clone: str
) -> Repository:
    """One of its repositories. The token goes to the forge's own server alone, wherever `url` leads."""
    settings = RepoSettings(
        name=label,
        url=url,
        include=forge.include_files,
        exclude=forge.exclude_files,
        timeout_s=config.refresh.silence_timeout_ms / 1000,
        max_file_bytes=forge.max_file_bytes,
        clone=clone,
    )
    is_own = origin(url) == origin(forge.url)
    return Repository(settings, forge_clones(config, forge), git, git_login(forge, credentials) if is_own else None)


def git_login(forge: Forge, credentials: Credentials) -> "Callable[[], tuple[str, str]] | None":
    """The token as user name and password, as forges take it over https."""
    read = secret_reader(credentials, forge.credential)
    if read is None:
        return None
    user = _GIT_USERS.get(ForgeKind(forge.kind), "oauth2")
    return lambda: (user, read())


def source_of(forge: Forge) -> SourceId:
    """Of the listing; each repository's begins with it and a slash."""
    return SourceId(f"forge:{forge.name}")


def forge_worker(forge: Forge, config: Config, credentials: Credentials, client: "httpx.AsyncClient") -> ForgeWorker:
    """What a refresh runs."""
    git = Git()
    rules, held_to = cutting_rules(forge), validation(forge.validate)
    timeout_s = source_timeout_s(forge, config.refresh)
    read = (forge.include_files, forge.exclude_files, forge.max_file_bytes, rules.sections, held_to.digest)

    def worker_of(found: Found) -> RepoWorker:
        return RepoWorker(
            source=found.source,
            repository=forge_repository(
                forge,
                config,
                credentials,
                git,
                label=found.label,
                url=found.listed.clone_url,
                clone=found.clone,
            ),
            scrub=scrub,
            timeout_s=timeout_s,
            is_public=found.listed.is_public,
            rules=rules,
            identity=found.identity,
            validation=held_to,
        )

    return ForgeWorker(
        source=source_of(forge),
        roster=roster(forge, config, credentials, client),
        worker_of=worker_of,
        scrub=scrub,
        clones=forge_clones(config, forge),
        trust=Trust(forge.trust_ms, blake2b(repr(read).encode(), digest_size=8).hexdigest()),
        timeout_s=config.refresh.source_timeout_ms / 1000,
    )
