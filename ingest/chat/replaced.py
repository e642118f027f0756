"""What the members' events of a room replaced: behind a join, the invitation that says whether the chat is direct.

A homeserver gives the former content along (`unsigned.prev_content`) where it happens to have it at hand, and names the
former event (`unsigned.replaces_state`) always; Synapse leaves the content out of `/state` once it was restarted.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from index.model import EventId, UserId
from ingest.chat.events import clean_id
from matrix.shape import JsonObject, RawEvent, object_at

MOST_PRESENT: Final = 10
"""Members up to which all are looked at: a direct chat has few. In a larger room only the reader is."""
_MOST_STEPS: Final = 8
"""Back from a member's event: new names and pictures each replace the one before."""

Ask = Callable[[EventId], Awaitable[RawEvent | None]]
"""One event of the room; None where the homeserver does not have it or does not show it."""


async def with_replaced(state: Sequence[RawEvent], ask: Ask, *, reader: UserId) -> list[RawEvent]:
    """The state of a room, with what each join came after where anybody says."""
    present = [raw for raw in state if _membership(raw) in ("join", "invite")]
    found = {
        id(raw): await _former(raw, ask)
        for raw in present
        if _membership(raw) == "join" and (len(present) <= MOST_PRESENT or raw.get("state_key") == reader)
    }
    return [raw if (content := found.get(id(raw))) is None else _with_previous(raw, content) for raw in state]


async def _former(joined: RawEvent, ask: Ask) -> JsonObject | None:
    """What somebody was in the room before joining."""
    last = joined
    for _ in range(_MOST_STEPS):
        unsigned = object_at(last, "unsigned")
        content = object_at(unsigned, "prev_content")
        if content.get("membership", "join") != "join":
            return content
        event = clean_id(unsigned.get("replaces_state"))
        former = None if event is None else await ask(EventId(event))
        if former is None:
            return None
        if _membership(former) != "join":
            return object_at(former, "content")
        last = former
    return None


def _membership(raw: RawEvent) -> object:
    return object_at(raw, "content").get("membership") if raw.get("type") == "m.room.member" else None


def _with_previous(raw: RawEvent, content: JsonObject) -> RawEvent:
    return {**raw, "unsigned": {**object_at(raw, "unsigned"), "prev_content": content}}
