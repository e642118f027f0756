"""What of a room is kept, and what must stay gone and why: standing orders, silent senders, notices, commands.

Pure. Arrivals are held against these rules one by one; what follows for edits and replies is `ingest.chat.ledger`'s.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from index.model import EventId, RoomId, UserId
from ingest.chat.content import Content
from ingest.chat.events import Edited, Said, clamped_ms


class Why(StrEnum):
    """Of two reasons for one message the one that demands more is kept."""

    REDACTED = "redacted"
    PRUNED = "pruned"  # the server has it without content, or has it no more
    PURGED = "purged"
    PURGED_WITH_REPLIES = "purged with replies"

    @property
    def is_order(self) -> bool:
        return self in (Why.PURGED, Why.PURGED_WITH_REPLIES)

    def demands_more_than(self, other: "Why | None") -> bool:
        return other is None or _DEMANDS[self] > _DEMANDS[other]


_DEMANDS: Final = {Why.REDACTED: 0, Why.PRUNED: 0, Why.PURGED: 1, Why.PURGED_WITH_REPLIES: 2}


@dataclass(frozen=True, slots=True)
class Purge:
    """A standing order to forget every message that meets all conditions given. Times are inclusive.

    Edits go with their message. With `takes_replies` what answers it goes as well, with its own edits.
    """

    room: RoomId | None
    event: EventId | None = None
    sender: UserId | None = None
    after_ms: int | None = None
    before_ms: int | None = None
    takes_replies: bool = False

    @property
    def why(self) -> Why:
        return Why.PURGED_WITH_REPLIES if self.takes_replies else Why.PURGED

    def names(self, room: RoomId, event: EventId) -> bool:
        """Whether it is this message alone that is ordered, whoever sent it and whenever."""
        is_bare = (self.sender, self.after_ms, self.before_ms) == (None, None, None)
        return is_bare and self.event == event and self.room in {None, room}

    def covers(self, room: RoomId, events: Container[EventId], sender: UserId, times_ms: Iterable[int]) -> bool:
        """Of two ids (an edit's and its target's) and of two times (claimed and clamped) either is enough."""
        return (
            self.room in {None, room}
            and (self.event is None or self.event in events)
            and self.sender in {None, sender}
            and any(
                (self.after_ms is None or ms >= self.after_ms) and (self.before_ms is None or ms <= self.before_ms)
                for ms in times_ms
            )
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """What of a room is kept, besides what the gates said."""

    created_ms: int  # of the room
    now_ms: int
    purges: tuple[Purge, ...] = ()
    silent_senders: frozenset[UserId] = frozenset()  # our bot, and feeds: not stored at all
    keeps_notices: bool = False
    command: str = ""  # what a command to our bot begins with: a question that was asked answers none

    def keeps(self, content: Content) -> bool:
        """Whether the words count. What does not leaves a row without them, so that its edits find it."""
        first = content.text.casefold().split(maxsplit=1)[:1]  # the bot does not tell capitals from small letters
        is_command = self.command != "" and first == [self.command.casefold()]
        return not is_command and (self.keeps_notices or not content.is_notice)


def why_purged(record: Said | Edited, rules: Rules) -> Why | None:
    """The most that a standing order demands of it; None where none covers it."""
    clamped = clamped_ms(record.claimed_ms, created_ms=rules.created_ms, now_ms=rules.now_ms)
    events = (record.event, record.target) if isinstance(record, Edited) else (record.event,)
    found = [
        purge.why
        for purge in rules.purges
        if purge.covers(record.room, events, record.sender, (record.claimed_ms, clamped))
    ]
    return max(found, key=_DEMANDS.__getitem__, default=None)
