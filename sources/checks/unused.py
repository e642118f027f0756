"""Probe of what the configuration can say already and this version does not do yet. Nobody shall wait for it."""

from collections.abc import Iterator, Sequence

from sources.checks.base import Finding, Verdict
from sources.config.model import Config, Notes, Repo, Validate
from sources.credentials import Credentials


async def probe(config: Config, _credentials: Credentials) -> Sequence[Finding]:
    return list(_findings(config))


def _findings(config: Config) -> Iterator[Finding]:
    remedy = "take it out, or wait for the version that does"
    sources: list[Repo | Notes] = [*config.repo, *config.notes]
    for one in sources:
        if one.validate != Validate():
            yield Finding(f"validate {one.name}", Verdict.WARN, "this version does not apply these rules yet", remedy)
