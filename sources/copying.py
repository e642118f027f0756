"""The writer's side of a cluster, put together: who may write to it, and what a run tells it."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from index.errors import CredentialError, EngineError, SourcesError
from index.store import outgoing
from index.store.store import Store
from ingest.report import CopyReport
from sources.config.model import Config
from sources.credentials import Credentials
from sources.engines import open_cluster, published_facts

if TYPE_CHECKING:
    from index.engines.qdrant.cluster import Cluster

Progress = Callable[[int, int], None]


class ClusterCopy:
    """Opens the cluster when it is first needed, and again when it was away."""

    def __init__(self, config: Config, credentials: Credentials, stack: AsyncExitStack, progress: Progress) -> None:
        self._config = config
        self._credentials = credentials
        self._stack = stack
        self._progress = progress
        self._opened: Cluster | None = None

    async def check(self, store: Store) -> None:
        """Raises `ConfigError` for a collection that is not this file's, `CredentialError` for a refused key."""
        try:
            cluster = await self._cluster()
            from index.engines.qdrant.delivery import check

            await check(store, cluster)
        except EngineError:
            return  # it is away: what changes meanwhile waits, and the delivery says so

    async def deliver(self, store: Store) -> CopyReport:
        start = time.monotonic()
        try:
            cluster = await self._cluster()
            from index.engines.qdrant.delivery import deliver

            done = await deliver(store, cluster, facts=published_facts(self._config), progress=self._progress)
        except SourcesError as error:  # a full disk as well: what was read and what must be wiped do not wait for it
            return CopyReport(
                waiting=await outgoing.waiting(store.connection),
                fault=str(error),
                is_credential_fault=isinstance(error, CredentialError),
                seconds=time.monotonic() - start,
            )
        return CopyReport(
            sent=done.sent, removed=done.removed, is_settled=done.is_settled, seconds=time.monotonic() - start
        )

    async def _cluster(self) -> "Cluster":
        if self._opened is None:
            self._opened = await self._stack.enter_async_context(open_cluster(self._config, self._credentials))
        return self._opened


@asynccontextmanager
async def open_copy(
    config: Config, credentials: Credentials, progress: Progress = lambda done, total: None
) -> AsyncIterator[ClusterCopy | None]:
    """None where the index file is all there is. Contacts nobody yet."""
    if config.index.engine != "qdrant":
        yield None
        return
    async with AsyncExitStack() as stack:
        yield ClusterCopy(config, credentials, stack, progress)
