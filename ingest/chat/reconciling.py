"""What a homeserver does not tell: events and stretches of history that it lost, edits whose original never comes.

History purges, retention and erasure bring no event. So each run asks for a few stored events by name: of some rooms
the oldest (a purge takes those first), the newest and one in between. Where the oldest is missing, halving finds the
oldest that is left in a few requests, and what lies before it goes. It leaves no tombstones: should the homeserver
have it after all, a full run brings it back.
"""

import random
from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

import structlog

from index.model import EventId
from index.store import sweeps
from index.store.rooms import DONE
from index.store.sweeps import Place
from index.wording import counted
from ingest.chat.events import Pruned, extract
from ingest.chat.purging import Burial, Effect, expire, remove
from ingest.chat.room import Room
from ingest.chat.rules import Why
from ingest.chat.run import Run
from matrix.errors import RefusedError

log = structlog.get_logger()

_AT_ONCE: Final = 200
_FORBIDDEN: Final = 403
_LOST: Final = Burial(Why.PRUNED, buries=False)
_WITNESSES: Final = 3  # that a whole stretch is missing


class Found(Enum):
    WHOLE = auto()
    EMPTIED = auto()  # redacted, or its sender erased
    MISSING = auto()


async def reconcile(run: Run, rotation: Sequence[Room], draw: random.Random) -> None:
    """`rotation` are the rooms whose turn it is."""
    for room in list(run.rooms.values()):
        if room.record.is_admitted and room.record.lifetime_ms is not None:
            cutoff_ms = run.now_ms - room.record.lifetime_ms
            gone = await expire(run.writer, run.settings, room.id, cutoff_ms, run.now_ms)
            if gone.events:
                _tell(run, room, gone.effect, f"{counted(gone.events, 'message')} outlived the room's retention")
    turn = [run.rooms[room.id] for room in rotation]
    due = [room.id for room in turn if room.record.is_admitted and room.record.phase == DONE]
    await run.each(due, lambda room: _look_over(run, room, draw))


async def _look_over(run: Run, room: Room, draw: random.Random) -> None:
    await _drop_orphans(run, room)
    times = await sweeps.bounds_ms(run.writer.store.connection, room.id)
    if times is None:
        return
    sampled = [await _from(run, room, from_ms) for from_ms in (times[0], draw.randint(*times), times[1])]
    places = {place.event: place for place in sampled if place is not None}
    states = {event: await _look_at(run, room, place) for event, place in places.items()}
    if gone := [event for event, state in states.items() if state is not Found.WHOLE]:
        await _drop(run, room, gone)
    if sampled[0] is not None and states[sampled[0].event] is Found.MISSING:
        await _drop_lost_beginning(run, room, draw, *times)


async def _look_at(run: Run, room: Room, place: Place) -> Found:
    try:
        event = await run.reader.event(room.id, place.event)
    except RefusedError as refused:
        if refused.status != _FORBIDDEN:
            raise
        return Found.MISSING
    if event is None:
        return Found.MISSING
    record = extract(event, room=room.id, version=room.facts.version, scrub=str)
    return Found.EMPTIED if isinstance(record, Pruned) else Found.WHOLE


async def _from(run: Run, room: Room, from_ms: int) -> Place | None:
    return await sweeps.first_from(run.writer.store.connection, room.id, from_ms)


async def _drop_lost_beginning(run: Run, room: Room, draw: random.Random, gone_ms: int, last_ms: int) -> None:
    """Everything before the oldest event that the homeserver still has, if it is a whole stretch that is missing."""
    low_ms, high_ms = gone_ms, last_ms + 1  # missing at `low_ms`, there (or nothing) from `high_ms` on
    while high_ms - low_ms > 1:
        middle_ms = (low_ms + high_ms) // 2
        place = await _from(run, room, middle_ms)
        if place is None or place.sent_ms >= high_ms:
            high_ms = middle_ms
        elif await _look_at(run, room, place) is Found.MISSING:
            low_ms = place.sent_ms
        else:
            high_ms = middle_ms
    for _ in range(_WITNESSES):
        place = await _from(run, room, draw.randint(gone_ms, low_ms))
        if place is not None and place.sent_ms < high_ms and await _look_at(run, room, place) is not Found.MISSING:
            return  # single events are missing here and there: each is found when it is sampled
    while places := await sweeps.older(run.writer.store.connection, room.id, high_ms, limit=_AT_ONCE):
        await _drop(run, room, [place.event for place in places])
    log.info("chat.beginning_lost", room_id=room.id)


async def _drop(run: Run, room: Room, events: Sequence[EventId]) -> None:
    effect = await remove(run.writer, run.settings, room.id, events, _LOST, now_ms=run.now_ms)
    _tell(run, room, effect, "the homeserver does not have all of its messages any more: those went here too")


async def _drop_orphans(run: Run, room: Room) -> None:
    """Edits whose original is not to be had: nobody can check whose message they replace."""
    before_ms = run.now_ms - run.settings.grace_ms
    orphans = await sweeps.orphan_edits(run.writer.store.connection, room.id, before_ms, limit=_AT_ONCE)
    if orphans:
        await remove(run.writer, run.settings, room.id, orphans, _LOST, now_ms=run.now_ms)


def _tell(run: Run, room: Room, effect: Effect, note: str) -> None:
    tally = run.tally(room.id)
    tally.documents += effect.written
    tally.documents_removed += effect.removed
    tally.notes.append(note)
