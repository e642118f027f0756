"""A room's ledger and windows in dicts: what the store does with the pure core's answers, without SQL.

The order of steps is the one the real shell has to keep.
"""

from collections.abc import Sequence
from dataclasses import replace

from index.model import Document, EventId, RoomId
from ingest.chat.events import Extracted
from ingest.chat.ledger import Arrival, Changes, LedgerRow, LedgerView, TombstoneRow, needs_of, plan, utterance
from ingest.chat.rendering import Lane, render, window_document
from ingest.chat.rules import Rules, Why
from ingest.chat.windows import Bounds, WindowRow, place


class MemoryRoom:
    def __init__(self, room: RoomId, rules: Rules, bounds: Bounds) -> None:
        self.room = room
        self.rules = rules
        self.bounds = bounds
        self.rows: dict[EventId, LedgerRow] = {}
        self.tombstones: dict[EventId, TombstoneRow] = {}
        self.windows: dict[EventId, WindowRow] = {}
        self.documents: dict[EventId, Document] = {}
        self.rendered: list[EventId] = []  # each rendering of a window, to see what was touched
        self._order = 0

    def take(self, batch: Sequence[Extracted], *, is_backfill: bool = False, why: Why = Why.PRUNED) -> Changes:
        arrivals = []
        for record in batch:
            self._order += 1
            arrivals.append(Arrival(self._order, record))
        changes = plan(arrivals, self._view(arrivals, why), self.rules, why=why)
        for event in changes.deleted:
            del self.rows[event]
        self.rows.update((row.event, row) for row in changes.put)
        self.tombstones.update((grave.event, grave) for grave in changes.tombstones)
        stale = set(changes.stale_windows) | self._place(changes.unplaced, is_backfill=is_backfill)
        for window in sorted(stale):
            self._render(window)
        return changes

    def texts(self) -> dict[EventId, str]:
        """What search would find: the words of each message, read out of the documents."""
        found: dict[EventId, str] = {}
        for document in self.documents.values():
            (chunk,) = document.chunks
            for message in chunk.messages:
                assert message.event not in found, "in two windows"
                found[message.event] = chunk.text[message.span.start : message.span.end]
        return found

    def _view(self, arrivals: Sequence[Arrival], why: Why) -> LedgerView:
        needs = needs_of(arrivals, self.rules, why)
        replies = {event for event, row in self.rows.items() if row.reply_to in needs.answered}
        first = {event for event in replies if self.rows[event].reply_to in needs.answered_twice}
        ids = needs.rows | replies | {event for event, row in self.rows.items() if row.reply_to in first}
        families = ids | {self.rows[event].family for event in ids if event in self.rows}
        rows = {event: row for event, row in self.rows.items() if row.family in families}
        graves = needs.graves | {row.reply_to for row in rows.values() if row.reply_to}
        return LedgerView(rows, {event: self.tombstones[event].why for event in graves & self.tombstones.keys()})

    def _place(self, unplaced: Sequence[LedgerRow], *, is_backfill: bool) -> set[EventId]:
        open_windows: dict[Lane, WindowRow] = {row.lane: row for row in self.windows.values() if row.is_open}
        placement = place(
            [utterance(row, self.rows) for row in unplaced],
            open_windows,
            room=self.room,
            bounds=self.bounds,
            is_backfill=is_backfill,
        )
        self.windows.update((row.id, row) for row in placement.rows)
        for event, window in placement.windows.items():
            self.rows[event] = replace(self.rows[event], window=window)
        return set(placement.windows.values())

    def _render(self, window: EventId) -> None:
        self.rendered.append(window)
        members = sorted((r for r in self.rows.values() if r.window == window), key=lambda r: (r.order, r.event))
        spoken = [said for said in (utterance(row, self.rows) for row in members) if said.text]
        document = window_document(self.room, "room", window, spoken, max_bytes=self.bounds.max_bytes)
        size = len(render(spoken).text.encode()) + 1 if spoken else 0
        self.windows[window] = replace(self.windows[window], size_bytes=size)
        if document is None:
            self.documents.pop(window, None)
        else:
            self.documents[window] = document
