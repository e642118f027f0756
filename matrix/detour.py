"""Around a page of history that the homeserver cannot serve.

One event that a homeserver stored but cannot write as JSON (a lone surrogate from another server is enough) makes
every page that holds it fail, for good. The way around: smaller pages up to the bad event, then a jump over it by
time. What was jumped over is reported, never taken for silence.
"""

from dataclasses import dataclass
from typing import Final

from index.model import EventId, RoomId
from matrix.errors import UnavailableError
from matrix.reading import Direction, RoomReader
from matrix.records import Page
from matrix.shape import RawEvent, integer_at

_FAR_FUTURE_MS: Final = 2**53 - 1
_JUMPS_MS: Final = (*[1] * 8, 1_000, 60_000, 3_600_000, 86_400_000, 30 * 86_400_000)
"""How far each try goes beyond the event that the last one met: a few single steps, then strides for a long bad run."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A stretch of a room's history that could not be read: between, not including, the two bounds.

    In the direction of reading; None as `last_ms` is the end of the room on that side.
    """

    room: RoomId
    first_ms: int | None  # of the last event before it, where one was known
    last_ms: int | None  # of the first event after it
    resumed_at: EventId | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """A page; if there is a hole in it, then right before the event named in `unknown.resumed_at`."""

    page: Page
    unknown: Unknown | None = None


async def read_stretch(
    reader: RoomReader,
    room: RoomId,
    *,
    from_: str | None,
    direction: Direction,
    limit: int,
    near_ms: int | None,
    to: str | None = None,
) -> Stretch:
    """Like `reader.messages`, but what fails for good in a page is left out.

    `near_ms` is the farthest time read so far on this walk: the earliest when going back, the latest when going
    forward, None at the beginning. A jump lands beyond it, so that a walk over any number of holes comes to its end.
    Raises UnavailableError when the homeserver as a whole does not answer, or when nothing beyond could be reached.
    """
    try:
        return Stretch(await reader.messages(room, from_=from_, direction=direction, limit=limit, to=to))
    except UnavailableError as failure:
        if not await reader.is_alive():
            raise
        before = await _up_to_the_fault(reader, room, from_=from_, direction=direction, limit=limit, to=to)
        if not before.is_at_fault:
            return Stretch(Page(before.events, None, before.end, before.odd))
        near_ms = _farthest(direction, near_ms, before.events)
        return await _beyond(reader, room, direction, near_ms, before, failure)


@dataclass(frozen=True, slots=True)
class _Before:
    events: tuple[RawEvent, ...]
    end: str | None
    odd: int
    is_at_fault: bool  # the next event is one that cannot be served


async def _up_to_the_fault(
    reader: RoomReader, room: RoomId, *, from_: str | None, direction: Direction, limit: int, to: str | None
) -> _Before:
    """In ever smaller pages; with patience only where a failure decides."""
    events: list[RawEvent] = []
    odd = 0
    size = limit
    while size > 1:
        size = max(1, size // 4)
        while True:
            attempts = 3 if size == 1 else 1
            try:
                page = await reader.messages(
                    room, from_=from_, direction=direction, limit=size, to=to, attempts=attempts
                )
            except UnavailableError:
                break
            events += page.events
            odd += page.odd
            from_ = page.end
            if from_ is None or len(events) >= limit:
                return _Before(tuple(events), from_, odd, is_at_fault=False)
    return _Before(tuple(events), from_, odd, is_at_fault=True)


async def _beyond(
    reader: RoomReader,
    room: RoomId,
    direction: Direction,
    near_ms: int | None,
    before: _Before,
    failure: UnavailableError,
) -> Stretch:
    """What came before, and one event on the other side with the place to go on from."""
    sign = -1 if direction == "b" else 1
    at_ms = near_ms if near_ms is not None else (_FAR_FUTURE_MS if direction == "b" else 0)
    for jump_ms in _JUMPS_MS:
        moment = await reader.event_at(room, at_ms + sign * jump_ms, direction)
        if moment is None:
            return Stretch(Page(before.events, None, None, before.odd), Unknown(room, near_ms, None, None))
        at_ms = moment.sent_ms
        try:
            context = await reader.context(room, moment.event, attempts=1)
        except UnavailableError:
            continue  # another bad one, or the same
        token = context and (context.start if direction == "b" else context.end)
        if context and context.event is not None and token:
            page = Page((*before.events, context.event), None, token, before.odd)
            return Stretch(page, Unknown(room, near_ms, at_ms, moment.event))
    raise failure


def _farthest(direction: Direction, near_ms: int | None, events: tuple[RawEvent, ...]) -> int | None:
    times = [sent_ms for event in events if (sent_ms := integer_at(event, "origin_server_ts")) is not None]
    if near_ms is not None:
        times.append(near_ms)
    return (min if direction == "b" else max)(times, default=None)
