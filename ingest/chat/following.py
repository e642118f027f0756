"""One sync since the last one: what it says of each room is stored, then the token moves.

The token stands for all rooms at once, so it is saved last. Whatever of a room could not be stored by then has an open
gap, which is stored too, and which does not need the token any more. Storing is by event id: a sync that is told again,
because the token was not saved, changes nothing.
"""

import json
from dataclasses import replace
from hashlib import blake2b
from typing import Final

import structlog

from index.errors import SourcesError
from index.model import RoomId
from index.store import met
from index.store import rooms as room_store
from index.store.rooms import DONE, NEW, Gap, UnknownStretch
from ingest.chat import admission
from ingest.chat.events import as_mapping
from ingest.chat.facts import Visibility, visibility_of
from ingest.chat.room import Room, new_room
from ingest.chat.run import Run
from ingest.chat.sifting import Sifted, burials, sift, signs_among
from ingest.chat.storing import store_arrivals
from matrix.errors import RefusedError, UnavailableError
from matrix.reading import sync_filter
from matrix.records import RoomUpdate, SyncBatch

log = structlog.get_logger()

SINCE: Final = "chat.since"
ACCOUNT: Final = "chat.account"
GRACE: Final = "chat.grace_ms"
_FILTER: Final = "chat.filter"
GAP_ORDERS: Final = 1 << 32
"""Orders that are kept free for the events of a gap: more than any room has."""


async def follow(run: Run) -> None:
    """Sync, admit, store, move the token. MatrixError: nothing moved."""
    batch = await _sync(run)
    _notice_memberships(run, batch)
    updates = {update.room: update for update in batch.joined if update.room in run.rooms}
    for update in updates.values():
        _notice_signs(run, update)
    touched = frozenset(run.rooms if batch.is_blind else updates)
    unseen = await _look_again(run, touched)
    await admission.judge(run)
    await admission.erase_refused(run)
    for room in list(run.rooms.values()):
        if not room.record.is_admitted:
            continue
        if batch.is_rewound:
            await _read_all_again(run, room)
        elif room.record.left_ms is not None:
            await open_gap(run, room, batch.next_batch, until=room.record.left_token)
        elif batch.is_blind or (room.id in unseen and room.id in updates):
            await open_gap(run, room, batch.next_batch, until=run.since)
        elif room.id in updates:
            await _store_timeline(run, room, updates[room.id], batch.next_batch)
    await save_since(run, batch.next_batch)


async def save_since(run: Run, token: str) -> None:
    async with run.writer.transaction() as store:
        await store.set_value(SINCE, token)
        await store.set_value(ACCOUNT, run.settings.user)
        await store.set_value(GRACE, str(run.settings.grace_ms))
        await room_store.touch_sources(store.connection, run.now_ms)
    run.since = token


async def _sync(run: Run) -> SyncBatch:
    try:
        return await run.reader.sync(run.since, filter_id=await _filter(run))
    except RefusedError:
        return await run.reader.sync(run.since, filter_id=await _filter(run, is_forgotten=True))
    except UnavailableError:
        if not await run.reader.is_alive():
            raise
        log.warning("chat.sync_blind")
        return await run.reader.sync_blind(run.since)


async def _filter(run: Run, *, is_forgotten: bool = False) -> str:
    """Its id, uploaded once. Rooms that may not be read are left out: none of their messages is ever asked for."""
    without = [room.id for room in run.rooms.values() if room.record.is_joined and not room.record.is_admitted]
    definition = sync_filter(timeline_limit=run.settings.timeline_limit, without=without)
    text = json.dumps([run.settings.homeserver, run.settings.user, definition], sort_keys=True)
    digest = blake2b(text.encode(), digest_size=16).hexdigest()
    known, _, chosen = (await run.writer.store.value(_FILTER) or "").partition(" ")
    if known == digest and not is_forgotten:
        return chosen
    chosen = await run.reader.upload_filter(definition)
    async with run.writer.transaction() as store:
        await store.set_value(_FILTER, f"{digest} {chosen}")
    return chosen


def _notice_memberships(run: Run, batch: SyncBatch) -> None:
    for update in batch.left:
        room = run.rooms.get(update.room)
        if room is not None and room.record.is_joined:
            run.rooms[room.id] = room.knowing(replace(room.facts, is_joined=False))
    for invitation in batch.invited:
        # Stripped state has no ids; whether it is direct is said only here and in the join that may follow.
        whole = [{"event_id": "$invitation", **event} for event in invitation.state]
        room = run.rooms.get(invitation.room)
        if room is None:
            room = new_room(invitation.room)
            room = room.knowing(replace(room.facts, is_joined=False))
        signs = signs_among(whole, run.sieve(room)).signs
        if signs.direct:
            run.rooms[room.id] = room.seeing(signs)


