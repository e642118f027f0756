"""The index as the bot reads it: opened read-only, opened anew when it was replaced or built with something else.

No reading lasts longer than one question, so a refresh can always empty its log.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from bot.audience import IndexedSource
from bot.memory import Quote
from index.engines.base import Catalogue
from index.errors import SourcesError, StoreError
from index.model import OVERSIZE, Answer, Audience, EventId, RoomId, SourceId
from index.search import Searcher
from index.store.driver import DatabaseError
from index.store.rooms import RoomRecord
from index.store.store import Source
from index.text.words import Keys


@dataclass(frozen=True, slots=True)
class Opened:
    catalogue: Catalogue
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
    def __init__(self, open_index: Open) -> None:
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
            return (*self._mark, *await opened.catalogue.revision())

    async def sources(self) -> list[Source]:
        """Those that searches can reach."""
        async with self._lock:
            return [source for source in await (await self._current()).catalogue.sources() if not source.is_hidden]

    async def search(self, text: str, audience: Audience, *, limit: int, skip: int, now_ms: int) -> tuple[Answer, Keys]:
        """The keys are those that the question was read with."""
        async with self._lock:
            opened = await self._current()
            answer = await opened.searcher.search([text], audience=audience, limit=limit, skip=skip, now_ms=now_ms)
            return answer, opened.keys

    async def missing(self, quotes: Collection[Quote]) -> frozenset[Quote]:
        """Quotes of messages that the index does not hold any more, in whatever window. Files may change freely.

        Raises `StoreError` when the index was replaced meanwhile: one that is being filled holds nothing yet.
        """
        said = [quote for quote in quotes if quote.event is not None]
        async with self._lock:
            catalogue = (await self._current()).catalogue
            stored = await catalogue.stored(list({quote.chunk for quote in said}))
            gone = set()
            for quote in said:
                chunk = stored.get(quote.chunk)
                is_there = chunk is not None and any(one.event == quote.event for one in chunk.chunk.messages)
                if chunk is None or (not is_there and OVERSIZE in chunk.chunk.flags):  # it was cut anew
                    is_there = await catalogue.holds_event(quote.source, EventId(str(quote.event)))
                if not is_there:
                    gone.add(quote)
            if gone and await catalogue.identity() != self._mark:
                raise StoreError(f"{catalogue.name}: was made anew meanwhile (ask again)")
        return frozenset(gone)

    async def room(self, room: RoomId) -> RoomEntry:
        name = SourceId(f"chat:{room}")
        async with self._lock:
            catalogue = (await self._current()).catalogue
            source = next((source for source in await catalogue.sources() if source.id == name), None)
            first_ms = await catalogue.first_ms(name) if source else None
            return RoomEntry(
                record=await catalogue.room(room),
                is_indexed=first_ms is not None,
                is_hidden=source is not None and source.is_hidden,
                first_ms=first_ms,
            )

    async def _current(self) -> Opened:
        try:
            if self._opened is not None and await self._opened.catalogue.identity() != self._mark:
                await self.close()
            if self._opened is None:
                self._opened = await self._stack.enter_async_context(self._open_index())
                self._mark = await self._opened.catalogue.identity()
            return self._opened
        except SourcesError:
            await self.close()
            raise
        except DatabaseError as error:
            await self.close()
            raise StoreError(f"the index cannot be read: {error} (run `sources verify`)") from error


def indexed(sources: Collection[Source]) -> list[IndexedSource]:
    return [IndexedSource(source.id, source.is_public) for source in sources]


def oldest_success_ms(sources: Collection[Source], audience: Audience) -> int | None:
    """When the least recently refreshed source of an audience was last brought up to date; None when none ever was."""
    seen = [source for source in sources if audience.sources is None or source.id in audience.sources]
    times = [source.succeeded_ms for source in seen if source.succeeded_ms is not None]
    return min(times, default=None)


@asynccontextmanager
async def open_library(open_index: Open) -> AsyncIterator[Library]:
    """Opens nothing yet: a bot without an index is up, and says that it has none."""
    library = Library(open_index)
    try:
        yield library
    finally:
        await library.close()


def by_source(quotes: Collection[Quote]) -> Mapping[SourceId, list[Quote]]:
    found: dict[SourceId, list[Quote]] = {}
    for quote in quotes:
        found.setdefault(quote.source, []).append(quote)
    return found
