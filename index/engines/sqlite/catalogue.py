"""What the index file knows beside chunks, for those who only read."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from index.errors import StoreError
from index.model import ChunkId, EventId, Fingerprint, RoomId, SourceId
from index.store import reading
from index.store.driver import DatabaseError
from index.store.reading import StoredChunk
from index.store.store import Source, Store

if TYPE_CHECKING:
    from index.store.rooms import RoomRecord


class SqliteCatalogue:
    """`file` tells when it was replaced by another."""

    def __init__(self, store: Store, file: Path) -> None:
        self._store = store
        self._file = file
        self.name = store.name

    async def fingerprint(self) -> Fingerprint | None:
        return await self._store.fingerprint()

    async def fact(self, name: str) -> str | None:
        return await self._store.value(name)

    async def sources(self) -> list[Source]:
        return await self._store.sources()

    async def room(self, room: RoomId) -> "RoomRecord | None":
        from index.store import rooms  # a search has no use for it

        return await rooms.room(self._store.connection, room)

    async def first_ms(self, source: SourceId) -> int | None:
        known = await self._store.source(source)
        return None if known is None else await reading.first_ms(self._store.connection, known.key)

    async def stored(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        return await reading.chunks_by_id(self._store.connection, chunks)

    async def holds_event(self, source: SourceId, event: EventId) -> bool:
        return await reading.holds_event(self._store.connection, source, event)

    async def identity(self) -> tuple[object, ...]:
        try:
            status = self._file.stat()
            return status.st_dev, status.st_ino, await self.fingerprint()
        except OSError as error:
            raise StoreError(f"{self.name}: {error.strerror} (run `sources refresh`)") from error
        except DatabaseError as error:
            raise StoreError(f"{self.name}: cannot be read: {error} (run `sources verify`)") from error

    async def revision(self) -> tuple[object, ...]:
        rows = await self._store.connection.execute_fetchall("PRAGMA data_version")
        return tuple(next(iter(rows)))
