"""Raw Matrix events into records: one event in, one record out, and never an exception.

Pure. Events are read as JSON that nobody checked; a client library's classes are not used, since they drop messages
that people can read and lose a page over one odd event. What cannot be used comes back as `Odd` (to be
quarantined and counted) or `Nothing` (fine, but no words in it).

Relations: a malformed relation is no relation, so the text stays. A well-formed `m.replace` that is not valid by itself
(no `m.new_content` object, a `state_key`) gives `Nothing`, since its body is only a fallback for old clients. Whether
an edit may replace its target can be said only with the target in hand: see `ingest.chat.ledger`.

The server's bundled edits (`unsigned`) are not read: every edit arrives as an event of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from index.model import EventId, RoomId, UserId
from ingest.chat.content import TEXT_TYPES, Content, Scrub, read_content

MAX_TIME_MS: Final = 2**53 - 1
"""Greatest time that canonical JSON can hold. Federation of old rooms brings more, and floats."""
FUTURE_MS: Final = 5 * 60_000
"""How far ahead of us another server's clock may be believed."""
MAX_ID_BYTES: Final = 255


@dataclass(frozen=True, slots=True)
class Said:
    """An original: a message of any form that is not a replacement of another one."""

    event: EventId
    room: RoomId
    sender: UserId
    claimed_ms: int  # `origin_server_ts`, only brought into range: see `clamped_ms`
    type: str
    content: Content
    thread_root: EventId | None = None
    reply_to: EventId | None = None  # None for the dummy reply of a thread
    has_state_key: bool = False  # can be read, but not be edited


@dataclass(frozen=True, slots=True)
class Edited:
    """A replacement. Whether it is valid depends on its target."""

    event: EventId
    room: RoomId
    sender: UserId
    claimed_ms: int
    type: str
    target: EventId
    content: Content


@dataclass(frozen=True, slots=True)
class Redacted:
    event: EventId
    room: RoomId
    sender: UserId
    claimed_ms: int
    target: EventId
    is_disputed: bool = False  # both places named a target, and not the same one


@dataclass(frozen=True, slots=True)
class Pruned:
    """The server holds this event without its content: redacted, or its sender erased. What we hold of it goes."""

    event: EventId
    room: RoomId
    sender: UserId
    claimed_ms: int


@dataclass(frozen=True, slots=True)
class Encrypted:
    """Counted, never stored. Its arrival alone makes the room count as encrypted for good."""

    event: EventId
    room: RoomId
    sender: UserId
    claimed_ms: int


@dataclass(frozen=True, slots=True)
class StateChange:
    event: EventId
    room: RoomId
    sender: UserId
    claimed_ms: int
    type: str
    key: str
    content: Mapping[str, object]
    previous: Mapping[str, object]  # `unsigned.prev_content`; empty where the server gave none


@dataclass(frozen=True, slots=True)
class Nothing:
    """A sound event without words: a reaction, a sticker, a call. `reason` is a fixed text, fit for a counter."""

    event: EventId
    reason: str


@dataclass(frozen=True, slots=True)
class Odd:
    """Cannot be used. `event` is None where not even its id can be read."""

    event: EventId | None
    reason: str


_Head = tuple[EventId, RoomId, UserId, int]

Extracted = Said | Edited | Redacted | Pruned | Encrypted | StateChange | Nothing | Odd


def extract(raw: object, *, room: RoomId, version: str, scrub: Scrub) -> Extracted:
    """`room` is the one that was asked for, since events may lack theirs; `version` is that of the room."""
    if not isinstance(raw, Mapping):
        return Odd(None, "not an object")
    event = clean_id(raw.get("event_id"))
    if event is None:
        return Odd(None, "no usable event id")
    return _extract(raw, EventId(event), room, version, scrub)


