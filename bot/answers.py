"""From a request to what is said: audience, search, a look at each hit, words.

What is remembered of a question, for its next page, is held in memory alone and for a short time.
"""

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bot import about
from bot.audience import Listener, audience_of, rooms_to_know
from bot.checking import Checked, Checker
from bot.command import About, Help, More, Request, Search
from bot.inline import Piece
from bot.library import Library, indexed, oldest_success_ms
from bot.memory import Quote
from bot.places import Places
from bot.render import Results, day, fitting, help_text, nothing_to_continue, results, usage
from bot.rooms import Rooms
from index.model import Answer, Audience, EventId, Hit, RoomId, SourceId, UserId
from index.store.rooms import DONE, READING, WALKING
from index.store.store import Source
from index.text.found import Finder
from index.text.query import parse_many

SPARE_HITS: Final = 5
"""Asked for beyond a page, to take the place of hits that cannot be shown any more."""
MOST_REMEMBERED: Final = 1_000
REMEMBERED_MS: Final = 60 * 60_000


@dataclass(frozen=True, slots=True)
class Spoken:
    """What to say. `page` is None for what quotes nothing; `quotes` belong to its hits, one by one."""

    pieces: list[Piece]
    page: Results | None = None
    quotes: tuple[tuple[Quote, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """Where the next page of somebody's last question begins."""

    text: str
    skip: int
    first: int
    asked_ms: int
    thread: EventId | None = None  # that it was asked in
    answer: EventId | None = None  # the last page that was given


@dataclass(frozen=True, slots=True)
class Scope:
    """An audience, and the sources of which it is not known now whether they belong to it."""

    audience: Audience
    unknown: frozenset[SourceId]


class Answers:
    def __init__(self, places: Places, rooms: Rooms, library: Library, checker: Checker) -> None:
        self._places = places
        self._rooms = rooms
        self._library = library
        self._checker = checker
        self._asked: OrderedDict[tuple[RoomId, UserId], Asked] = OrderedDict()

    async def is_encrypted(self, room: RoomId) -> bool:
        """Whether what is said there would be the only thing in the clear. Raises `MatrixError`."""
        return await self._rooms.is_encrypted(room)

    async def answer(self, room: RoomId, request: Request, listener: Listener) -> Spoken | None:
        """None where silence is the answer. Raises `SourcesError`s, for which `bot.render` has words."""
        prefix, now_ms = self._places.settings.prefix, time.time_ns() // 1_000_000
        match request.command:
            case Help():
                return Spoken(help_text(prefix))
            case About():
                return Spoken(await about.tell(room, listener, self._places, self._library))
            case Search(text=""):
                return Spoken(usage(prefix))
            case Search(text):
                return await self._page(room, request, listener, Asked(text, 0, 1, now_ms, request.thread), now_ms)
            case More(answer):
                asked = self._continued(room, request, now_ms)
                if asked is None:
                    return Spoken(nothing_to_continue(prefix)) if answer is None else None
                return await self._page(room, request, listener, asked, now_ms)

    def placed(self, room: RoomId, request: Request) -> Request | None:
        """With the thread of what it goes on with; None for a reaction to anything but the asker's last answer."""
        if not isinstance(request.command, More) or request.command.answer is None:
            return request
        asked = self._continued(room, request, time.time_ns() // 1_000_000)
        return None if asked is None else replace(request, thread=asked.thread)

    def _continued(self, room: RoomId, request: Request, now_ms: int) -> Asked | None:
        """The question that a command asks more of. A reaction to somebody else's answer, or an old one, is none."""
        asked = self._asked.get((room, request.sender))
        if asked is None or now_ms - asked.asked_ms > REMEMBERED_MS or not isinstance(request.command, More):
            return None
        return asked if request.command.answer in (None, asked.answer) else None

    def given(self, room: RoomId, asker: UserId, answer: EventId) -> None:
        """The last page that somebody got is this event."""
        asked = self._asked.get((room, asker))
        if asked is not None:
            self._asked[room, asker] = replace(asked, answer=answer)

    async def scope(self, listener: Listener, asker: UserId, *, is_fresh: bool = False) -> Scope:
        """Raises `MatrixError` when not even the asking room can be looked at."""
        sources = indexed(await self._library.sources())
        wanted = rooms_to_know(listener, sources)
        openness = await self._rooms.openness(wanted, needed=listener.room, is_fresh=is_fresh)
        joined, known = frozenset[RoomId](), frozenset(openness)
        if listener.is_direct and listener.sees.joined:
            joined, answered = await self._rooms.rooms_of(asker, wanted, is_fresh=is_fresh)
            known &= answered
        unknown = frozenset(SourceId(f"chat:{room}") for room in wanted - known if self._rooms.is_seen(room))
        return Scope(audience_of(listener, sources, openness, joined=joined), unknown)

    async def _page(self, room: RoomId, request: Request, listener: Listener, asked: Asked, now_ms: int) -> Spoken:
        settings = self._places.settings
        queries = parse_many([asked.text], now_ms=now_ms)
        audience = (await self.scope(listener, request.sender)).audience
        answer, keys = await self._library.search(
            asked.text, audience, limit=settings.hits + SPARE_HITS, skip=asked.skip, now_ms=now_ms
        )
        allowed = await self._still_allowed(answer.hits, listener, request.sender)
        places = [place for place, hit in enumerate(answer.hits) if hit.source in allowed]
        found, used = await self._checked([answer.hits[place] for place in places], Finder(queries, keys))
        notes = await self._notes(answer, audience, now_ms)
        if not any(not one.shown.is_weak for _, one in found):
            notes += await self._unread(listener, audience)
        page = fitting(
            Results(
                shown=tuple(one.shown for _, one in found),
                first=asked.first,
                more=answer.more + len(places) - used,
                is_certain=not found or any(not one.shown.is_weak for _, one in found),
                notes=notes,
            ),
            prefix=settings.prefix,
        )
        shown = len(page.shown)
        following = found[shown][0] if shown < len(found) else used
        passed = places[following] if following < len(places) else len(answer.hits)
        following_page = Asked(asked.text, asked.skip + passed, asked.first + shown, now_ms, request.thread)
        self._remember(room, request.sender, following_page)
        return Spoken(results(page, prefix=settings.prefix), page, tuple(one.quotes for _, one in found[:shown]))

    async def _still_allowed(self, hits: Sequence[Hit], listener: Listener, asker: UserId) -> frozenset[SourceId]:
        """The sources of these hits that the audience admits, asked afresh: what was known may be minutes old."""
        sources = frozenset(hit.source for hit in hits)
        known = [one for one in indexed(await self._library.sources()) if one.id in sources]
        wanted = rooms_to_know(listener, known)
        openness = await self._rooms.openness(wanted, needed=listener.room, is_fresh=True)
        joined = frozenset[RoomId]()
        if listener.is_direct and listener.sees.joined:
            joined, _ = await self._rooms.rooms_of(asker, wanted, is_fresh=True)
        return audience_of(listener, known, openness, joined=joined).sources or frozenset()

    async def _checked(self, hits: Sequence[Hit], finder: Finder) -> tuple[list[tuple[int, Checked]], int]:
        """A page of hits that may be shown, each with its place, and how many were looked at for it."""
        wanted, used = self._places.settings.hits, 0
        found: list[tuple[int, Checked]] = []
        while len(found) < wanted and used < len(hits):
            some = hits[used : used + wanted - len(found)]
            looked_at = await self._checker.check(some, finder)
            found += [(used + place, one) for place, one in enumerate(looked_at) if one is not None]
            used += len(some)
        return found, used

    def _remember(self, room: RoomId, asker: UserId, asked: Asked) -> None:
        self._asked[room, asker] = asked
        self._asked.move_to_end((room, asker))
        while len(self._asked) > MOST_REMEMBERED:
            self._asked.popitem(last=False)

    async def _notes(self, answer: Answer, audience: Audience, now_ms: int) -> tuple[str, ...]:
        """Why something may be missing. Only states of the whole index: no count, no name, no address."""
        notes = []
        if any(note.startswith("found by words alone") for note in answer.notes):
            notes.append("Found by words alone: search by meaning is not to be had just now.")
        elif answer.notes:
            notes.append("What is newest is found by its words alone.")
        oldest_ms = oldest_success_ms(await self._library.sources(), audience)
        if oldest_ms is not None and now_ms - oldest_ms > self._places.settings.stale_after_ms:
            notes.append(f"Some of this was last looked at {day(oldest_ms)}; what is newer is missing.")
        return tuple(notes)

    async def _unread(self, listener: Listener, audience: Audience) -> tuple[str, ...]:
        """That what was looked for may be there all the same.

        Follows from the audience and the asking room alone: what is hidden from it says nothing here, read or not.
        """
        known = await self._library.sources()
        if await self._is_being_read(listener, known):
            return ("This room was not read to its end yet. Ask again after the next refresh.",)
        seen = [source for source in known if audience.sources is None or source.id in audience.sources]
        if not seen:
            return (f"Nothing that may be shown here was read yet. {self._places.settings.prefix} about says what is.",)
        if any(source.succeeded_ms is None for source in seen):
            return ("Not everything that may be shown here was read yet. Ask again after the next refresh.",)
        return ()

    async def _is_being_read(self, listener: Listener, known: Sequence[Source]) -> bool:
        """Whether the asking room is going to be read, or its history still is."""
        if listener.is_direct or not (listener.sees.here or listener.room in listener.listed):
            return False
        record = (await self._library.room(listener.room)).record
        if record is None or not (record.is_joined and record.is_admitted):
            return False
        own = next((source for source in known if source.id == f"chat:{listener.room}"), None)
        if own is None:
            return record.phase != DONE
        return own.succeeded_ms is None or record.phase in (WALKING, READING)
