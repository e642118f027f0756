"""From a sync to what it means for the bot: commands, messages that are gone or edited, invitations.

A timeline that was cut is filled as far back as a command could still be answered. What happened before the bot came
into a room is not for it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import structlog

from bot.settings import OLDEST_COMMAND_MS
from index.errors import MatrixError
from index.model import EventId, RoomId, SourceId, UserId
from matrix.reading import RoomReader
from matrix.records import Invitation, RoomUpdate, event_id
from matrix.shape import JsonObject, RawEvent, integer_at, object_at, text_at

log = structlog.get_logger()

PAGE: Final = 100
MOST_PAGES: Final = 20
"""Of one gap: two thousand events in two minutes are more than anybody reads."""

_STATE_KINDS: Final = [
    "m.room.member",
    "m.room.join_rules",
    "m.room.history_visibility",
    "m.room.encryption",
    "m.room.power_levels",
]
_KINDS: Final = ["m.room.message", "m.room.redaction", "m.reaction", *_STATE_KINDS]


def bot_filter() -> JsonObject:
    """Only what the bot looks at."""
    nothing: JsonObject = {"not_types": ["*"]}
    return {
        "presence": nothing,
        "account_data": nothing,
        "room": {
            "timeline": {"limit": PAGE, "types": list(_KINDS), "lazy_load_members": True},
            "state": {"types": list(_STATE_KINDS), "lazy_load_members": True},
            "ephemeral": nothing,
            "account_data": nothing,
        },
    }


@dataclass(frozen=True, slots=True)
class Changes:
    """What timelines say of messages that may be quoted. `unclear` are rooms with a part that nobody told."""

    gone: frozenset[EventId]
    edited: frozenset[EventId]
    unclear: frozenset[SourceId]


def changes_in(updates: Iterable[RoomUpdate], events: Iterable[RawEvent]) -> Changes:
    """`events` are those of the updates, and of gaps that were filled."""
    gone: set[EventId] = set()
    edited: set[EventId] = set()
    for event in events:
        kind, content = text_at(event, "type"), object_at(event, "content")
        if kind == "m.room.redaction":
            # Both places count: more may be looked at than was redacted, never less.
            gone |= {EventId(id) for id in (text_at(event, "redacts"), text_at(content, "redacts")) if id}
        relation = object_at(content, "m.relates_to")
        target = text_at(relation, "event_id")
        if relation.get("rel_type") == "m.replace" and target:
            edited.add(EventId(target))
    unclear = frozenset(SourceId(f"chat:{update.room}") for update in updates if update.is_limited)
    return Changes(frozenset(gone), frozenset(edited), unclear)


def eased_in(updates: Iterable[RoomUpdate], me: UserId, joined: Collection[RoomId]) -> frozenset[RoomId]:
    """Rooms that may allow now what they refused: the bot came into them, or their power levels changed.

    `joined` are those that it was in before.
    """

    def eases(event: RawEvent) -> bool:
        kind = text_at(event, "type")
        return kind == "m.room.power_levels" or (kind == "m.room.member" and text_at(event, "state_key") == me)

    return frozenset(
        update.room
        for update in updates
        if update.is_limited or update.room not in joined or any(map(eases, (*update.state, *update.timeline)))
    )


def echoes_in(events: Iterable[RawEvent], me: UserId) -> dict[EventId, EventId]:
    """Own answers that came back: the command to the answer."""
    found: dict[EventId, EventId] = {}
    for event in events:
        if text_at(event, "sender") != me or text_at(event, "type") != "m.room.message":
            continue
        command = text_at(object_at(event, "content", "m.relates_to", "m.in_reply_to"), "event_id")
        answer = event_id(event)
        if command and answer is not None:
            found.setdefault(EventId(command), answer)
    return found


def since_own_join(events: Sequence[RawEvent], me: UserId) -> Sequence[RawEvent]:
    """What came after the bot's own coming; all of it where that is not among the events."""
    for place in range(len(events) - 1, -1, -1):
        event = events[place]
        is_own = text_at(event, "type") == "m.room.member" and text_at(event, "state_key") == me
        if is_own and _joins(event):
            return events[place + 1 :]
    return events


def _joins(event: RawEvent) -> bool:
    """A change of the name or picture is a membership event as well."""
    before = object_at(event, "unsigned", "prev_content") or object_at(event, "prev_content")
    return object_at(event, "content").get("membership") == "join" and before.get("membership") != "join"


async def whole_timeline(
    reader: RoomReader, update: RoomUpdate, me: UserId, *, is_blind: bool, since: str | None, now_ms: int
) -> Sequence[RawEvent]:
    """The room's events since the last sync, oldest first, without those too old for an answer.

    Where the homeserver does not give them, what there is.
    """
    came = since_own_join(update.timeline, me)
    is_cut = (update.is_limited or is_blind) and len(came) == len(update.timeline)
    if not is_cut:
        return came
    before: list[RawEvent] = []
    token = None if is_blind else update.prev_batch
    try:
        for _ in range(MOST_PAGES):
            page = await reader.messages(update.room, from_=token, direction="b", limit=PAGE, to=since)
            before += page.events
            # One event with a false old date must not hide the rest of its page.
            is_old = all(_age_ms(event, now_ms) > OLDEST_COMMAND_MS for event in page.events)
            if page.end is None or (is_old and page.events) or len(since_own_join(before[::-1], me)) < len(before):
                break
            token = page.end
    except MatrixError as error:
        log.warning("bot.gap_not_filled", room_id=update.room, why=type(error).__name__)
    return since_own_join([*reversed(before), *update.timeline], me)


def _age_ms(event: RawEvent, now_ms: int) -> int:
    sent_ms = integer_at(event, "origin_server_ts")
    return 0 if sent_ms is None else now_ms - sent_ms


def inviter_of(invitation: Invitation, me: UserId) -> UserId | None:
    """By the last event that says so: our own homeserver adds the invitation behind what another server wrote."""
    for event in reversed(invitation.state):
        if text_at(event, "type") == "m.room.member" and text_at(event, "state_key") == me:
            sender = text_at(event, "sender")
            return UserId(sender) if sender else None
    return None


def is_listed(user: UserId | None, globs: Iterable[str]) -> bool:
    return user is not None and any(fnmatchcase(user, glob) for glob in globs)