def _extract(raw: Mapping[object, object], event: EventId, room: RoomId, version: str, scrub: Scrub) -> Extracted:
    kind, user, content = raw.get("type"), clean_id(raw.get("sender")), raw.get("content")
    if not isinstance(kind, str):
        return Odd(event, "no usable type")
    if user is None:
        return Odd(event, "no usable sender")
    key = raw.get("state_key")
    if not isinstance(content, Mapping):
        if kind in TEXT_TYPES or not isinstance(key, str):
            return Odd(event, "no usable content")
        content = {}  # a state event counts by its mere presence, as that of encryption does
    head = (event, room, UserId(user), time_ms(raw.get("origin_server_ts")))
    unsigned = as_mapping(raw.get("unsigned"))
    if kind == "m.room.redaction":
        return _redaction(head, raw, content, version)
    if kind == "m.room.encrypted":
        return Encrypted(*head)
    if kind in TEXT_TYPES or kind == "m.sticker":
        if not content or as_mapping(unsigned.get("redacted_because")):
            return Pruned(*head)
        if kind in TEXT_TYPES:
            return _words(head, kind, content, has_state_key="state_key" in raw, scrub=scrub)
    if isinstance(key, str):
        previous = as_mapping(unsigned.get("prev_content")) or as_mapping(raw.get("prev_content"))
        return StateChange(*head, kind, key, content, previous)
    return Nothing(event, "no words in this type")


def _words(
    head: _Head, kind: str, content: Mapping[str, object], *, has_state_key: bool, scrub: Scrub
) -> Said | Edited | Nothing:
    relation = as_mapping(content.get("m.relates_to"))
    related = clean_id(relation.get("event_id"))
    if relation.get("rel_type") == "m.replace" and related is not None:
        new_content = content.get("m.new_content")
        if has_state_key or not isinstance(new_content, Mapping):
            return Nothing(head[0], "an edit that replaces nothing")
        words = read_content(kind, new_content, is_reply=None, scrub=scrub)
        return Edited(*head, kind, EventId(related), words)
    replied = clean_id(as_mapping(relation.get("m.in_reply_to")).get("event_id"))
    words = read_content(kind, content, is_reply=replied is not None, scrub=scrub)
    thread_root = EventId(related) if relation.get("rel_type") == "m.thread" and related is not None else None
    is_dummy = thread_root is not None and relation.get("is_falling_back") is True
    reply_to = EventId(replied) if replied is not None and not is_dummy else None
    return Said(*head, kind, words, thread_root, reply_to, has_state_key)


def _redaction(
    head: _Head, raw: Mapping[object, object], content: Mapping[str, object], version: str
) -> Redacted | Nothing:
    outer, inner = clean_id(raw.get("redacts")), clean_id(content.get("redacts"))
    target = (inner or outer) if redacts_in_content(version) else (outer or inner)
    if target is None:
        return Nothing(head[0], "a redaction without a target")
    is_disputed = outer is not None and inner is not None and outer != inner
    return Redacted(*head, EventId(target), is_disputed)


def redacts_in_content(version: str) -> bool:
    """From room version 11 on the signed place is `content.redacts`; an unstable version is taken for a newer one."""
    return not version.isdecimal() or int(version[:9]) >= 11


def clamped_ms(claimed_ms: int, *, created_ms: int, now_ms: int) -> int:
    """The time to show and to filter by: inside the room's life, whatever the sender's server claimed."""
    return max(min(claimed_ms, now_ms + FUTURE_MS), min(created_ms, now_ms))


def time_ms(value: object) -> int:
    """Any JSON value as milliseconds from 0 to `MAX_TIME_MS`; what is no number is 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return 0
    return int(max(0, min(value, MAX_TIME_MS)))


def clean_id(value: object) -> str | None:
    """An id as it may be stored: text, not empty, of the length the specification allows, writable as UTF-8."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_BYTES or "\0" in value:
        return None
    try:
        return value if len(value.encode()) <= MAX_ID_BYTES else None
    except UnicodeEncodeError:
        return None


def as_mapping(value: object) -> Mapping[str, object]:
    """`value` where it is an object, else an empty one: a wrong type reads as missing."""
    return value if isinstance(value, Mapping) else {}
