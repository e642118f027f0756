"""One page of a room's history from where reading stands, also when the homeserver lost that place.

A token that is refused is made good by the last event that was read, then by its time, then by beginning again: events
that are known are recognised.
"""

from dataclasses import replace
from typing import Final

import structlog

from index.errors import MatrixError
from index.model import EventId
from index.store.rooms import Gap
from ingest.chat.room import Room
from ingest.chat.run import Run
from matrix.detour import Stretch, Unknown, read_stretch
from matrix.errors import RefusedError
from matrix.reading import Direction
from matrix.records import Page

log = structlog.get_logger()

_BAD_REQUEST: Final = 400


async def read_page(run: Run, room: Room, *, direction: Direction, limit: int) -> Stretch:
    """From where the room's record stands."""

    async def read(token: str | None) -> Stretch:
        return await read_stretch(
            run.reader,
            room.id,
            from_=token,
            direction=direction,
            limit=limit,
            near_ms=room.record.last_ms,
            now_ms=run.now_ms,
        )

    try:
        return await read(room.record.position)
    except RefusedError as refused:
        if refused.status != _BAD_REQUEST or room.record.position is None:
            raise
    return await read(await _found_again(run, room, room.record.last_event, room.record.last_ms, direction))


async def read_gap_page(run: Run, room: Room, gap: Gap, *, to: str | None) -> tuple[Stretch, Gap]:
    """`to` may be lost as well: then the events that are known end the gap."""

    async def read() -> Stretch:
        return await read_stretch(
            run.reader,
            room.id,
            from_=gap.token,
            direction="b",
            limit=run.settings.page_limit,
            near_ms=gap.last_ms,
            now_ms=run.now_ms,
            to=to,
        )

    try:
        return await read(), gap
    except RefusedError as refused:
        if refused.status != _BAD_REQUEST:
            raise
    if room.record.fresh_token is not None:  # without a bound we would read what may not be read
        lost = Unknown(room.id, gap.last_ms, None, None)
        return Stretch(Page((), None, None), lost), gap
    token = await _found_again(run, room, gap.last_event, gap.last_ms, "b")
    gap, to = replace(gap, token=token, until=None, is_thorough=False), None
    return await read(), gap


async def _found_again(
    run: Run, room: Room, event: EventId | None, near_ms: int | None, direction: Direction
) -> str | None:
    """A token in place of one that the homeserver does not take any more; None: begin at the end of the room."""
    path, token = "the beginning", None
    if event is not None and (context := await run.reader.context(room.id, event)) is not None:
        path, token = "the last event read", context.start if direction == "b" else context.end
    if token is None and near_ms is not None:
        moment = await run.reader.event_at(room.id, near_ms, direction)
        context = None if moment is None else await run.reader.context(room.id, moment.event)
        if context is not None:
            path, token = "the time of the last event read", context.start if direction == "b" else context.end
    if token is None and direction == "f" and room.record.fresh_token is not None:
        raise MatrixError(f"{room.id}: the place to read on from is lost (exclude the room, or override it as bridged)")
    run.tally(room.id).notes.append(f"the homeserver lost our place in the room: found again by {path}")
    log.warning("chat.place_lost", room_id=room.id, found_by=path)
    return token
