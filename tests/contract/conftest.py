"""Engines to hold to the contract, each over an empty index of its own.

Of Qdrant the storage engine runs in this process, as a library. With SOURCES_TEST_QDRANT_URL set it also runs on that
server, in collections of its own, which are dropped again.
"""

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from uuid import uuid4

import pytest
from qdrant_client import AsyncQdrantClient

from index.engines.base import View
from index.engines.qdrant.cluster import Cluster, open_cluster
from index.engines.qdrant.delivery import deliver
from index.engines.qdrant.engine import QdrantEngine
from index.engines.qdrant.label import drop, read_label
from index.engines.qdrant.settings import QdrantSettings
from index.engines.sqlite.engine import SqliteEngine
from index.model import Audience, Document, Filters, Fingerprint, SourceId, Vector
from index.store import documents, vectors
from index.store.store import Store, open_store
from index.text.searchable import searchable
from index.text.words import Keys
from tests.qdrant.edge import Edge
from tests.qdrant.server import transport

KEYS = Keys(("en", "cs"))


SERVER_URL = os.environ.get("SOURCES_TEST_QDRANT_URL", "")
ENGINES = ("sqlite", "qdrant", *(("qdrant server",) if SERVER_URL else ()))


class Bench:
    """An engine with the writing side beside it. What was written is delivered before the next view is opened."""

    def __init__(self, store: Store, cluster: Cluster | None) -> None:
        self._store = store
        self._cluster = cluster
        self._dimension = 0

    @asynccontextmanager
    async def view(self, audience: Audience, filters: Filters) -> AsyncIterator[View]:
        if self._cluster is None:
            opened: AbstractAsyncContextManager[View] = SqliteEngine(self._store, KEYS).view(audience, filters)
        else:
            async with self._store.transaction():
                await self._store.save_fingerprint(fingerprint(self._dimension))
            await deliver(self._store, self._cluster)
            engine = QdrantEngine(self._cluster, KEYS, await read_label(self._cluster))
            opened = engine.view(audience, filters)
        async with opened as view:
            yield view

    async def put(self, *pages: Document, is_public: bool = True) -> None:
        async with self._store.transaction():
            for page in pages:
                key = await self._store.register(page.source, label=page.source.partition(":")[2], is_public=is_public)
                items = searchable(page, KEYS.document_keys)
                await documents.put(self._store.connection, key, page, items, salt="s")

    async def remove(self, *pages: Document) -> None:
        async with self._store.transaction():
            await documents.remove(self._store.connection, [page.id for page in pages])

    async def hide(self, source: SourceId) -> None:
        async with self._store.transaction():
            await self._store.hide(source, is_hidden=True)

    async def embed(self, vectors_of: dict[str, Vector]) -> None:
        """Give each pending part the vector that is listed for its text."""
        self._dimension = len(next(iter(vectors_of.values()))) // 4
        connection = self._store.connection
        waiting = await vectors.pending(connection, after=0, limit=1_000)
        async with self._store.transaction():
            await vectors.save(connection, [(part, vectors_of[part.text]) for part in waiting])


def fingerprint(dimension: int) -> Fingerprint:
    return Fingerprint(1, 1, 1, 1, ("en", "cs"), "e5" if dimension else "off", dimension, "", "")


@asynccontextmanager
async def open_bench(folder: Path, engine: str) -> AsyncIterator[Bench]:
    async with open_store(folder / "index.sqlite", is_writer=True) as store:
        if engine == "sqlite":
            yield Bench(store, None)
            return
        settings = QdrantSettings(SERVER_URL or "http://localhost", collection=f"test-{uuid4().hex}")
        if engine == "qdrant":
            with closing(Edge()) as edge:
                client = AsyncQdrantClient(settings.url, transport=transport(edge), check_compatibility=False)
                yield Bench(store, Cluster(client, settings, "qdrant in this process"))
                await client.close()
            return
        async with open_cluster(settings) as cluster:
            try:
                yield Bench(store, cluster)
            finally:
                await drop(cluster)


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def bench(tmp_path: Path, engine_name: str) -> AsyncIterator[Bench]:
    async with open_bench(tmp_path, engine_name) as opened:
        yield opened
