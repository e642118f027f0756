"""The writer's side of a cluster, put together: who may write to it, and what a run tells it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from index.errors import CredentialError, EngineError
from index.store import outgoing
from index.store.store import Store
from ingest.report import CopyReport
from sources.config.model import Config
from sources.credentials import Credentials
from sources.engines import open_cluster, published_facts


@dataclass(frozen=True, slots=True)
class ClusterCopy:
    """Opens the cluster for each delivery and keeps nothing open while sources are read or texts embedded."""

    config: Config
    credentials: Credentials
    progress: Callable[[int, int], None] = lambda done, total: None

    async def check(self, store: Store) -> None:
        """Raises `ConfigError` for a collection that is not this file's, `CredentialError` for a refused key."""
        try:
            async with open_cluster(self.config, self.credentials) as cluster:
                from index.engines.qdrant.delivery import check

                await check(store, cluster)
        except EngineError:
            return  # it is away: what changes meanwhile waits, and the delivery says so

    async def deliver(self, store: Store) -> CopyReport:
        start = time.monotonic()
        try:
            async with open_cluster(self.config, self.credentials) as cluster:
                from index.engines.qdrant.delivery import deliver

                done = await deliver(store, cluster, facts=published_facts(self.config), progress=self.progress)
        except (EngineError, CredentialError) as error:
            return CopyReport(
                waiting=await outgoing.waiting(store.connection),
                fault=str(error),
                is_credential_fault=isinstance(error, CredentialError),
                seconds=time.monotonic() - start,
            )
        return CopyReport(
            sent=done.sent, removed=done.removed, is_settled=done.is_settled, seconds=time.monotonic() - start
        )


def copy_of(config: Config, credentials: Credentials) -> ClusterCopy | None:
    """None where the index file is all there is."""
    return ClusterCopy(config, credentials) if config.index.engine == "qdrant" else None
