"""The index as the bot reads it: opened read-only, opened anew when the file was replaced or built with something else.

No reading lasts longer than one question, so a refresh can always empty its log.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.audience import IndexedSource
from bot.memory import Quote
from index.errors import StoreError
from index.model import Answer, Audience, EventId, RoomId, SourceId
from index.search import Searcher
from index.store import reading, rooms
from index.store.driver import DatabaseError
from index.store.rooms import RoomRecord
from index.store.store import Source, Store
from index.text.words import Keys


@dataclass(frozen=True, slots=True)
class Opened:
    store: Store
    searcher: Searcher
    keys: Keys


Open = Callable[[], AbstractAsyncContextManager[Opened]]


@dataclass(frozen=True, slots=True)
class RoomEntry:
    """What the index knows of a room: its verdict where it was read from a homeserver, and the times of its text."""

    record: RoomRecord | None
    is_indexed: bool
    is_hidden: bool
    first_ms: int | None


class Library:
    def __init__(self, file: Path, open_index: Open) -> None:
        self._file = file
        self._open_index = open_index
        self._opened: Opened | None = None
        self._stack = AsyncExitStack()
        self._mark: tuple[object, ...] = ()
        self._lock = asyncio.Lock()

    async def close(self) -> None:
        self._opened = None
        await self._stack.aclose()

    async def state(self) -> tuple[object, ...]:
        """Equal as long as nothing was written. StoreError when there is no index to be read."""
        async with self._lock:
            opened = await self._current()
            return (*self._mark, *await _row(opened, "PRAGMA data_version"))

    async def sources(self) -> list[Source]:
        """Those that searches can reach."""
        async with self._lock:
            return [source for source in await (await self._current()).store.sources() if not source.is_hidden]

    async def search(self, text: str, audience: Audience, *, limit: int, skip: int, now_ms: int) -> tuple[Answer, Keys]:
        """The keys are those that the question was read with."""
        async with self._lock:
            opened = await self._current()
            answer = await opened.searcher.search([text], audience=audience, limit=limit, skip=skip, now_ms=now_ms)
            return answer, opened.keys

    async def missing(self, quotes: Collection[Quote]) -> frozenset[Quote]:
        """Quotes of messages that the index does not hold any more, in whatever window. Files may change freely."""
        said = [quote for quote in quotes if quote.event is not None]
        async with self._lock:
            connection = (await self._current()).store.connection
            stored = await reading.chunks_by_id(connection, list({quote.chunk for quote in said}))
            gone = set()
            for quote in said:
                chunk = stored.get(quote.chunk)
                if chunk is not None:
                    is_there = any(message.event == quote.event for message in chunk.chunk.messages)
                else:  # the windows were cut anew
                    is_there = await reading.holds_event(connection, quote.source, EventId(str(quote.event)))
                if not is_there:
                    gone.add(quote)
        return frozenset(gone)

    async def room(self, room: RoomId) -> RoomEntry:
        async with self._lock:
            opened = await self._current()
            source = await opened.store.source(SourceId(f"chat:{room}"))
            first_ms = await reading.first_ms(opened.store.connection, source.key) if source else None
            return RoomEntry(
                record=await rooms.room(opened.store.connection, room),
                is_indexed=first_ms is not None,
                is_hidden=source is not None and source.is_hidden,
                first_ms=first_ms,
            )

    async def _current(self) -> Opened:
        try:
            mark = await self._read_mark()
            if self._opened is None or mark != self._mark:
                await self.close()
                self._opened = await self._stack.enter_async_context(self._open_index())
                self._mark = await self._read_mark()
            return self._opened
        except DatabaseError as error:
            await self.close()
            raise StoreError(f"{self._file.name}: cannot be read: {error} (run `sources verify`)") from error

    async def _read_mark(self) -> tuple[object, ...]:
        """Which file it is, and what it was built with."""
        try:
            status = self._file.stat()
        except OSError as error:
            await self.close()
            raise StoreError(f"{self._file.name}: {error.strerror} (run `sources refresh`)") from error
        built_with = None if self._opened is None else await self._opened.store.fingerprint()
        return status.st_dev, status.st_ino, built_with


async def _row(opened: Opened, statement: str) -> Sequence[object]:
    rows = await opened.store.connection.execute_fetchall(statement)
    return tuple(next(iter(rows)))


def indexed(sources: Collection[Source]) -> list[IndexedSource]:
    return [IndexedSource(source.id, source.is_public) for source in sources]


def oldest_success_ms(sources: Collection[Source], audience: Audience) -> int | None:
    """When the least recently refreshed source of an audience was last brought up to date; None when none ever was."""
    seen = [source for source in sources if audience.sources is None or source.id in audience.sources]
    times = [source.succeeded_ms for source in seen if source.succeeded_ms is not None]
    return min(times, default=None)


@asynccontextmanager
async def open_library(file: Path, open_index: Open) -> AsyncIterator[Library]:
    """Opens nothing yet: a bot without an index is up, and says that it has none."""
    library = Library(file, open_index)
    try:
        yield library
    finally:
        await library.close()


def by_source(quotes: Collection[Quote]) -> Mapping[SourceId, list[Quote]]:
    found: dict[SourceId, list[Quote]] = {}
    for quote in quotes:
        found.setdefault(quote.source, []).append(quote)
    return found
