"""A hit is looked at again before it is quoted: is the message still there, and what does it say now?

What is shown is the homeserver's text of this moment, scrubbed, with spoilers covered; the index only says where to
look. What cannot be looked at is not quoted. A message that was edited since is quoted only while it still holds what
it was found by, and nothing that the question excludes: otherwise the question would tell what stood there before.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from bot.memory import Quote
from bot.render import Line, Shown, day
from bot.rooms import Rooms
from index.errors import MatrixError
from index.model import Corpus, EventId, Hit, Message, RoomId, Snippet, UserId
from index.text.found import Finder
from index.text.passage import passage
from index.text.snippet import WIDTH, best_messages, snippet
from matrix.links import event_link, servers_of
from matrix.shape import RawEvent

log = structlog.get_logger()

MOST_LINES: Final = 2
"""Messages that one hit shows: the one that was found and, where that is short, what was said to it."""
SHORT_CHARS: Final = 160
MOST_LOOKS: Final = 3
"""At messages of one hit that say the same, until one of them can be quoted."""
_NAME_CHARS: Final = 40


@dataclass(frozen=True, slots=True)
class Heard:
    """A message as it reads now: scrubbed, its newest valid edit applied (`edit`, None: never edited).

    `whole` is the text with what it quotes of others, as the index has it if nobody edited it since.
    """

    sender: UserId
    sent_ms: int
    text: str  # not empty
    edit: EventId | None
    whole: str


Hear = Callable[[RoomId, RawEvent], Heard | None]
"""Reads an event; None for what says nothing (any more): redacted, pruned, encrypted, no words."""
Scrub = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Checked:
    """A hit that may be shown, with what it quotes."""

    shown: Shown
    quotes: tuple[Quote, ...]


class Checker:
    def __init__(self, rooms: Rooms, hear: Hear, scrub: Scrub, *, home: str) -> None:
        """`home` is the server whose people are called by their bare names."""
        self._rooms = rooms
        self._hear = hear
        self._scrub = scrub
        self._home = home

    async def look(self, room: RoomId, event: EventId) -> Heard | None:
        """None when there is nothing to be read any more. Raises `MatrixError` when that cannot be found out."""
        raw = await self._rooms.event(room, event)
        return None if raw is None else self._hear(room, raw)

    async def check(self, hits: Sequence[Hit], finder: Finder) -> list[Checked | None]:
        """In the order of the hits; None for one that cannot be shown."""
        return await asyncio.gather(*(self._check(hit, finder) for hit in hits))

    async def _check(self, hit: Hit, finder: Finder) -> Checked | None:
        if hit.corpus is not Corpus.CHAT:
            return self._passage(hit)
        if hit.room is None or not hit.messages:
            return None
        found = await self._best(hit, hit.room, finder)
        if found is None:
            return None
        start, best = found
        said = hit.messages[start : start + MOST_LINES]
        lines = [Line(self._name(best.sender), snippet(best.text, finder, width=WIDTH))]
        quotes = [Quote(hit.source, hit.chunk, said[0].event, best.edit)]
        for message in said[1:] if len(best.text) <= SHORT_CHARS else ():
            now = await self._heard(hit.room, message)
            if now is not None and not finder.refuses(now.text):
                words = snippet(now.text, finder, width=WIDTH - len(lines[0].words.text))
                lines.append(Line(self._name(now.sender), words))
                quotes.append(Quote(hit.source, hit.chunk, message.event, now.edit))
        link = event_link(hit.room, said[0].event, servers_of(hit.room, (message.sender for message in hit.messages)))
        place = ", ".join((self._name(best.sender), day(best.sent_ms), self._scrub(hit.title)))
        return Checked(Shown(place, link, tuple(lines), hit.is_weak), tuple(quotes))

    async def _best(self, hit: Hit, room: RoomId, finder: Finder) -> tuple[int, Heard] | None:
        """The place of the message to quote, and how it reads now; None when none says any more what was found."""
        first = hit.best_message or 0
        if (heard := await self._said(hit, room, first, finder)) is not None:
            return first, heard
        if hit.best_message is None:
            return None
        others = [place for place in best_messages(hit.messages, hit.text, finder) if place != first]
        for place in others[: MOST_LOOKS - 1]:
            if (heard := await self._said(hit, room, place, finder)) is not None:
                return place, heard
        return None

    async def _said(self, hit: Hit, room: RoomId, place: int, finder: Finder) -> Heard | None:
        """None for a message that is gone, that an edit has taken what was found from, or given what is excluded."""
        message = hit.messages[place]
        heard = await self._heard(room, message)
        if heard is None:
            return None
        stored = hit.text[message.span.start : message.span.end]
        is_as_stored = stored.split() == heard.whole.split()
        holds = is_as_stored or (_still_holds(heard.text, stored, finder) and not finder.refuses(heard.text))
        return heard if holds else None

    async def _heard(self, room: RoomId, message: Message) -> Heard | None:
        try:
            heard = await self.look(room, message.event)
        except MatrixError as error:
            log.info("bot.hit_not_checked", room_id=room, event_id=message.event, why=type(error).__name__)
            return None
        return heard if heard is not None and heard.sender == message.sender else None

    def _passage(self, hit: Hit) -> Checked:
        words = hit.snippet
        scrubbed = self._scrub(words.text)
        if scrubbed != words.text:  # a newer scrubber than the index was built with
            words = Snippet(scrubbed, (), words.cut_left, words.cut_right)
        shown = Shown(self._scrub(passage(hit)), None, (Line("", words),), hit.is_weak)
        return Checked(shown, (Quote(hit.source, hit.chunk),))

    def _name(self, user: UserId) -> str:
        localpart, _, server = user[1:].partition(":")
        name = localpart[:_NAME_CHARS]
        return name if server == self._home else f"{name} ({server[:_NAME_CHARS]})"


def _still_holds(text: str, stored: str, finder: Finder) -> bool:
    """Whether a new text holds all that the stored one was found by; what was found by meaning alone is in doubt.

    No word led to what operators alone have listed, so none can be gone.
    """
    if not finder.weights:
        return True
    found = {place.term for place in finder.places(stored)}
    return bool(found) and found <= {place.term for place in finder.places(text)}
