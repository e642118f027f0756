"""The embedded engine: the SQLite file itself. `words` ranks by words, `index.store.nearest` by meaning."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from index.engines.sqlite.common import LIMITS, Limits
from index.engines.sqlite.statistics import Statistics
from index.engines.sqlite.words import WordRanking
from index.errors import EngineError
from index.model import Audience, ChunkId, Filters, Query, Ranked, Vector
from index.store import vectors
from index.store.driver import Connection, DatabaseError
from index.store.held import HeldCodes
from index.store.nearest import nearest
from index.store.reading import Candidate, StoredChunk, candidates, chunk_ids, chunks_by_id
from index.store.scope import Scope, scope_of
from index.store.store import Store
from index.text.words import Keys


class SqliteEngine:
    """Ranks what one index file holds."""

    def __init__(self, store: Store, keys: Keys, limits: Limits = LIMITS) -> None:
        self._store = store
        self._keys = keys
        self._limits = limits
        self._statistics = Statistics()
        self._codes = HeldCodes()
        self._lock = asyncio.Lock()  # the connection has one transaction

    @asynccontextmanager
    async def view(self, audience: Audience, filters: Filters) -> AsyncIterator["SqliteView"]:
        """A read transaction, so that both rankings see the same rows."""
        connection = self._store.connection
        try:
            async with self._lock:
                try:
                    await connection.execute("BEGIN")
                    scope = await scope_of(connection, await self._store.sources(), audience, filters)
                    yield SqliteView(self._store, self._keys, scope, self._limits, self._statistics, self._codes)
                finally:
                    await connection.end("COMMIT")
        except DatabaseError as error:
            raise EngineError(f"{self._store.name}: cannot be searched: {error} (run `sources verify`)") from error


class SqliteView:
    def __init__(
        self, store: Store, keys: Keys, scope: Scope, limits: Limits, statistics: Statistics, codes: HeldCodes
    ) -> None:
        self._connection = store.connection
        self._keys = keys
        self._scope = scope
        self._limits = limits
        self._statistics = statistics
        self._codes = codes

    async def lexical(self, query: Query, *, limit: int) -> list[Ranked]:
        if self._scope.is_empty:
            return []
        return await self._connection.run(lambda connection: self._words(connection).ranked(query, limit=limit))

    async def nearest(self, vector: Vector, query: Query, *, limit: int) -> list[Ranked]:
        if self._scope.is_empty:
            return []
        return await self._connection.run(lambda connection: self._nearest(connection, vector, query, limit))

    def _nearest(self, connection: Connection, vector: Vector, query: Query, limit: int) -> list[Ranked]:
        self._statistics.check(connection)
        demands = self._words(connection).demands(query)
        found = nearest(connection, vector, self._scope, limit=limit, held=self._codes)
        near = [one for one in found if demands.allow(one.chunk_key)]
        identities = chunk_ids(connection, [one.chunk_key for one in near])
        cosines = {identities[one.chunk_key]: one.cosine for one in near if one.chunk_key in identities}
        best = sorted(cosines, key=lambda identity: (-cosines[identity], identity))
        return [Ranked(identity, rank, cosines[identity]) for rank, identity in enumerate(best, start=1)]

    def _words(self, connection: Connection) -> WordRanking:
        return WordRanking(connection, self._keys, self._scope, self._limits, self._statistics)

    async def notes(self) -> list[str]:
        waiting = await vectors.pending_count(self._connection, self._scope.visible)
        return [f"{waiting:,} passages wait for a vector and are found by words alone"] if waiting else []

    async def candidates(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, Candidate]:
        return await self._connection.run(lambda connection: candidates(connection, chunks))

    async def stored(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        return await chunks_by_id(self._connection, chunks)
