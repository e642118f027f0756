"""Reading a room's past, page by page: all of it when the room is new, and what a sync left out.

Each page is one transaction with the place where reading goes on, so a run may end anywhere. Positions move only by
an `end` that the homeserver gave: a missing one is the end of reading, an empty page with one is not.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import structlog

from index.model import EventId, RoomId
from index.store import ledger, met
from index.store import rooms as room_store
from index.store.rooms import DONE, NEW, READING, REFUSED, WALKING, Gap, UnknownStretch
from ingest.chat import admission
from ingest.chat.facts import Visibility
from ingest.chat.following import GAP_ORDERS
from ingest.chat.paging import read_gap_page, read_page
from ingest.chat.room import Room
from ingest.chat.run import Run
from ingest.chat.sifting import Sifted, sift, signs_among
from ingest.chat.storing import place_waiting, store_arrivals
from ingest.writing import Batch, Writer
from matrix.detour import Unknown
from matrix.errors import RefusedError, UnavailableError

log = structlog.get_logger()

_WALKED_AT_ONCE: Final = 1_000
_PATIENCE_MS: Final = 24 * 3_600_000


async def begin_again(writer: Writer) -> None:
    """A full run: every room is read from its beginning, and what is stored is replaced then. Tombstones stay."""
    async with writer.transaction() as store:
        for record in await room_store.rooms(store.connection):
            again = replace(
                record, phase=NEW, position=None, since=None, is_stale=record.is_stale or record.phase != NEW
            )
            await room_store.save_room(store.connection, again)


async def read_rooms(run: Run) -> None:
    """Every admitted room of which something is still to be read."""
    open_gaps = {gap.room for gap in await room_store.gaps(run.writer.store.connection)}
    await _ask_again(run, open_gaps)
    held_up = open_gaps | await ledger.rooms_held_up(run.writer.store.connection)
    waiting = [
        room.id
        for room in run.rooms.values()
        if room.record.is_admitted and (room.record.phase != DONE or room.id in held_up)
    ]
    await run.each(waiting, lambda room: _read(run, room))


async def _ask_again(run: Run, with_gaps: Collection[RoomId]) -> None:
    """What do the messages answer that were stored before that was kept? All of the room is walked through for it.

    Nothing that stands is written anew, and an order to forget finds the replies that it takes along on the way.
    """
    for room_id in await ledger.rooms_to_ask(run.writer.store.connection):
        room = run.rooms.get(room_id)
        if room is None or not room.record.is_admitted or room.record.phase != DONE or room_id in with_gaps:
            continue
        record = room.record
        gap = Gap(
            room=room_id,
            token=run.since,
            until=record.fresh_token,
            next_order=record.last_order + GAP_ORDERS,
            visibility=record.seen_visibility,
            opened_ms=run.now_ms,
            is_thorough=True,
        )
        room = room.with_record(last_order=gap.next_order)
        async with run.writer.transaction() as store:
            await room_store.save_room(store.connection, room.record)
            await room_store.save_gap(store.connection, gap)
        run.rooms[room_id] = room
        run.tally(room_id).notes.append("looked through once more for which messages answer which")


async def _read(run: Run, room: Room) -> None:
    if room.record.phase in (NEW, WALKING) and not await _walk_back(run, room):
        return
    room = run.rooms[room.id]
    if room.record.phase == READING and not await _read_forward(run, room):
        return
    await _fill_gaps(run, run.rooms[room.id])


async def _walk_back(run: Run, room: Room) -> bool:
    """To the room's beginning, keeping nothing: so the homeserver asks the others for what it lacks."""
    record = room.record
    if not record.is_federated or record.fresh_token is not None:
        await run.save(room.with_record(phase=READING, position=record.fresh_token, since=run.since, last_event=None))
        return True
    if record.phase == NEW:
        room = room.with_record(phase=WALKING, position=None, since=run.since, last_event=None, last_ms=None)
        await run.save(room)
    while True:
        stretch = await read_page(run, room, direction="b", limit=_WALKED_AT_ONCE)
        sifted = signs_among(stretch.page.events, run.sieve(room))
        if not await _still_admitted(run, room, sifted):
            return False
        room = _read_to(run.rooms[room.id], sifted)
        if stretch.page.end is None:
            await run.save(room.with_record(phase=READING, position=None, last_event=None, last_ms=None))
            return True
        room = room.with_record(position=stretch.page.end)
        await run.save(room)


def _read_to(room: Room, sifted: Sifted) -> Room:
    if sifted.last_event is None:
        return room
    return room.with_record(last_event=sifted.last_event, last_ms=sifted.last_ms)


async def _read_forward(run: Run, room: Room) -> bool:
    """From where the last page ended to the live end. False: the room lost its permission on the way."""
    while True:
        stretch = await read_page(run, room, direction="f", limit=run.settings.page_limit)
        if room.record.is_stale:  # only now, when there is something to put in its place
            await admission.clear(run, room)
            room = room.with_record(is_stale=False, last_order=0, seen_visibility=Visibility.SHARED.value)
            await run.save(room)
        sifted = sift(
            stretch.page.events,
            run.sieve(room),
            first_order=room.record.last_order + 1,
            visibility=Visibility(room.record.seen_visibility),
        )
        if not await _still_admitted(run, room, sifted):
            return False
        is_done = stretch.page.end is None
        room = _read_to(run.rooms[room.id], sifted)
        room = room.with_record(
            last_order=room.record.last_order + len(stretch.page.events),
            seen_visibility=sifted.visibility.value,
            phase=DONE if is_done else READING,
            position=room.record.position if is_done else stretch.page.end,
        )
        overlap = _overlap(run, room) if is_done else None
        if overlap is not None:
            room = room.with_record(last_order=overlap.next_order)
        async with run.batch(room) as batch:
            connection = batch.store.connection
            key = await room_store.save_room(connection, room.record)
            await met.skip(connection, key, sifted.skipped)
            changes = await store_arrivals(batch, run.shelf(room), sifted.arrivals)
            await _note_unknown(run, room, batch, stretch.unknown)
            if overlap is not None:
                await room_store.save_gap(connection, overlap)
        run.rooms[room.id] = room
        run.count(room, sifted, odd=stretch.page.odd, forged=changes.forged)
        if is_done:
            log.info("chat.room_read", room_id=room.id, documents=run.tally(room.id).documents)
            return True


