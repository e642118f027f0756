"""Probe of the forges: each listing is read, as a refresh would, once and without patience; nothing is fetched."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from index.errors import SourcesError
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.config.source_tables import Forge
from sources.credentials import Credentials

if TYPE_CHECKING:
    import httpx


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    if not config.forge:
        return []
    import httpx

    async with httpx.AsyncClient() as client:
        return [await _forge(forge, config, credentials, client) for forge in config.forge]


async def _forge(forge: Forge, config: Config, credentials: Credentials, client: "httpx.AsyncClient") -> Finding:
    from sources.config.forges import roster

    name = f"forge {forge.name}"
    try:
        seen = await roster(forge, config, credentials, client, attempts=1).listed({})
    except SourcesError as error:
        return failure(name, error)
    if seen.faults:
        return failure(name, seen.faults[0])
    count = len(seen.repos)
    told = f"{count} repositor{'y is' if count == 1 else 'ies are'} read"
    if left_out := Counter(seen.left_out.values()):
        told += ", left out: " + ", ".join(f"{number} {reason}" for reason, number in sorted(left_out.items()))
    if seen.odd:
        return Finding(name, Verdict.WARN, f"{told}; {seen.odd} not understood", "is its kind the right one?")
    if not count:
        return Finding(name, Verdict.WARN, told, "check owners, include and visibility")
    return Finding(name, Verdict.OK, told)
