"""Which rooms may be read now: state read afresh, verdicts stored, and what lost its permission hidden, then erased.

Nothing here asks for a message. A room that lost its permission is out of every search, in one transaction with the
verdict, before anything else is done about it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import structlog

from index.model import EventId, RoomId
from index.store import documents, sweeps
from index.store import rooms as room_store
from index.store.rooms import DONE, NEW, REFUSED, SUSPENDED
from ingest.chat.facts import predecessors_of, read_facts
from ingest.chat.gates import decide
from ingest.chat.renaming import mark_renamed
from ingest.chat.replaced import with_replaced
from ingest.chat.room import Room, is_federated, lifetime_ms, tidied
from ingest.chat.run import Run
from matrix.shape import RawEvent

log = structlog.get_logger()

_ERASED_AT_ONCE: Final = 200
_ROWS_ERASED_AT_ONCE: Final = 5_000


async def look(run: Run, room: Room) -> None:
    """Read a joined room's state; its facts are then in `run.rooms`, not stored yet."""
    is_first = room.record.state_ms == 0

    async def ask(event: EventId) -> RawEvent | None:
        return await run.reader.event(room.id, event, is_patient=False)

    state = await run.reader.state(room.id)
    events: Sequence[RawEvent] = state.events
    if is_first:  # later invitations are met in the sync, or in the history of its gaps
        events = await with_replaced(events, ask, reader=run.settings.account.reader)
    tags = await run.reader.tags(room.id) if is_first else run.rooms[room.id].facts.tags
    facts = read_facts(
        room.id,
        events,
        account=run.settings.account,
        is_joined=True,
        direct_rooms=run.direct_rooms,
        tags=tags,
        before=run.rooms[room.id].facts.sticky,
    )
    run.rooms[room.id] = (
        run.rooms[room.id]
        .knowing(tidied(facts, run.scrub))
        .with_record(
            state_ms=run.now_ms,
            is_federated=room.record.is_federated or is_federated(state.events, run.settings.user),
            lifetime_ms=lifetime_ms(state.events),
        )
    )


async def judge(run: Run, only: RoomId | None = None) -> None:
    """Decide rooms by the facts in hand; store what changed, hide what may not be shown, show what may again.

    `only` one, while others are being read: their records are theirs to write.
    """
    connection = run.writer.store.connection
    stored = await room_store.rooms(connection) if only is None else [await room_store.room(connection, only)]
    before = {record.id: record for record in stored if record is not None}
    facts = {room.id: room.facts for room in run.rooms.values()}
    changed = []
    for room in list(run.rooms.values()) if only is None else [run.rooms[only]]:
        known = replace(
            room.facts,
            is_in_direct_list=room.id in run.direct_rooms,
            predecessors=predecessors_of(room.id, facts),
        )
        judged = room if known == room.facts else room.knowing(known)
        judged = _moved(run, judged.judged(decide(known, run.policy), run.now_ms), was=room)
        if judged.record != before.get(room.id):
            changed.append(judged)
    if not changed:
        return
    async with run.writer.transaction() as store:
        sources = {source.id: source for source in await store.sources()}
        for room in changed:
            await room_store.save_room(store.connection, room.record)
            source = sources.get(room.source)
            if source is None:
                continue
            if source.is_hidden == room.record.is_admitted:
                await store.hide(room.source, is_hidden=not room.record.is_admitted)
            if (source.label, source.is_public) != (room.record.label, room.record.is_public):
                await store.register(room.source, label=room.record.label, is_public=room.record.is_public)
            if source.label != room.record.label:
                await mark_renamed(store, room.id)
    for room in changed:
        was = before.get(room.id)
        run.rooms[room.id] = room
        if was is None or was.outcome != room.record.outcome:
            _tell(run, room)


def _moved(run: Run, room: Room, *, was: Room) -> Room:
    """What a verdict means for where reading stands."""
    record = room.record
    if not record.is_admitted:
        if record.left_ms is None:
            room = room.with_record(left_ms=run.now_ms, left_token=run.since or None)
        return room
    if record.phase != DONE and record.left_ms is not None:
        room = room.with_record(left_ms=None, left_token=None)
    if room.judgement.starts_fresh and record.fresh_token is None:
        return room.with_record(
            fresh_token=run.since, phase=NEW, position=None, is_stale=_has_content(was), left_ms=None
        )
    if record.fresh_token is not None and not room.judgement.starts_fresh:
        return room.with_record(fresh_token=None, phase=NEW, position=None, is_stale=_has_content(was))
    return room


def _has_content(room: Room) -> bool:
    return room.record.is_stale or room.record.phase != NEW


def _tell(run: Run, room: Room) -> None:
    reason = room.judgement.findings[0] if room.judgement.findings else None
    log.info(
        "chat.room_judged",
        room_id=room.id,
        outcome=room.record.outcome,
        reason=None if reason is None else reason.reason.value,
    )
    if reason is not None and room.record.is_joined:
        run.tally(room.id).notes.append(f"{room.record.outcome}: {reason.text}")
        run.tally(room.id).is_removed = True


async def erase_refused(run: Run) -> None:
    """Everything of rooms that are refused, or have been suspended for longer than the grace time."""
    sources = {source.id for source in await run.writer.store.sources()}
    for room in list(run.rooms.values()):
        record = room.record
        is_over = record.left_ms is not None and run.now_ms - record.left_ms >= run.settings.grace_ms
        is_due = record.outcome == REFUSED or (record.outcome == SUSPENDED and is_over)
        if is_due and (_has_content(room) or room.source in sources):
            await erase(run, room)


async def erase(run: Run, room: Room) -> None:
    """In slices, so that no room is too large; what is left of it after a crash is hidden, and goes in the next run."""
    run.tally(room.id).is_removed = True
    await clear(run, room)
    if not room.record.is_joined:  # its name is not ours to keep either
        room = room.knowing(replace(room.facts, name="", alias="", other_aliases=frozenset()))
    room = room.with_record(
        phase=NEW, position=None, since=None, is_stale=False, seen_visibility="shared", last_order=0,
        last_event=None, last_ms=None,
    )  # fmt: skip
    async with run.writer.transaction() as store:
        await room_store.save_room(store.connection, room.record)
        await store.forget(room.source)
    run.rooms[room.id] = room
    log.info("chat.room_erased", room_id=room.id, documents=run.tally(room.id).documents_removed)


async def clear(run: Run, room: Room) -> None:
    """Documents, then ledger rows; record, verdict and tombstones stay."""
    held = await documents.document_ids(run.writer.store.connection, room.source)
    for first in range(0, len(held), _ERASED_AT_ONCE):
        async with run.batch(room) as batch:
            await batch.remove(held[first : first + _ERASED_AT_ONCE])
    is_more = True
    while is_more:
        async with run.writer.transaction() as store:
            is_more = await sweeps.erase_slice(store.connection, room.id, limit=_ROWS_ERASED_AT_ONCE)
