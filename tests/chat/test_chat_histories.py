"""Random lives of rooms on a real homeserver: what was withdrawn is in no byte, and what stands is found.

Every word that anybody says is told from all others, so one that stands is found by a search for it alone, and one that
is gone can be looked for in every byte of everything that a host keeps.
"""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from index.embed.hashing import HashingEmbedder
from index.errors import StoreError
from index.store.store import open_store
from tests.chat.desk import Desk
from tests.chat.host import host_for
from tests.matrix.people import People, Person

KINDS = Counter(
    send=5, reply=10, edit=5, redact=3, purge=5, erase=1, leave=1, refresh=5, full=1, crash=2, rebuild=2, verify=1
)


@dataclass(slots=True)
class Saying:
    """A message as it must be known: its words, the newest last, and others that it marks as a quotation."""

    room: str
    event: str
    sender: Person
    words: list[str]
    answers: str | None = None  # an event; None where the homeserver was told of none, or of a dummy
    quoted: list[str] = field(default_factory=list)  # by revision, an empty one where nothing is quoted


class Life:
    """What happened, and what must have come of it. `lost` are events that were purged, to whether replies go along."""

    def __init__(self, desk: Desk, people: list[Person], reader: Person, seed: int) -> None:
        self.desk = desk
        self.host = desk.host
        self.people = people
        self.reader = reader
        self.draw = random.Random(seed)
        self.rooms: list[str] = []
        self.roots: dict[str, str] = {}  # events that a thread can be about, to their rooms
        self.places: dict[str, str] = {}  # of everything that was said
        self.standing: dict[str, Saying] = {}
        self.gone: list[str] = []
        self.lost: dict[str, bool] = {}
        self.erased: set[str] = set()
        self.told: list[str] = [f"seed {seed}"]

    def word(self) -> str:
        return "z" + "".join(self.draw.choices("abcdefghijklmnopqrstuvwxy", k=11))

    async def move_in(self) -> str:
        room = await self.people[0].create_room("Kitchen")
        for person in (*self.people[1:], self.reader):
            await person.join(room)
        self.rooms.append(room)
        return room

    async def live(self, kind: str) -> None:
        """What can be done to nothing waits for something to be said."""
        is_empty = not (self.roots if kind == "reply" else self.standing)
        kind = "send" if is_empty and kind in ("reply", "edit", "redact", "purge") else kind
        self.told.append(kind)
        await getattr(self, kind)()

    async def send(self) -> None:
        room, sender, word = self.draw.choice(self.rooms), self.draw.choice(self.people), self.word()
        event = await sender.say(room, f"{word} and more")
        self.roots[event] = room
        self._said(Saying(room, event, sender, [word], quoted=[""]))

    async def reply(self) -> None:
        """To something that stands or is gone, in one of the ways of clients; what it repeats on top is never kept."""
        room, sender = self.draw.choice(sorted(set(self.roots.values()))), self.draw.choice(self.people)
        targets = [event for event, place in self.places.items() if place == room]
        roots = [event for event, place in self.roots.items() if place == room]
        target, word, quoted = self.draw.choice(targets), self.word(), self.draw.choice(["", self.word()])
        body = f"> <{self.people[0].user}> {self._repeated(target)}\n\n" if self.draw.random() < 0.6 else ""
        body += f"{word} answers\n> {quoted}\nand more" if quoted else f"{word} answers"
        how = self.draw.choice(["plain", "plain", "threaded", "dummy"])
        relation: dict[str, Any] = {"m.in_reply_to": {"event_id": target}}
        if how != "plain":
            relation |= {
                "rel_type": "m.thread", "event_id": self.draw.choice(roots), "is_falling_back": how == "dummy"
            }  # fmt: skip
        event = await sender.say(room, body, {"m.relates_to": relation})
        self._said(Saying(room, event, sender, [word], None if how == "dummy" else target, [quoted]))

    def _repeated(self, target: str) -> str:
        """A word that nobody may find by way of an answer: that of the target, or one that was said nowhere."""
        if target in self.standing and self.draw.random() < 0.2:
            return self.standing[target].words[-1]
        self.gone.append(self.word())
        return self.gone[-1]

    async def edit(self) -> None:
        one, word = self.draw.choice(list(self.standing.values())), self.word()
        quoted = self.word() if one.answers is not None and self.draw.random() < 0.5 else ""
        top = f"> <{self.people[0].user}> {self._repeated(one.event)}\n\n" if self.draw.random() < 0.5 else ""
        await one.sender.edit(one.room, one.event, f"{top}> {quoted}\n\n{word}" if quoted else f"{top}{word} instead")
        one.words.append(word)
        one.quoted.append(quoted)
        self._settle()

    async def redact(self) -> None:
        one = self.draw.choice(list(self.standing.values()))
        await one.sender.redact(one.room, one.event)
        self._forget(one)

    async def purge(self) -> None:
        """Rather of something that is answered."""
        answered = {one.answers for one in self.standing.values()}
        wanted = [one for one in self.standing.values() if one.event in answered and self.draw.random() < 0.7]
        one, takes_replies = self.draw.choice(wanted or list(self.standing.values())), self.draw.random() < 0.5
        option = "--with-replies" if takes_replies else "--keep-replies"
        done = await self.desk.purge("--room", one.room, "--event", one.event, "--yes", option)
        assert (done["exit"], done["erased"]) == (0, True), self.told
        before = set(self.gone)
        self._lose(one.event, takes_replies=takes_replies)
        assert self.kept() <= before, self.told  # at once

    async def erase(self) -> None:
        """The last of the people, in all rooms and for ever."""
        done = await self.desk.purge("--sender", self.people[-1].user, "--yes")
        assert (done["exit"], done["erased"]) == (0, True), self.told
        self.erased.add(self.people[-1].user)
        before = set(self.gone)
        self._settle()
        assert self.kept() <= before, self.told

    async def leave(self) -> None:
        room = self.rooms.pop(self.draw.randrange(len(self.rooms)))
        self.roots = {event: place for event, place in self.roots.items() if place != room}
        await self.reader.leave(room)
        for one in [one for one in self.standing.values() if one.room == room]:
            self._forget(one)
        await self.move_in()

    async def refresh(self) -> None:
        await self.check()

    async def full(self) -> None:
        await self.check(is_full=True)

    async def crash(self) -> None:
        """In the middle of a transaction of chat, and after one, before its wipe."""
        if not self.host.file.exists():
            return
        async with open_store(self.host.file, is_writer=True) as store:
            with pytest.raises(StoreError):
                async with store.transaction():
                    await store.connection.execute("DELETE FROM ledger")
                    await store.connection.execute("DELETE FROM chunk")
                    await store.connection.execute("SELECT nonsense")
            async with store.transaction():
                await store.connection.execute("UPDATE room SET is_stale = 1, phase = 'new', position = NULL")

    async def rebuild(self) -> None:
        for file in self.host.folder.glob("index.sqlite*"):
            file.unlink()
        # Synapse gives the answer of two minutes ago to the same question; with another filter it is another one.
        self.host.set(timeline_limit=self.host.settings.timeline_limit - 1)
        await self.check()

    async def verify(self) -> None:
        if self.host.file.exists():
            assert set(await self.desk.faults()) <= {"wipe_owed"}, self.told

    async def check(self, *, is_full: bool = False) -> None:
        report = await self.host.refresh(is_full=is_full)
        assert report.failed == (), self.told
        assert report.is_erased, self.told
        assert self.kept() == set(), self.told
        for lost in self.gone[-8:]:
            assert await self.host.found(lost) == [], (lost, self.told)
        for one in self.standing.values():
            for word in (one.words[-1], one.quoted[-1]):
                assert not word or await self.host.found(word), (word, self.told)

    def kept(self) -> set[str]:
        """Words that are gone and of which a good part stands in some file below the folder."""
        data = b"\n".join(path.read_bytes() for path in self.host.folder.rglob("*") if path.is_file())
        return {word for word in self.gone for at in (0, 2, 5) if word[at : at + 7].encode() in data}

    def _said(self, one: Saying) -> None:
        self.standing[one.event], self.places[one.event] = one, one.room
        self._settle(one)

    def _settle(self, *only: Saying) -> None:
        """What the orders given so far make of messages."""
        for one in only or list(self.standing.values()):
            if one.event not in self.standing:
                continue
            if one.sender.user in self.erased:
                self._lose(one.event, takes_replies=False)
            elif one.answers in self.lost:
                if self.lost[one.answers]:
                    self._lose(one.event, takes_replies=False)
                else:
                    self.gone += filter(None, one.quoted)
                    one.quoted = ["" for _ in one.quoted]

    def _lose(self, event: str, *, takes_replies: bool) -> None:
        self.lost[event] = self.lost.get(event, False) or takes_replies
        if event in self.standing:
            self._forget(self.standing[event])
        self._settle()

    def _forget(self, one: Saying) -> None:
        del self.standing[one.event]
        self.gone += filter(None, (*one.words, *one.quoted))


async def test_after_any_history_no_withdrawn_word_is_anywhere_and_every_other_is_found(
    tmp_path: Path, people: People, alice: Person, capfd: pytest.CaptureFixture[str]
) -> None:
    seed = time.time_ns()
    reader, bob, carol = [await people.register(name) for name in ("reader", "bob", "carol")]
    host = host_for(tmp_path / "state", people.homeserver.url, reader, grace_ms=0)
    host.embedder = HashingEmbedder(32)
    desk = Desk(host)
    life = Life(desk, [alice, bob, carol], reader, seed)
    for _ in range(2):
        await life.move_in()
    for kind in ("send", "send", "send", *life.draw.sample(list(KINDS.elements()), KINDS.total())):
        await life.live(kind)
    await life.check()
    done = await asyncio.to_thread(desk.refresh_whole, reader.token)
    assert done.return_value == 0, (done.output, life.told)
    assert life.kept() == set(), life.told
    assert await desk.faults() == [], life.told
    logged = "".join((done.output, *capfd.readouterr()))
    said = [word for one in life.standing.values() for word in one.words] + life.gone
    assert "chat.room_read" in logged
    assert not [word for word in said if word in logged], life.told
    assert "sources_refresh" in desk.metrics.read_text()
