"""Chat windows: runs of neighbouring messages that are indexed as one document.

Pure: no clock, no network, no SQL. Times are milliseconds since the epoch, clamped (`events.clamped_ms`).

A *lane* is what is cut: a room's main timeline, or one thread of it. Messages come in server order; a window takes
the next one unless the silence before it was too long or its text would get too large. Three rules make that exact:

- **Membership is for good.** A message is placed once, when it first has words, and never moves. An edit or a
  redaction renders its window again under the same id and touches no other. So the same events that arrive in
  another order may be grouped otherwise, but always with the same texts, each in exactly one window.
- **The byte bound looks at winning revisions, when the next message asks to come in.** `WindowRow.size_bytes` is that
  of the text as it is now: a bot that streams one answer in a hundred edits counts once. What is placed stays, so
  later edits can make a window larger than the bound; it is then flagged "oversize", and has several chunks where it
  is very large.
- **Late events** that come with the live stream take their place of arrival, the open window. Those read backwards,
  into a gap or into older history, get windows of their own that are closed at once: an open one grows at its end only.

A time that had to be clamped says nothing about silence: that message goes with its neighbours, and neither closes a
window nor holds one open. A believable time far before the last message does close it, since a batch that arrives late
after a netsplit is a conversation of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from index.model import EventId, RoomId
from ingest.chat.rendering import MAIN, Lane, Utterance, size_bytes

MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Chosen by measurement: see docs/chat-windows.md."""

    gap_ms: int = 60 * MINUTE_MS
    max_bytes: int = 1_400  # of rendered text
    thread_gap_ms: int = 7 * 24 * 60 * MINUTE_MS  # a thread stays on its subject over night

    def gap_in(self, lane: Lane) -> int:
        return self.gap_ms if lane is MAIN else self.thread_gap_ms


@dataclass(frozen=True, slots=True)
class WindowRow:
    """What the store keeps of a window besides its members. Key: `id`, the first event it took, gone or not."""

    id: EventId
    room: RoomId
    lane: Lane
    last_ms: int  # time of its last message whose time can be believed
    size_bytes: int  # of its text as it is now
    is_open: bool  # at most one per room and lane


@dataclass(frozen=True, slots=True)
class Placement:
    """Where new messages went. `rows` are new or changed; every window named in `windows` needs rendering."""

    windows: Mapping[EventId, EventId]  # message to window
    rows: tuple[WindowRow, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A window cut from messages at hand: see `windows`."""

    messages: tuple[Utterance, ...]  # in server order, never empty

    @property
    def id(self) -> EventId:
        return self.messages[0].event


def windows(messages: Iterable[Utterance], *, room: RoomId, bounds: Bounds) -> list[Window]:
    """Cut one room's messages, in server order, into windows; oldest first message first.

    The same as placing them one by one: every message lands in exactly one window.
    """
    spoken = list(messages)
    placed = place(spoken, {}, room=room, bounds=bounds).windows
    members: dict[EventId, list[Utterance]] = {}
    for message in spoken:
        members.setdefault(placed[message.event], []).append(message)
    return [Window(tuple(group)) for group in members.values()]


def place(
    messages: Sequence[Utterance],
    open_windows: Mapping[Lane, WindowRow],
    *,
    room: RoomId,
    bounds: Bounds,
    is_backfill: bool = False,
) -> Placement:
    """Give each message, in server order, its window.

    `open_windows` holds the open window of each lane that occurs. A backfill neither uses nor leaves open ones.
    """
    still_open: dict[Lane, WindowRow] = {} if is_backfill else dict(open_windows)
    rows: dict[EventId, WindowRow] = {}
    placed: dict[EventId, EventId] = {}
    for message in messages:
        before = still_open.get(message.lane)
        after = assign(before, message, room=room, bounds=bounds)
        if before is not None and after.id != before.id:
            rows[before.id] = replace(before, is_open=False)
        still_open[message.lane] = rows[after.id] = after
        placed[message.event] = after.id
    if is_backfill:
        rows = {window: replace(row, is_open=False) for window, row in rows.items()}
    return Placement(placed, tuple(rows.values()))


def assign(before: WindowRow | None, message: Utterance, *, room: RoomId, bounds: Bounds) -> WindowRow:
    """The window that takes `message`: `before`, the open one of its lane, grown by it, or a new one."""
    size = size_bytes(message)
    if before is None or not _takes(before, message, size, bounds):
        return WindowRow(message.event, room, message.lane, message.sent_ms, size, is_open=True)
    last_ms = before.last_ms if message.has_doubtful_time else message.sent_ms
    return replace(before, last_ms=last_ms, size_bytes=before.size_bytes + size)


def _takes(window: WindowRow, message: Utterance, size: int, bounds: Bounds) -> bool:
    silence_ms = 0 if message.has_doubtful_time else abs(message.sent_ms - window.last_ms)
    return silence_ms <= bounds.gap_in(message.lane) and window.size_bytes + size <= bounds.max_bytes
