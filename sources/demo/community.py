"""The scenario played on a homeserver: accounts, rooms, and what was said there over the last days."""

import random
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import httpx
from msgspec import Struct, field

from index.errors import MatrixError
from ingest.scrub.samples import github
from sources.config.units import DAY_MS, MINUTE_MS
from sources.demo.homeserver import Account, Homeserver
from sources.demo.people import Json, Person
from sources.demo.scenario import BOT, PEOPLE, PUPPET, READER, ROOMS, Room, Said

ANSWER_S: Final = 60.0
_HOUR_MIN: Final = 60


class Message(Struct, frozen=True):
    """One that was said, as `said` has it. `word` is what was made up for it."""

    said: Said
    room: str
    event: str
    at_ms: int
    text: str
    word: str = ""


class Community(Struct):
    """Rooms are called by the keys of the scenario."""

    homeserver: Homeserver
    http: httpx.Client
    accounts: dict[str, Account] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    rooms: dict[str, str] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None  # called while an answer is waited for; may raise

    def marked(self, mark: str) -> Message:
        return next(message for message in self.messages if message.said.mark == mark)

    def alias(self, room: str) -> str:
        return f"#{room}:{self.homeserver.server_name}"

    def ask(self, who: str, room: str, text: str) -> tuple[Json, float]:
        """The answer of the bot, an event, and how many seconds it took."""
        began_s = time.monotonic()
        event, answer = next(self.ask_all(who, room, [text]))
        assert event == 0
        return answer, time.monotonic() - began_s

    def ask_all(self, who: str, room: str, texts: Sequence[str]) -> Iterator[tuple[int, Json]]:
        """Questions that one person asks at once; each answer as it comes, with the number of its question."""
        person = self.people[who]
        person.news()
        waiting = {person.say(self.rooms[room], text): number for number, text in enumerate(texts)}
        deadline_s = time.monotonic() + ANSWER_S
        while waiting:
            for event in self._heard(person, deadline_s):
                number = waiting.pop(_answered(event), None) if event["sender"] == self.accounts[BOT].user else None
                if number is not None:
                    yield number, event

    def wait_until_gone(self, who: str, room: str, event: str) -> float:
        """Seconds until somebody in the room is told that an event was taken back."""
        person, began_s = self.people[who], time.monotonic()
        while not person.is_gone(self.rooms[room], event):
            self._heard(person, began_s + ANSWER_S)
        return time.monotonic() - began_s

    def _heard(self, person: Person, deadline_s: float) -> Sequence[Json]:
        self.watch()
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise MatrixError(f"demo: the bot said nothing for {ANSWER_S:.0f} s (is this machine very busy? try again)")
        return person.news(timeout_ms=int(min(left_s, 5) * 1000))


def _answered(event: Json) -> str:
    """The question that an event answers, or nothing."""
    related: Json = event["content"].get("m.relates_to", {})
    return str(related.get("m.in_reply_to", {}).get("event_id", ""))


def made_up() -> str:
    """A word that can be spoken and stands nowhere else."""
    return "".join(secrets.choice("bdfgklmnprstvz") + secrets.choice("aeiou") for _ in range(8))


def play(homeserver: Homeserver, http: httpx.Client) -> Community:
    """Everybody signs up, makes rooms, and says what the scenario has."""
    community = Community(homeserver, http)
    for name in (*PEOPLE, READER, BOT, PUPPET):
        account = homeserver.register(name)
        community.accounts[name] = account
        community.people[name] = Person(http, account, homeserver.appservice_token)
    for name, shown in {**PEOPLE, PUPPET: "Lena (Telegram)"}.items():
        community.people[name].set_display_name(shown)
    for room in ROOMS:
        community.rooms[room.key] = _made(community, room)
        for message in _spoken(community, room):
            community.messages.append(message)
    return community


def _made(community: Community, room: Room) -> str:
    people = community.people
    others = [name for name in room.members if name != room.owner] + [READER] + [BOT] * bool(room.sees)
    others += [PUPPET] * room.is_bridged
    body: Json = {
        "preset": "private_chat" if room.is_private else "public_chat",
        "invite": [people[name].user for name in others],
        "is_direct": room.is_direct,
        "initial_state": [],
    }
    if room.name:
        body |= {"name": room.name, "room_alias_name": room.key}
    if room.is_encrypted:
        body["initial_state"] = [
            {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}
        ]
    if room.is_bridged:
        content = {"bridgebot": people[PUPPET].user, "protocol": {"id": "telegram", "displayname": "Telegram"}}
        body["initial_state"] = [{"type": "m.bridge", "state_key": "telegram", "content": content}]
    made = people[room.owner].create_room(body)
    for name in others:
        people[name].join(made)
    return made


def _spoken(community: Community, room: Room) -> Iterator[Message]:
    where = community.rooms[room.key]
    today_ms = time.time_ns() // 1_000_000 // DAY_MS * DAY_MS
    for talk in room.talks:
        hour, minute = map(int, talk.clock.split(":"))
        at_ms = today_ms - talk.days_ago * DAY_MS + (hour * _HOUR_MIN + minute) * MINUTE_MS
        for said in talk.said:
            person = community.people[said.who]
            word = github(random.SystemRandom(), "ghp_") if "{token}" in said.text else made_up() if said.mark else ""
            text = said.text.replace("{word}", word).replace("{token}", word)
            if room.is_encrypted:
                content: Json = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": text, "session_id": made_up()}
                event = person.send(where, "m.room.encrypted", content, at_ms=at_ms)
            else:
                event = person.say(where, text, at_ms=at_ms)
            if said.edit:
                person.edit(where, event, said.edit, at_ms=at_ms + MINUTE_MS // 2)
            yield Message(said, room.key, event, at_ms, text, word)
            at_ms += 2 * MINUTE_MS
