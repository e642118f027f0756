"""Engines to hold to the contract, each over an empty index of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from index.engines.base import Engine
from index.engines.sqlite import SqliteEngine
from index.model import Document, SourceId, Vector
from index.store import documents, vectors
from index.store.store import Store, open_store
from index.text.searchable import searchable
from index.text.words import Keys

KEYS = Keys(("en", "cs"))


class Bench:
    """An engine with the writing side beside it."""

    def __init__(self, engine: Engine, store: Store) -> None:
        self.engine = engine
        self._store = store

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
        connection = self._store.connection
        waiting = await vectors.pending(connection, after=0, limit=1_000)
        async with self._store.transaction():
            cells = await vectors.cells(connection)
            await vectors.save(connection, [(part, vectors_of[part.text]) for part in waiting], cells)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        yield Bench(SqliteEngine(store, KEYS), store)
