"""Which probes there are, in the order of the table. A new subsystem adds a module and its line here."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from index.errors import SourcesError
from sources.checks import (
    asking,
    bot,
    chat,
    cluster,
    embedding,
    forges,
    indexing,
    machine,
    metrics,
    notes,
    repos,
    secrets,
)
from sources.checks.base import Finding, Probe, failure
from sources.config.model import Config
from sources.credentials import Credentials

PROBES: Final[Mapping[str, Probe]] = {
    "machine": machine.probe,
    "credentials": secrets.probe,
    "index": indexing.probe,
    "qdrant": cluster.probe,
    "embed": embedding.probe,
    "ask": asking.probe,
    "repositories": repos.probe,
    "forges": forges.probe,
    "notes": notes.probe,
    "chat": chat.probe,
    "bot": bot.probe,
    "metrics": metrics.probe,
}


async def check(config: Config, credentials: Credentials, probes: Mapping[str, Probe] = PROBES) -> list[Finding]:
    """All probes side by side; one that fails as a whole is one row."""

    async def run(name: str, probe: Probe) -> Sequence[Finding]:
        try:
            return await probe(config, credentials)
        except SourcesError as error:
            return [failure(name, error)]

    found = await asyncio.gather(*(run(name, probe) for name, probe in probes.items()))
    return [finding for findings in found for finding in findings]
