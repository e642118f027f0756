"""Where the bot may answer, and what each of these places may see: the host's list, with aliases made ids."""

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from bot.audience import Listener
from bot.settings import BotSettings
from index.errors import MatrixError
from index.model import RoomId, UserId
from matrix.errors import RefusedError, UnavailableError
from matrix.reading import RoomReader
from matrix.shape import object_at, text_at

log = structlog.get_logger()

MOST_UPGRADES: Final = 20
"""Of one room that are followed."""
_TWO: Final = 2


class Places:
    """`resolve` before the first use. An alias whose server cannot be asked keeps its last known room."""

    def __init__(self, settings: BotSettings, reader: RoomReader) -> None:
        self._reader = reader
        self._ids: dict[str, RoomId] = {}
        self._newer: dict[RoomId, RoomId] = {}  # what rooms were upgraded to
        self._listeners: Mapping[RoomId, Listener] = {}
        self.settings = settings

    async def resolve(self, settings: BotSettings | None = None) -> None:
        """Look up every alias, now or of new settings, and what permitted rooms were upgraded to.

        The permission to answer goes along with an upgrade, and with it what the room may see, but not its old text.
        """
        self.settings = settings = settings or self.settings
        wanted = {permitted.name for permitted in settings.rooms}
        wanted |= {name for permitted in settings.rooms for name in permitted.sees.rooms}
        wanted |= settings.direct.rooms if settings.direct else frozenset()
        found = await asyncio.gather(*(self._resolved(name) for name in sorted(wanted)))
        ids = {name: room for name, room in zip(sorted(wanted), found, strict=True) if room is not None}
        rooms = [(ids[permitted.name], permitted.sees) for permitted in settings.rooms if permitted.name in ids]
        chains = await asyncio.gather(*(self._upgrades(room) for room, _ in rooms))
        if settings is not self.settings:
            return  # newer ones are being looked up, or were
        self._ids = ids
        carried = {
            newer: Listener(newer, sees, self._listed(sees.rooms) - {room})
            for (room, sees), chain in zip(rooms, chains, strict=True)
            for newer in chain
        }
        self._listeners = carried | {room: Listener(room, sees, self._listed(sees.rooms)) for room, sees in rooms}

    async def _upgrades(self, room: RoomId) -> list[RoomId]:
        """The rooms that this one went on in, one after the other."""
        chain = [room]
        while len(chain) <= MOST_UPGRADES:
            newer = await self._upgraded(chain[-1])
            if newer is None or newer in chain:
                break
            chain.append(newer)
        return chain[1:]

    async def _upgraded(self, room: RoomId) -> RoomId | None:
        """The room that took this one's place, where both say so: a tombstone can point anywhere."""
        try:
            tombstone = await self._reader.state_content(room, "m.room.tombstone", "")
            newer = text_at(tombstone or {}, "replacement_room")
            created = await self._reader.state_content(RoomId(newer), "m.room.create", "") if newer else None
        except UnavailableError:
            return self._newer.get(room)
        except RefusedError:
            return None  # in one of them the bot is not
        if not newer or text_at(object_at(created or {}, "predecessor"), "room_id") != room:
            return None
        if self._newer.get(room) != newer:
            log.info("bot.room_upgraded", room_id=room, replacement=newer)
        self._newer[room] = RoomId(newer)
        return RoomId(newer)

    async def _resolved(self, name: str) -> RoomId | None:
        if name.startswith("!"):
            return RoomId(name)
        before = self._ids.get(name)
        try:
            found = await self._reader.resolve(name)
        except (UnavailableError, RefusedError) as error:
            log.warning("bot.alias_not_resolved", alias=name, why=type(error).__name__)
            return before
        if found is None:
            log.warning("bot.alias_unknown", alias=name)
        elif before is not None and found != before:
            log.warning("bot.alias_moved", alias=name, room_id=found)
        return found

    def _listed(self, names: frozenset[str]) -> frozenset[RoomId]:
        return frozenset(self._ids[name] for name in names if name in self._ids)

    @property
    def permitted(self) -> frozenset[RoomId]:
        return frozenset(self._listeners)

    def may_be_heard(self, room: RoomId) -> bool:
        """Whether a command there is worth a look at all."""
        return room in self._listeners or self.settings.direct is not None

    async def listener(self, room: RoomId, asker: UserId) -> Listener | None:
        """Who reads what is said there; None where the bot keeps silent. Raises `MatrixError`."""
        if room in self._listeners:
            return self._listeners[room]
        sees = self.settings.direct
        if sees is None or not await self._is_direct(room, asker):
            return None
        return Listener(room, sees, self._listed(sees.rooms), is_direct=True)

    async def _is_direct(self, room: RoomId, asker: UserId) -> bool:
        """The bot and the asker are in it, nobody else is or was invited, and nobody can come or look in unasked."""
        try:
            state = await self._reader.state(room)
        except RefusedError:
            return False
        present = set()
        for event in state.events:
            content, kind = object_at(event, "content"), text_at(event, "type")
            if kind == "m.room.member" and content.get("membership") in ("join", "invite"):
                present.add(text_at(event, "state_key"))
            if kind == "m.room.join_rules" and content.get("join_rule") not in ("invite", "private"):
                return False
            if kind == "m.room.history_visibility" and content.get("history_visibility") == "world_readable":
                return False
        return present == {self.settings.user, asker} and len(present) == _TWO

    def seen_from(self, room: RoomId) -> list[str]:
        """As configured, the places whose answers may quote this room because the host listed it there."""
        return [
            permitted.name
            for permitted in self.settings.rooms
            if room in self._listed(permitted.sees.rooms) and self._ids.get(permitted.name) != room
        ]

    async def is_business(self, room: RoomId) -> bool:
        """Whether the bot has anything to do in a room that it is in."""
        if room in self._listeners:
            return True
        if self.settings.direct is None:
            return False
        try:
            others = set(await self._reader.joined_members(room)) - {self.settings.user}
        except MatrixError:
            return True  # not known: rather stay
        return len(others) <= 1