def _notice_signs(run: Run, update: RoomUpdate) -> None:
    room = run.rooms[update.room]
    room = room.seeing(signs_among((*update.state, *update.timeline), run.sieve(room)).signs)
    for event in update.account_data:
        if event.get("type") == "m.tag":
            tags = frozenset(map(str, as_mapping(as_mapping(event.get("content")).get("tags"))))
            room = room.knowing(replace(room.facts, tags=tags))
    run.rooms[room.id] = room


async def _look_again(run: Run, touched: frozenset[RoomId]) -> frozenset[RoomId]:
    """Read the state of rooms in which something happened; returns those where that failed."""
    failed: set[RoomId] = set()

    async def one(room: Room) -> None:
        try:
            await admission.look(run, room)
        except SourcesError:
            failed.add(room.id)
            raise

    await run.each([room for room in touched if run.rooms[room].record.is_joined], one)
    run.stop_at_end()
    return frozenset(failed)


async def _read_all_again(run: Run, room: Room) -> None:
    """The homeserver was set back: what it lost must go, what it tells from now on may have a hole before it."""
    run.tally(room.id).notes.append("the homeserver is behind its own token: the room is read again")
    await run.save(
        room.with_record(
            phase=NEW, position=None, since=None, is_stale=room.record.is_stale or room.record.phase != NEW
        )
    )


async def open_gap(run: Run, room: Room, token: str, *, until: str | None) -> None:
    """For a room of which nothing is stored of this sync: all of it is read back from its end."""
    record = room.record
    if record.phase != DONE:
        return
    gap = Gap(
        room=room.id,
        token=token,
        until=until,
        next_order=record.last_order + GAP_ORDERS,
        visibility=record.visibility,
        opened_ms=run.now_ms,
        is_thorough=until is not None and not record.is_federated,
    )
    was_away = record.left_ms is not None
    after = room.with_record(last_order=record.last_order + GAP_ORDERS, left_ms=None, left_token=None)
    async with run.writer.transaction() as store:
        await room_store.save_room(store.connection, after.record)
        await room_store.save_gap(store.connection, gap)
        if was_away and record.is_federated:
            away = UnknownStretch(room.id, record.left_ms, run.now_ms, "the reader was out of the room", run.now_ms)
            await room_store.add_unknown(store.connection, away)
    run.rooms[room.id] = after


async def _store_timeline(run: Run, room: Room, update: RoomUpdate, next_batch: str) -> None:
    sieve = run.sieve(room)
    record = room.record
    has_gap = update.is_limited and record.phase == DONE and not await _was_stored(run, room, update)
    first_order = record.last_order + (GAP_ORDERS if has_gap else 0) + 1
    start = _visibility_before(room, update)
    sifted = sift(update.timeline, sieve, first_order=first_order, visibility=start)
    if record.phase != DONE:
        await _bury(run, room, sifted)
        return
    after = room.with_record(
        last_order=first_order + len(update.timeline) - 1,
        seen_visibility=sifted.visibility.value,
        last_event=sifted.last_event or record.last_event,
        last_ms=sifted.last_ms if sifted.last_event else record.last_ms,
    )
    async with run.batch(after) as batch:
        connection = batch.store.connection
        key = await room_store.save_room(connection, after.record)
        if has_gap:
            gap = Gap(
                room=room.id,
                token=update.prev_batch or next_batch,
                until=run.since,
                next_order=first_order - 1,
                visibility=start.value,
                opened_ms=run.now_ms,
                is_thorough=update.prev_batch is None and not record.is_federated,
            )
            await room_store.save_gap(connection, gap)
        await met.skip(connection, key, sifted.skipped)
        changes = await store_arrivals(batch, run.shelf(after), sifted.arrivals)
    run.rooms[room.id] = after
    run.count(room, sifted, odd=update.odd, forged=changes.forged)


async def _bury(run: Run, room: Room, sifted: Sifted) -> None:
    """While history is still being read, messages come by that way; what is withdrawn goes at once."""
    has_content = room.record.phase != NEW or room.record.is_stale
    if has_content and (gone := burials(sifted)):
        async with run.batch(room) as batch:
            await store_arrivals(batch, run.shelf(room), gone)


async def _was_stored(run: Run, room: Room, update: RoomUpdate) -> bool:
    """Whether a run that could not save its token stored this timeline, or an earlier part of it, with its gap."""
    connection = run.writer.store.connection
    if not any(gap.until == run.since for gap in await room_store.gaps(connection, room.id)):
        return False
    key = await room_store.room_key(connection, room.id)
    events = signs_among(update.timeline, run.sieve(room)).met
    return key is not None and bool(await met.known(connection, key, events, counts_waiting=True))


def _visibility_before(room: Room, update: RoomUpdate) -> Visibility:
    for event in update.state:
        if event.get("type") == "m.room.history_visibility" and event.get("state_key") == "":
            return visibility_of(as_mapping(event.get("content")))
    return Visibility(room.record.seen_visibility)