def _overlap(run: Run, room: Room) -> Gap | None:
    """Reading by depth can miss what arrived meanwhile: what syncs told since it began is looked through once more."""
    record = room.record
    if record.since in (None, run.since):
        return None
    return Gap(
        room=room.id,
        token=run.since,
        until=record.since,
        next_order=record.last_order + GAP_ORDERS,
        visibility=record.seen_visibility,
        opened_ms=run.now_ms,
        is_thorough=True,
    )


async def _fill_gaps(run: Run, room: Room) -> None:
    for gap in await room_store.gaps(run.writer.store.connection, room.id):
        try:
            if not await _fill(run, room, gap):
                return
        except (RefusedError, UnavailableError):
            if run.now_ms - gap.opened_ms < _PATIENCE_MS or not await run.reader.is_alive():
                raise
            await _give_up(run, room, gap)
    is_more = True
    while is_more:
        async with run.batch(room) as batch:
            is_more = await place_waiting(batch, run.shelf(room))


async def _fill(run: Run, room: Room, gap: Gap) -> bool:
    """Backwards until it closes. False: the room lost its permission on the way."""
    # Backfilled events have no place among those that a sync token counts: in federated rooms it may not bound.
    is_bounded = gap.is_thorough or not room.record.is_federated or room.record.fresh_token is not None
    while True:
        stretch, gap = await read_gap_page(run, room, gap, to=gap.until if is_bounded else None)
        sifted = sift(
            stretch.page.events,
            run.sieve(room),
            first_order=gap.next_order,
            visibility=Visibility(gap.visibility),
            is_backwards=True,
        )
        if not await _still_admitted(run, room, sifted):
            return False
        room = run.rooms[room.id]
        async with run.batch(room) as batch:
            connection = batch.store.connection
            key = await room_store.room_key(connection, room.id) or 0
            known = _run_of_known(gap.known, sifted.met, await met.known(connection, key, sifted.met), run)
            is_closed = stretch.page.end is None or (known >= run.settings.known_run and not gap.is_thorough)
            gap = replace(
                gap,
                token=stretch.page.end or gap.token,
                next_order=gap.next_order - len(stretch.page.events),
                visibility=sifted.visibility.value,
                known=known,
                last_event=sifted.last_event or gap.last_event,
                last_ms=gap.last_ms if sifted.last_ms is None else sifted.last_ms,
            )
            await met.skip(connection, key, sifted.skipped)
            changes = await store_arrivals(batch, run.shelf(room), sifted.arrivals)
            await _note_unknown(run, room, batch, stretch.unknown)
            if is_closed:
                await room_store.close_gap(connection, gap)
                if stretch.page.end is None and _is_whole(gap, room):
                    await ledger.stop_asking(connection, key)
            else:
                await room_store.save_gap(connection, gap)
        run.count(room, sifted, odd=stretch.page.odd, forged=changes.forged)
        if is_closed:
            log.info("chat.gap_filled", room_id=room.id)
            return True


async def _give_up(run: Run, room: Room, gap: Gap) -> None:
    """What is known to be there for so long and cannot be had must not hold up what came after it."""
    why = "the homeserver does not serve what is there"
    async with run.writer.transaction() as store:
        await room_store.add_unknown(store.connection, UnknownStretch(room.id, None, gap.last_ms, why, run.now_ms))
        await room_store.close_gap(store.connection, gap)
        if _is_whole(gap, room):  # or the next run would begin again, and new messages wait as long once more
            await ledger.stop_asking(store.connection, await room_store.room_key(store.connection, room.id) or 0)
    run.tally(room.id).notes.append(f"a stretch of its history is given up: {why} (`sources rooms` shows when)")
    log.warning("chat.gap_given_up", room_id=room.id)


def _is_whole(gap: Gap, room: Room) -> bool:
    """Whether it reaches back as far as anything may be read."""
    return gap.until == room.record.fresh_token


def _run_of_known(before: int, met: Sequence[EventId], known: frozenset[EventId], run: Run) -> int:
    """How many events in a row, the last one included, were met before; enough once is enough."""
    for event in met:
        if before >= run.settings.known_run:
            return before
        before = before + 1 if event in known else 0
    return before


async def _still_admitted(run: Run, room: Room, sifted: Sifted) -> bool:
    """A page may show that this room should not be read: then it is not stored, and what was stored goes."""
    before = run.rooms[room.id]
    seeing = before.seeing(sifted.signs)
    if seeing is before:
        return True
    run.rooms[room.id] = seeing
    await admission.judge(run, room.id)
    after = run.rooms[room.id]
    if after.record.outcome == REFUSED:
        await admission.erase(run, after)
    return after.record.is_admitted


async def _note_unknown(run: Run, room: Room, batch: Batch, unknown: Unknown | None) -> None:
    if unknown is None:
        return
    why = "the homeserver cannot serve what is there"
    stretch = UnknownStretch(room.id, unknown.first_ms, unknown.last_ms, why, run.now_ms)
    await room_store.add_unknown(batch.store.connection, stretch)
    run.tally(room.id).notes.append(f"a stretch of its history cannot be read: {why} (`sources rooms` shows when)")
