"""What holds in rooms now, as the bot's own account or the reader sees it: openness, members, single events.

Facts are asked for once and kept until a sync tells of a change; a room that nobody tells us of is not known at all,
since a homeserver goes on to answer for a room that was left. What cannot be known is missing from the answers.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from bot.audience import Openness
from index.errors import MatrixError
from index.model import EventId, RoomId, UserId
from matrix.errors import RefusedError, UnavailableError
from matrix.reading import RoomReader
from matrix.records import SyncBatch
from matrix.shape import JsonObject, RawEvent, text_at

log = structlog.get_logger()

MOST_KEPT: Final = 50_000
KEPT_S: Final = 600.0
"""Resolved state can change without a word in any sync: nothing is believed for longer."""
PARALLEL: Final = 8

_DECIDING: Final = frozenset({"m.room.join_rules", "m.room.history_visibility", "m.room.member", "m.room.encryption"})
_Fact = tuple[RoomId, str, str]
T = TypeVar("T")


@dataclass(slots=True)
class Eye:
    """One account that may look into rooms, with the rooms that it is in."""

    user: UserId
    reader: RoomReader
    joined: frozenset[RoomId] = frozenset()


class Rooms:
    def __init__(self, eyes: Sequence[Eye], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._eyes = eyes
        self._clock = clock
        self._known: dict[_Fact, tuple[float, JsonObject | None]] = {}
        self._limit = asyncio.Semaphore(PARALLEL)
        self.changes = 0  # of openness, as far as syncs told: audiences may be others since
        self._forgotten = 0

    async def look_around(self) -> None:
        """Learn again which rooms each account is in, and believe nothing that was known before."""
        for eye in self._eyes:
            eye.joined = await eye.reader.joined_rooms()
        self._known.clear()

    def note(self, eye: Eye, batch: SyncBatch) -> None:
        """Forget what a sync says has changed."""
        for update in batch.left:
            eye.joined -= {update.room}
            self._forget(update.room)
        for update in batch.joined:
            eye.joined |= {update.room}
            if update.is_limited or batch.is_blind:
                self._forget(update.room)
            for event in (*update.state, *update.timeline):
                kind, key = text_at(event, "type"), text_at(event, "state_key")
                if kind in _DECIDING and key is not None:
                    self.changes += kind != "m.room.member"
                    self._forgotten += 1
                    self._known.pop((update.room, kind, key), None)

    def _forget(self, room: RoomId) -> None:
        self.changes += 1
        self._forgotten += 1
        for fact in [fact for fact in self._known if fact[0] == room]:
            del self._known[fact]

    async def openness(
        self, rooms: Collection[RoomId], *, needed: RoomId | None = None, is_fresh: bool = False
    ) -> dict[RoomId, Openness]:
        """Of those rooms of which it can be known. Raises `MatrixError` when that fails for the `needed` one."""

        async def one(room: RoomId) -> Openness | None:
            rule = await self._content(room, "m.room.join_rules", "", is_fresh=is_fresh)
            seen = await self._content(room, "m.room.history_visibility", "", is_fresh=is_fresh)
            # Without an event a room is for the invited, and its history shared; an odd one is taken for narrow.
            visibility = "shared" if seen is None else text_at(seen, "history_visibility") or "joined"
            return Openness(text_at(rule or {}, "join_rule") or "invite", visibility)

        return await self._each(rooms, one, needed=needed)

    async def rooms_of(
        self, user: UserId, rooms: Collection[RoomId], *, is_fresh: bool = False
    ) -> tuple[frozenset[RoomId], frozenset[RoomId]]:
        """Those of the rooms that a user is in now, and those of which it could be found out."""

        async def one(room: RoomId) -> bool | None:
            content = await self._content(room, "m.room.member", user, is_fresh=is_fresh)
            return text_at(content or {}, "membership") == "join"

        found = await self._each(rooms, one)
        return frozenset(room for room, is_in in found.items() if is_in), frozenset(found)

    async def event(self, room: RoomId, event: EventId) -> RawEvent | None:
        """As the homeserver has it now; None when it has none or shows none. Raises `MatrixError` without an answer."""
        for number, eye in enumerate(self._seeing(room), 1):
            try:
                async with self._limit:
                    found = await eye.reader.event(room, event, is_patient=False)
            except RefusedError:
                continue
            except UnavailableError:
                if number == len(self._seeing(room)):
                    raise
                continue
            if found is not None:
                return found
        return None

    async def is_encrypted(self, room: RoomId) -> bool:
        """Whether encryption was ever turned on, which nobody can undo. Raises `MatrixError` when that is not known."""
        return await self._content(room, "m.room.encryption", "", is_fresh=False) is not None

    def is_seen(self, room: RoomId) -> bool:
        return bool(self._seeing(room))

    def _seeing(self, room: RoomId) -> list[Eye]:
        return [eye for eye in self._eyes if room in eye.joined]

    async def _content(self, room: RoomId, kind: str, key: str, *, is_fresh: bool) -> JsonObject | None:
        fact, now_s = (room, kind, key), self._clock()
        if not is_fresh and fact in self._known and now_s - self._known[fact][0] < KEPT_S:
            return self._known[fact][1]
        forgotten = self._forgotten
        async with self._limit:
            seeing = self._seeing(room)
            if not seeing:
                raise UnavailableError(
                    f"{room}: neither the bot nor the reader is in that room any more (invite it again)"
                )
            content = await seeing[0].reader.state_content(room, kind, key)
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        if forgotten == self._forgotten:  # else what was asked may have been answered before the change
            self._known[fact] = (now_s, content)
        return content

    async def _each(
        self, rooms: Iterable[RoomId], ask: Callable[[RoomId], Awaitable[T | None]], *, needed: RoomId | None = None
    ) -> dict[RoomId, T]:
        async def one(room: RoomId) -> tuple[RoomId, T | None]:
            try:
                return room, await ask(room)
            except MatrixError as error:
                if room == needed:
                    raise
                log.info("bot.room_not_known", room_id=room, why=type(error).__name__)
                return room, None

        found = await asyncio.gather(*(one(room) for room in rooms if self.is_seen(room)))
        return {room: value for room, value in found if value is not None}
