"""The embedded engine: the SQLite file itself. `words` ranks by words, `index.store.nearest` by meaning.

What is needed for vectors alone is imported when they are asked for.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from index.engines.sqlite.beside import Beside
from index.engines.sqlite.common import LIMITS, Limits
from index.engines.sqlite.statistics import Statistics
from index.engines.sqlite.words import WordRanking
from index.errors import EngineError
from index.model import Audience, ChunkId, Filters, Query, Ranked, Vector
from index.store.driver import Connection, DatabaseError
from index.store.reading import Candidate, StoredChunk, candidates, candidates_by_key, chunks_by_id
from index.store.scope import Scope, scope_of
from index.store.store import Store
from index.text.words import Keys
from index.wording import waiting_for_vectors

if TYPE_CHECKING:
    from index.store.held import HeldCodes


Read = tuple[list[Ranked], dict[ChunkId, Candidate]]
"""A ranking, and what was read of its chunks on the way."""


class SqliteEngine:
    """Ranks what one index file holds."""

    def __init__(self, store: Store, keys: Keys, limits: Limits = LIMITS) -> None:
        self.store = store
        self.keys = keys
        self.limits = limits
        self.statistics = Statistics()  # of the first connection
        self.beside = Beside(store)
        self._lock = asyncio.Lock()  # a connection has one transaction

    @cached_property
    def codes(self) -> "HeldCodes":
        from index.store.held import HeldCodes

        return HeldCodes()

    @asynccontextmanager
    async def view(self, audience: Audience, filters: Filters) -> AsyncIterator["SqliteView"]:
        """A read transaction, so that both rankings see the same rows."""
        connection = self.store.connection

        def begin(bare: Connection) -> Scope:
            bare.execute("BEGIN")
            self.statistics.check(bare)
            return scope_of(bare, self.statistics.sources(bare), audience, filters)

        try:
            async with self._lock:
                try:
                    await self.beside.look()
                    scope = await connection.run(begin)
                    yield SqliteView(self, scope)
                finally:
                    await connection.end("COMMIT")
        except DatabaseError as error:
            raise EngineError(f"{self.store.name}: cannot be searched: {error} (run `sources verify`)") from error


class SqliteView:
    """Words are ranked on the first connection, vectors beside it where both can see the same rows."""

    def __init__(self, engine: SqliteEngine, scope: Scope) -> None:
        self._engine = engine
        self._connection = engine.store.connection
        self._scope = scope
        self._candidates: dict[ChunkId, Candidate] = {}  # what the rankings have read of their chunks

    async def lexical(self, query: Query, *, limit: int) -> list[Ranked]:
        if self._scope.is_empty:
            return []
        statistics = self._engine.statistics
        ranking, read = await self._connection.run(lambda bare: self._lexical(bare, query, limit, statistics))
        self._candidates |= read
        return ranking

    async def nearest(self, vector: Vector, query: Query, *, limit: int) -> list[Ranked]:
        if self._scope.is_empty:
            return []
        ranking, read = await self._engine.beside.run(lambda bare: self._nearest(bare, vector, query, limit))
        self._candidates |= read
        return ranking

    async def newest(self, *, limit: int) -> list[ChunkId]:
        from index.store.newest import newest

        return await self._connection.run(lambda bare: newest(bare, self._scope, limit=limit))

    def _lexical(self, connection: Connection, query: Query, limit: int, statistics: Statistics) -> Read:
        words = self._words(connection, statistics)
        return words.ranked(query, limit=limit), words.known.candidates

    def _nearest(self, connection: Connection, vector: Vector, query: Query, limit: int) -> Read:
        from index.store.nearest import nearest

        demands = self._words(connection).demands(query)
        found = nearest(connection, vector, self._scope, limit=limit, held=self._engine.codes)
        near = [one for one in found if demands.allow(one.chunk_key)]
        read = candidates_by_key(connection, [one.chunk_key for one in near])
        cosines = {read[one.chunk_key][0]: one.cosine for one in near if one.chunk_key in read}
        best = sorted(cosines, key=lambda identity: (-cosines[identity], identity))
        ranking = [Ranked(identity, rank, cosines[identity]) for rank, identity in enumerate(best, start=1)]
        return ranking, dict(read.values())

    def _words(self, connection: Connection, statistics: Statistics | None = None) -> WordRanking:
        return WordRanking(connection, self._engine.keys, self._scope, self._engine.limits, statistics)

    async def notes(self) -> list[str]:
        from index.store.vectors import pending_among

        statistics, visible = self._engine.statistics, self._scope.visible
        waiting = await self._connection.run(
            lambda bare: statistics.waiting(visible, lambda: pending_among(bare, visible))
        )
        return [waiting_for_vectors(waiting)] if waiting else []

    async def candidates(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, Candidate]:
        if unknown := [chunk for chunk in chunks if chunk not in self._candidates]:  # of a view of another text
            self._candidates |= await self._connection.run(lambda bare: candidates(bare, unknown))
        return {chunk: self._candidates[chunk] for chunk in chunks if chunk in self._candidates}

    async def stored(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        return await chunks_by_id(self._connection, chunks)
