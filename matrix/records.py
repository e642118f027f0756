"""What a homeserver told us, in shapes that hold whatever it sent: pages, sync answers, and the odd entries in them.

Pure. A broken entry costs itself and is counted; it never costs its neighbours.
"""

import re
from dataclasses import dataclass
from typing import Final

from index.model import EventId, RoomId
from matrix.shape import JsonObject, JsonValue, RawEvent, object_at, objects_in, text_at

MAX_ID_BYTES: Final = 255
"""Of any Matrix id. What is longer came from a stranger and names nothing."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of `/messages`, in the order of the direction asked for."""

    events: tuple[RawEvent, ...]
    start: str | None
    end: str | None  # where to go on; None: there is nothing further this way. An empty page may well have one.
    odd: int = 0  # entries that were no objects


@dataclass(frozen=True, slots=True)
class Context:
    """An event and the places on either side of it."""

    event: RawEvent | None
    start: str | None  # go on backwards from here
    end: str | None  # go on forwards from here


@dataclass(frozen=True, slots=True)
class RoomState:
    """Everything that holds in a room now, in no order."""

    events: tuple[RawEvent, ...]
    odd: int = 0


@dataclass(frozen=True, slots=True)
class RoomUpdate:
    """What a sync says of one room. `state` holds what changed before the first timeline event, `timeline` the rest."""

    room: RoomId
    timeline: tuple[RawEvent, ...]  # oldest first
    is_limited: bool  # the timeline does not reach back to the last sync
    prev_batch: str | None  # walk backwards from here to fill the gap
    state: tuple[RawEvent, ...]
    account_data: tuple[RawEvent, ...]
    odd: int = 0


@dataclass(frozen=True, slots=True)
class Invitation:
    room: RoomId
    state: tuple[RawEvent, ...]  # a few stripped events, the invitation itself among them
    odd: int = 0


@dataclass(frozen=True, slots=True)
class SyncBatch:
    """`next_batch` is where the next sync starts; store it only together with what is in here."""

    next_batch: str
    joined: tuple[RoomUpdate, ...]
    left: tuple[RoomUpdate, ...]
    invited: tuple[Invitation, ...]
    account_data: tuple[RawEvent, ...]
    odd: int = 0  # entries anywhere in it that were not what they should be
    is_blind: bool = False  # timelines were left out: every joined room may hold something new
    is_rewound: bool = False  # the homeserver is behind our token (restored from a backup?): what it tells has a hole


def page_in(answer: JsonObject, *, came_from: str | None) -> Page:
    """An `end` that is where the page began would go round for ever: it counts as none."""
    events, odd = objects_in(answer.get("chunk"))
    end = text_at(answer, "end")
    return Page(events, text_at(answer, "start"), None if end == came_from else end, odd)


def batch_in(answer: JsonObject, *, since: str | None = None, is_blind: bool = False) -> SyncBatch:
    """`next_batch` must have been checked."""
    next_batch = text_at(answer, "next_batch") or ""
    rooms = object_at(answer, "rooms")
    joined = [_update(room, said) for room, said in _rooms(rooms, "join")]
    left = [_update(room, said) for room, said in _rooms(rooms, "leave")]
    invited = [_invitation(room, said) for room, said in _rooms(rooms, "invite")]
    account_data, odd = objects_in(object_at(answer, "account_data").get("events"))
    odd += sum(update.odd for update in joined + left) + sum(invitation.odd for invitation in invited)
    return SyncBatch(
        next_batch=next_batch,
        joined=tuple(joined),
        left=tuple(left),
        invited=tuple(invited),
        account_data=account_data,
        odd=odd,
        is_blind=is_blind,
        is_rewound=since is not None and _position(next_batch) < _position(since),
    )


def event_id(event: RawEvent) -> EventId | None:
    """None when the event has none that could be used as a key."""
    found = text_at(event, "event_id")
    return EventId(found) if found is not None and is_id(found, "$") else None


def is_id(text: str, sigil: str) -> bool:
    """Whether a homeserver could know such an id at all; asking for others is a waste, or worse."""
    return text[:1] == sigil and len(text) > 1 and text.isprintable() and len(text.encode()) <= MAX_ID_BYTES


def _position(token: str) -> int:
    """How many events Synapse had seen. Of other tokens nothing is known, which compares as equal."""
    found = re.match(r"s(\d{1,18})_", token)
    return int(found[1]) if found else 0


def _rooms(rooms: JsonObject, membership: str) -> list[tuple[RoomId, JsonObject]]:
    """A room whose value is no object still shows that there is something: it comes as an empty one."""
    return [
        (RoomId(room), said if isinstance(said, dict) else {}) for room, said in object_at(rooms, membership).items()
    ]


def _update(room: RoomId, said: JsonObject) -> RoomUpdate:
    timeline = object_at(said, "timeline")
    events, odd = objects_in(timeline.get("events"))
    state, odd_state = objects_in(object_at(said, "state").get("events"))
    account_data, odd_data = objects_in(object_at(said, "account_data").get("events"))
    return RoomUpdate(
        room=room,
        timeline=events,
        is_limited=_is_limited(said, timeline),
        prev_batch=text_at(timeline, "prev_batch"),
        state=state,
        account_data=account_data,
        odd=odd + odd_state + odd_data,
    )


def _is_limited(said: JsonObject, timeline: JsonObject) -> bool:
    """What we cannot read as a timeline is a gap, not silence."""
    found: JsonValue = said.get("timeline")
    if found is not None and not isinstance(found, dict):
        return True
    events = timeline.get("events", [])
    return not isinstance(events, list) or timeline.get("limited", False) is not False


def _invitation(room: RoomId, said: JsonObject) -> Invitation:
    state, odd = objects_in(object_at(said, "invite_state").get("events"))
    return Invitation(room, state, odd)
