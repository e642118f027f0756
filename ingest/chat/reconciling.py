"""What a homeserver does not tell: events and stretches of history that it lost, edits whose original never comes.

History purges, retention and erasure bring no event. So each run asks for a few stored events by name: of some rooms
the oldest (a purge takes those first), the newest and one in between. Where the oldest is gone, halving finds the
oldest that is left in a few requests, and what lies before it goes.
"""

import random
from collections.abc import Sequence
from typing import Final

import structlog

from index.model import EventId
from index.store import sweeps
from index.store.rooms import DONE
from index.store.sweeps import Place
from ingest.chat.events import Pruned, extract
from ingest.chat.ledger import Why
from ingest.chat.purging import expire, remove
from ingest.chat.room import Room
from ingest.chat.run import Run
from matrix.errors import RefusedError

log = structlog.get_logger()

_AT_ONCE: Final = 200
_FORBIDDEN: Final = 403


async def reconcile(run: Run, rotation: Sequence[Room], draw: random.Random) -> None:
    """`rotation` are the rooms whose turn it is."""
    for room in list(run.rooms.values()):
        if room.record.is_admitted and room.record.lifetime_ms is not None:
            cutoff_ms = run.now_ms - room.record.lifetime_ms
            gone = await expire(run.writer, run.settings, room.id, cutoff_ms, run.now_ms)
            if gone.events:
                run.tally(room.id).notes.append(f"{gone.events} messages outlived the room's retention")
                run.tally(room.id).documents_removed += 1
    turn = [run.rooms[room.id] for room in rotation]
    due = [room.id for room in turn if room.record.is_admitted and room.record.phase == DONE]
    await run.each(due, lambda room: _look_over(run, room, draw))


async def _look_over(run: Run, room: Room, draw: random.Random) -> None:
    await _drop_orphans(run, room)
    times = await sweeps.bounds_ms(run.writer.store.connection, room.id)
    if times is None:
        return
    oldest, newest = await _from(run, room, times[0]), await _from(run, room, times[1])
    middle = await _from(run, room, draw.randint(*times))
    gone = [
        place.event
        for place in {place.event: place for place in (oldest, middle, newest) if place is not None}.values()
        if await _is_gone(run, room, place)
    ]
    if not gone:
        return
    if oldest is not None and oldest.event in gone:
        await _drop_lost_beginning(run, room, *times)
    await _drop(run, room, gone)
    log.info("chat.events_lost", room_id=room.id, sampled=len(gone))


async def _is_gone(run: Run, room: Room, place: Place) -> bool:
    try:
        event = await run.reader.event(room.id, place.event)
    except RefusedError as refused:
        if refused.status != _FORBIDDEN:
            raise
        return True
    return event is None or isinstance(
        extract(event, room=room.id, version=room.facts.version, scrub=run.scrub), Pruned
    )


async def _from(run: Run, room: Room, from_ms: int) -> Place | None:
    return await sweeps.first_from(run.writer.store.connection, room.id, from_ms)


async def _drop_lost_beginning(run: Run, room: Room, gone_ms: int, last_ms: int) -> None:
    """Everything before the oldest event that the homeserver still has."""
    low_ms, high_ms = gone_ms, last_ms + 1  # gone at `low_ms`, there (or nothing) from `high_ms` on
    while high_ms - low_ms > 1:
        middle_ms = (low_ms + high_ms) // 2
        place = await _from(run, room, middle_ms)
        if place is None or place.sent_ms >= high_ms:
            high_ms = middle_ms
        elif await _is_gone(run, room, place):
            low_ms = place.sent_ms
        else:
            high_ms = middle_ms
    while places := await sweeps.older(run.writer.store.connection, room.id, high_ms, limit=_AT_ONCE):
        await _drop(run, room, [place.event for place in places])


async def _drop(run: Run, room: Room, events: Sequence[EventId]) -> None:
    changed = await remove(run.writer, run.settings, room.id, events, Why.PRUNED, now_ms=run.now_ms)
    tally = run.tally(room.id)
    tally.documents_removed += changed
    tally.notes.append("the homeserver does not have all of its messages any more: those went here too")


async def _drop_orphans(run: Run, room: Room) -> None:
    """Edits whose original is not to be had: nobody can check whose message they replace."""
    before_ms = run.now_ms - run.settings.grace_ms
    orphans = await sweeps.orphan_edits(run.writer.store.connection, room.id, before_ms, limit=_AT_ONCE)
    if orphans:
        await remove(run.writer, run.settings, room.id, orphans, Why.PRUNED, now_ms=run.now_ms, buries=False)
