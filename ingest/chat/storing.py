"""One step of a room, inside one transaction: events in, ledger rows, windows and documents out.

The same step serves first reading, syncs, gaps, redactions, purges and retention, so there is one order of things:
rows, then tombstones, then places in windows, then the windows that changed, each rendered once.

While older messages are still to come (an open gap), new ones wait without a window, so that windows are cut in the
server's order whatever came first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from index.errors import StoreError
from index.model import EventId, RoomId, UserId
from index.store import ledger, met
from index.store.rooms import room_key
from ingest.chat.events import Pruned
from ingest.chat.ledger import Arrival, Changes, LedgerRow, LedgerView, current, needs_of, plan, utterance
from ingest.chat.rendering import window_document, window_id
from ingest.chat.rows import lane_name, ledger_rows, message_record, window_record, window_row
from ingest.chat.rules import Rules, Why
from ingest.chat.windows import Bounds, place
from ingest.writing import Batch

PLACED_AT_ONCE: Final = 300
_NOBODY: Final = UserId("")


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where the messages of one room go, and by which rules."""

    room: RoomId
    title: str
    rules: Rules
    bounds: Bounds


async def store_arrivals(
    batch: Batch, shelf: Shelf, arrivals: Sequence[Arrival], *, why: Why = Why.PRUNED, buries: bool = True
) -> Changes:
    """Bring ledger and index to what the arrivals say.

    `why` is what pruned ones are buried for; without `buries` there are no tombstones, so that what went may come
    again.
    """
    connection = batch.store.connection
    key = await _key(batch, shelf.room)
    needs = needs_of(arrivals, shelf.rules, why)
    found = await ledger.families(
        connection, key, needs.rows, answered=needs.answered, answered_twice=needs.answered_twice
    )
    kept = ledger_rows(found, shelf.room)
    graves = needs.graves | {row.reply_to for row in kept.values() if row.reply_to}
    buried = await met.tombstones(connection, key, graves)
    view = LedgerView(kept, {event: Why(reason) for event, reason in buried.items()})
    changes = plan(arrivals, view, shelf.rules, why=why)
    is_held_up = await ledger.is_held_up(connection, key)
    await ledger.delete(connection, key, changes.deleted)
    await ledger.put(connection, key, [message_record(row) for row in changes.put], is_waiting=is_held_up)
    if buries:
        await met.bury(connection, key, [(grave.event, grave.why.value) for grave in changes.tombstones])
    stale = set(changes.stale_windows)
    if not is_held_up:
        rows = {**view.rows, **{row.event: row for row in changes.put}}
        stale |= await _place(batch, shelf, key, changes.unplaced, rows)
    for window in sorted(stale):
        await render(batch, shelf, key, window)
    return changes


async def forget(batch: Batch, shelf: Shelf, events: Iterable[EventId], why: Why, *, buries: bool = True) -> Changes:
    """Delete stored events with what hangs on them."""
    arrivals = [Arrival(0, Pruned(event, shelf.room, _NOBODY, 0)) for event in events]
    return await store_arrivals(batch, shelf, arrivals, why=why, buries=buries)


async def place_waiting(batch: Batch, shelf: Shelf) -> bool:
    """Give some of the messages that waited their windows, the oldest first; True while more are waiting."""
    connection = batch.store.connection
    key = await _key(batch, shelf.room)
    records = await ledger.waiting(connection, key, limit=PLACED_AT_ONCE)
    originals = {record.event for record in records if record.family is None}
    rows = ledger_rows(await ledger.families(connection, key, originals), shelf.room)
    spoken = [
        row
        for record in records
        if (row := rows.get(record.event)) is not None and not row.is_edit and row.window is None
        if current(row, rows).text
    ]
    await ledger.stop_waiting(connection, key, [record.event for record in records])
    for window in sorted(await _place(batch, shelf, key, spoken, rows)):
        await render(batch, shelf, key, window)
    return len(records) == PLACED_AT_ONCE


async def render(batch: Batch, shelf: Shelf, key: int, window: EventId) -> None:
    """Make the document of a window equal to what its messages say now; one without words goes."""
    connection = batch.store.connection
    rows = ledger_rows(await ledger.members(connection, key, window), shelf.room)
    spoken = [utterance(row, rows) for row in rows.values() if row.window == window]
    document = window_document(
        shelf.room,
        shelf.title,
        window,
        [message for message in spoken if message.text],
        max_bytes=shelf.bounds.max_bytes,
    )
    if document is None:
        await batch.remove([window_id(shelf.room, window)])
        await ledger.resize_window(connection, key, window, 0)
    else:
        size_bytes = sum(len(chunk.text.encode()) + 1 for chunk in document.chunks)
        is_open = await ledger.resize_window(connection, key, window, size_bytes)
        await batch.put(replace(document, may_grow=is_open))


async def _place(
    batch: Batch, shelf: Shelf, key: int, unplaced: Sequence[LedgerRow], rows: Mapping[EventId, LedgerRow]
) -> set[EventId]:
    if not unplaced:
        return set()
    connection = batch.store.connection
    spoken = [utterance(row, rows) for row in unplaced]
    opened = await ledger.open_windows(connection, key, {lane_name(message.lane) for message in spoken})
    open_rows = [window_row(record, shelf.room) for record in opened.values()]
    placement = place(spoken, {row.lane: row for row in open_rows}, room=shelf.room, bounds=shelf.bounds)
    await ledger.put_windows(connection, key, [window_record(row) for row in placement.rows])
    await ledger.set_windows(connection, key, placement.windows)
    return set(placement.windows.values())


async def _key(batch: Batch, room: RoomId) -> int:
    key = await room_key(batch.store.connection, room)
    if key is None:
        raise StoreError(f"{batch.store.name}: {room} has no record (run `sources verify`)")
    return key
