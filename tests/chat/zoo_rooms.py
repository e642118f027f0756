"""Every kind of room, in three phases: those never to be read, those that stop being readable, those that stay so.

See `tests/chat/test_room_zoo.py`. The kinds take the room versions in turn.
"""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chat.host import Host
from tests.chat.zoo import Kept, Words
from tests.chat.zoo_talk import CIPHER, FOUND, NOWHERE, UNSEEN
from tests.matrix.people import Json, People, Person

VERSIONS = ("9", "10", "11", "12")
OPEN = ""
RELAYED: dict[str, Any] = {"com.beeper.per_message_profile": {"displayname": "x"}}
DOUBLE_PUPPET: dict[str, Any] = {"fi.mau.double_puppet_source": "mautrix-signal"}
LATER = {
    "bridge state": "bridged",
    "puppet": "bridged",
    "mark": "bridged",
    "narrow history": "visibility",
    "exclusion": "excluded",
    "direct list": "direct",
    "notice tag": "server_notice",
}
LOST = ("left", "kicked", "banned", "forgotten", "deleted")


def state(kind: str, content: Json, key: str = "") -> Json:
    return {"type": kind, "state_key": key, "content": content}


@dataclass(slots=True)
class Rooms:
    """`reasons` are what must be said of each room now; `OPEN` where it is read."""

    host: Host
    people: People
    alice: Person
    friends: tuple[Person, Person]
    reader: Person
    admin: Person
    words: Words
    rooms: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    _versions: Any = field(default_factory=lambda: itertools.cycle(VERSIONS))

    async def before(self) -> None:
        await self._refused()
        await self._readable()
        for kind in ("world-readable and never joined", "invited and never joined"):
            history = "world_readable" if kind.startswith("world") else "shared"
            self.rooms[kind] = await self.alice.create_room(
                kind, version=next(self._versions), history=history, invite=[self.reader]
            )
        await self._say_everywhere("before")

    async def between(self) -> None:
        await self._change()
        await self._lose()
        await self._say_everywhere("between")

    async def after(self) -> None:
        """Who comes back is read on; an upgraded room's heir is read from its beginning."""
        await self.reader.join(self.rooms["left and back"])
        await self.reader.join(self.rooms["heir"])
        self.reasons |= {"left and back": OPEN, "heir": OPEN}
        self.words.now(FOUND, *self._words("left and back"), *self._words("heir"))
        await self._puppet_leaves("puppet")
        await self._say_everywhere("after")

    def time_is_over(self) -> None:
        """The grace time of rooms that the reader is not in any more."""
        for kind in LOST:
            self.words.now(NOWHERE, *self._words(kind))

    async def verdicts(self) -> dict[str, str]:
        return {kind: await self.host.reason(self.rooms[kind]) for kind in self.reasons}

    async def _refused(self) -> None:
        make = self._make
        private: dict[str, Any] = {"preset": "private_chat", "invite": [self.reader]}
        await make("direct by its invitation", "direct", is_direct=True, **private)
        await make("nameless, of two people", "direct", is_named=False, **private)
        await self._nameless("nameless, of two people and the reader", self.friends[:1], "direct")
        await make("in the list of direct chats", "direct")
        await make("with the server's notices", "server_notice")
        await self.reader.tag(self.rooms["with the server's notices"], "m.server_notice")
        for kind, state_type, content, key in (
            ("m.bridge", "m.bridge", {"bridgebot": "@x:hs.test"}, ""),
            ("older bridge state, long key", "uk.half-shot.bridge", {"protocol": {"id": "irc"}}, "x:/irc.net/#y"),
            ("bridge state that was emptied", "m.bridge", {}, "moe.cadence.ooye://discord/1/2"),
        ):
            await make(kind, "bridged", initial_state=[state(state_type, content, key)])
        for kind in ("puppet", "puppet that left"):
            await make(kind, "bridged")
            await (await self.people.puppet("telegram_4711")).join(self.rooms[kind])
        await self._puppet_leaves("puppet that left")
        await make("marked message", "bridged")
        await self.alice.say(self.rooms["marked message"], "hi", **RELAYED)
        alias = f"zoo-{self.reader.user[8:14]}"
        await make("excluded by its id", "excluded", version="11")
        await make("excluded by its hash alone", "excluded", version="12")
        await make("excluded by its alias", "excluded", alias=alias)
        self._exclude("excluded by its id", "excluded by its hash alone")
        self.host.set(excluded=(*self.host.settings.excluded, f"#{alias}:hs.test"))
        self.rooms["heir of an excluded room"] = await self.alice.upgrade(self.rooms["excluded by its id"], "12")
        await self.reader.join(self.rooms["heir of an excluded room"])
        self.reasons["heir of an excluded room"] = "excluded"
        await make("space", "space", room_type="m.space")
        await make("history for the joined", "visibility", history="joined")
        await make("history for the invited", "visibility", history="invited")
        await self._update_direct_list("in the list of direct chats")

    async def _readable(self) -> None:
        for version in VERSIONS:
            await self._make(f"ordinary, version {version}", version=version)
        await self._make("ordinary, of two people", preset="private_chat", invite=[self.reader])
        await self._nameless("nameless, of three people and the reader", self.friends)
        await self._make("nameless, for everybody", is_named=False)
        await self._make("encrypted", initial_state=[state("m.room.encryption", {"algorithm": CIPHER["algorithm"]})])
        for kind in ("narrow for a while", "upgraded before", "upgraded between", "left and back", *LOST):
            await self._make(kind)
        for kind in LATER:
            await self._make(f"later: {kind}")
        self.rooms["heir"] = await self.alice.upgrade(self.rooms["upgraded before"], "12")
        await self._narrow_for_a_while()

    async def _change(self) -> None:
        """Signs that come while the room is read, each with more behind it than one sync tells."""
        rooms = self.rooms
        await self.alice.set_state(rooms["later: bridge state"], "m.bridge", {"x": 1}, "discord")
        await (await self.people.puppet("telegram_4712")).join(rooms["later: puppet"])
        await self.alice.say(rooms["later: mark"], "hi", **DOUBLE_PUPPET)
        await self.alice.set_state(
            rooms["later: narrow history"], "m.room.history_visibility", {"history_visibility": "joined"}
        )
        self._exclude("later: exclusion")
        await self._update_direct_list("in the list of direct chats", "later: direct list")
        await self.reader.tag(rooms["later: notice tag"], "m.server_notice")
        await self.alice.set_state(rooms["m.bridge"], "m.bridge", {})
        for kind, reason in LATER.items():
            self.reasons[f"later: {kind}"] = reason
            self.words.now(NOWHERE, *self._words(f"later: {kind}"))
            for number in range(6):
                await self._say(f"later: {kind}", f"in the gap, {number}", NOWHERE)
        heir = await self.alice.upgrade(self.rooms["upgraded between"], "10")
        await self.reader.join(heir)
        self.rooms["heir that was joined at once"], self.reasons["heir that was joined at once"] = heir, OPEN
        await self._narrow_for_a_while()

    async def _lose(self) -> None:
        for kind in (*LOST, "left and back"):
            self.reasons[kind] = "not_joined"
            self.words.now(UNSEEN, *self._words(kind))
        for kind in ("left", "left and back", "forgotten"):
            await self.reader.leave(self.rooms[kind])
        await self.reader.forget(self.rooms["forgotten"])
        await self.alice.kick(self.rooms["kicked"], self.reader)
        await self.alice.ban(self.rooms["banned"], self.reader)
        await self.admin.delete_room(self.rooms.pop("deleted"))
        del self.reasons["deleted"]

    async def _make(self, kind: str, reason: str = OPEN, *, is_named: bool = True, **options: Any) -> None:
        options.setdefault("version", next(self._versions))
        room = await self.alice.create_room(kind if is_named else None, **options)
        await self.reader.join(room)
        self.rooms[kind], self.reasons[kind] = room, reason

    async def _nameless(self, kind: str, friends: Sequence[Person], reason: str = OPEN) -> None:
        await self._make(kind, reason, is_named=False, preset="private_chat", invite=[self.reader, *friends])
        for friend in friends:
            await friend.join(self.rooms[kind])

    async def _narrow_for_a_while(self) -> None:
        kind = "narrow for a while"
        for visibility, kept in (("invited", NOWHERE), ("joined", NOWHERE), ("shared", FOUND)):
            content = {"history_visibility": visibility}
            await self.alice.set_state(self.rooms[kind], "m.room.history_visibility", content)
            await self._say(kind, f"while {visibility}", kept)

    async def _puppet_leaves(self, kind: str) -> None:
        await (await self.people.puppet("telegram_4711")).leave(self.rooms[kind])

    def _exclude(self, *kinds: str) -> None:
        self.host.set(excluded=(*self.host.settings.excluded, *(self.rooms[kind] for kind in kinds)))

    async def _update_direct_list(self, *kinds: str) -> None:
        await self.reader.set_account_data("m.direct", {self.alice.user: [self.rooms[kind] for kind in kinds]})

    async def _say_everywhere(self, phase: str) -> None:
        """One more word in every room, readable or not."""

        async def speak(kind: str) -> None:
            reason = self.reasons.get(kind, "not_joined")
            await self._say(kind, phase, FOUND if reason == OPEN else NOWHERE)

        await asyncio.gather(*(speak(kind) for kind in self.rooms))
        cipher = self.words.new(f"encrypted: cipher {phase}", NOWHERE)
        await self.alice.send(self.rooms["encrypted"], CIPHER | {"ciphertext": cipher}, "m.room.encrypted")

    async def _say(self, kind: str, what: str, kept: Kept) -> None:
        await self.alice.say(self.rooms[kind], self.words.new(f"{kind}: {what}", kept))

    def _words(self, kind: str) -> list[str]:
        return [word for word, one in self.words.kinds.items() if one.startswith(f"{kind}: ")]
