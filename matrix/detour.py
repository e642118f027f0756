"""Around a page of history that the homeserver cannot serve.

One event that a homeserver stored but cannot write as JSON (a lone surrogate from another server is enough) makes
every page that holds it fail, for good. The way around: smaller pages up to the bad event, then a jump over it by
time. What was jumped over is reported, never taken for silence.
"""

from dataclasses import dataclass
from typing import Final

from index.model import EventId, RoomId
from matrix.errors import UnavailableError
from matrix.reading import Direction, History, Moment
from matrix.records import Page
from matrix.shape import RawEvent, integer_at

_STRIDES_MS: Final = (*(4**exponent for exponent in range(27)), 2**53)  # as far as any time that JSON can hold


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
    history: History,
    room: RoomId,
    *,
    from_: str | None,
    direction: Direction,
    limit: int,
    near_ms: int | None,
    now_ms: int,
    to: str | None = None,
) -> Stretch:
    """Like `messages`, but what fails for good in a page is left out.

    `near_ms` is the farthest time read so far on this walk: the earliest when going back, the latest when going
    forward, None at the beginning. A jump lands beyond it, so that a walk over any number of holes comes to its end.
    Raises UnavailableError when the homeserver as a whole does not answer, or when nothing beyond could be reached.
    """
    try:
        return Stretch(await history.messages(room, from_=from_, direction=direction, limit=limit, to=to))
    except UnavailableError:
        if not await history.is_alive():
            raise
        before = await _up_to_the_fault(history, room, from_=from_, direction=direction, limit=limit, to=to)
        if not before.is_at_fault:
            return Stretch(Page(before.events, None, before.end, before.odd))
        known_ms = _farthest(direction, near_ms, before.events)
        start_ms = known_ms if known_ms is not None else (now_ms if direction == "b" else 0)
        return await _beyond(history, room, direction, start_ms, before, is_start_known=known_ms is not None)


@dataclass(frozen=True, slots=True)
class _Before:
    events: tuple[RawEvent, ...]
    end: str | None
    odd: int
    is_at_fault: bool  # the next event is one that cannot be served


async def _up_to_the_fault(
    history: History, room: RoomId, *, from_: str | None, direction: Direction, limit: int, to: str | None
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
                page = await history.messages(
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


@dataclass(frozen=True, slots=True)
class _Landing:
    """A good event on the other side."""

    moment: Moment
    event: RawEvent
    token: str


async def _beyond(
    history: History, room: RoomId, direction: Direction, near_ms: int, before: _Before, is_start_known: bool
) -> Stretch:
    """What came before, and one event on the other side with the place to go on from.

    Strides of growing length find the other side, halving finds the event there that is closest to the hole. Asking
    for an event by time may itself fail, when it is the bad one that would be found.
    """
    sign = -1 if direction == "b" else 1
    inner_ms = near_ms  # at or before the bad event, in the direction of reading
    landing: _Landing | None = None
    for stride_ms in _STRIDES_MS:
        outer_ms = near_ms + sign * stride_ms
        try:
            landing = await _land(history, room, direction, outer_ms)
            break
        except UnavailableError:
            inner_ms = outer_ms
    else:  # bad up to the end of time, or the homeserver went away meanwhile
        if not await history.is_alive():
            raise UnavailableError(f"{room}: the homeserver stopped answering (run again later)")
    while abs(outer_ms - inner_ms) > 1:
        middle_ms = (outer_ms + inner_ms) // 2
        try:
            landing = await _land(history, room, direction, middle_ms) or landing
            outer_ms = middle_ms
        except UnavailableError:
            inner_ms = middle_ms
    first_ms = near_ms if is_start_known else None
    if landing is None:
        return Stretch(Page(before.events, None, None, before.odd), Unknown(room, first_ms, None, None))
    page = Page((*before.events, landing.event), None, landing.token, before.odd)
    return Stretch(page, Unknown(room, first_ms, landing.moment.sent_ms, landing.moment.event))


async def _land(history: History, room: RoomId, direction: Direction, at_ms: int) -> _Landing | None:
    """None when there is nothing any more that way; UnavailableError when what is there cannot be served."""
    moment = await history.event_at(room, at_ms, direction, attempts=2)
    if moment is None:
        return None
    context = await history.context(room, moment.event, attempts=2)
    token = context and (context.start if direction == "b" else context.end)
    if context is None or context.event is None or not token:
        raise UnavailableError(f"{room}: {moment.event}: found by its time, but not to be had (run again later)")
    return _Landing(moment, context.event, token)


def _farthest(direction: Direction, near_ms: int | None, events: tuple[RawEvent, ...]) -> int | None:
    times = [sent_ms for event in events if (sent_ms := integer_at(event, "origin_server_ts")) is not None]
    if near_ms is not None:
        times.append(near_ms)
    return (min if direction == "b" else max)(times, default=None)
