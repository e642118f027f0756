"""The ledger: what each message says now, whatever order its edits and redactions came in.

Pure; the rows here are what the store keeps, one table each. A message and its edits form a *family*, named by the
original's id. `plan` takes new events and the families that they touch, and returns the rows to write and to delete.
Any order of arrival, with repetitions and in any batches, ends in the same texts:

- the valid edit with the greatest `origin_server_ts`, then the greatest id, wins, and replaces the whole content;
- an edit is valid if sender and type are the original's, neither has a `state_key`, and its target is no edit;
  invalid ones are forgotten at once, and one whose original is unknown waits, unseen, until it is known;
- a tombstone outlives everything: what it names is deleted now and refused later. The tombstone of an original covers
  its edits, those to come as well. That of an edit lets the text fall back to the revision before;
- what answers a purged message loses every quotation, in all of its revisions, or goes as well where the order takes
  replies along. That is not passed on: what answers such a reply stands, without quotations.

Superseded revisions stay in the ledger, since a redaction of the newest must bring the one before back. They are
scrubbed like the rest and reach neither window nor index.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from index.model import EventId, RoomId, UserId
from ingest.chat.content import SILENCE, Content, without_quotes
from ingest.chat.events import Edited, Extracted, Pruned, Redacted, Said, clamped_ms
from ingest.chat.rendering import Utterance
from ingest.chat.rules import Rules, Why, why_purged

NO_REPLY: Final = EventId("")


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One event with words: an original, or an edit. Key: `event`; looked up by `family` and by `window`."""

    event: EventId
    room: RoomId
    sender: UserId
    type: str
    family: EventId  # its own id, or that of the message it replaces
    order: int  # server order in the room; only comparisons matter, backfill may be negative
    claimed_ms: int  # decides between edits
    sent_ms: int  # clamped: shown, filtered by
    content: Content
    thread_root: EventId | None = None
    reply_to: EventId | None = NO_REPLY  # None: not known, of an original that was stored before this was kept
    has_state_key: bool = False
    winner: EventId | None = None  # of an original: the row whose content counts now. None in edits
    window: EventId | None = None  # of an original: the window it is in, for good. None while it has no words

    @property
    def is_edit(self) -> bool:
        return self.family != self.event


@dataclass(frozen=True, slots=True)
class TombstoneRow:
    """What must stay gone. Key: room and event."""

    room: RoomId
    event: EventId
    why: Why


@dataclass(frozen=True, slots=True)
class Arrival:
    order: int
    record: Extracted  # what has no words and buries nothing is passed over


@dataclass(frozen=True, slots=True)
class Needs:
    """What `plan` has to be told of what is stored.

    Rows: those of the families of `rows`, of what answers one of `answered`, and of what answers that, where it is also
    in `answered_twice`. Tombstones: of `graves`, and of what those rows answer.
    """

    rows: frozenset[EventId]
    answered: frozenset[EventId]
    answered_twice: frozenset[EventId]
    graves: frozenset[EventId]


@dataclass(frozen=True, slots=True)
class LedgerView:
    """What the store has of the `Needs`."""

    rows: Mapping[EventId, LedgerRow] = field(default_factory=dict)
    tombstones: Mapping[EventId, Why] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changes:
    """Written in one transaction with the cursor. `deleted` first: no id is in both."""

    put: tuple[LedgerRow, ...]
    deleted: tuple[EventId, ...]  # the oldest first
    tombstones: tuple[TombstoneRow, ...]
    stale_windows: frozenset[EventId]  # to be rendered again
    unplaced: tuple[
        LedgerRow, ...
    ]  # originals that have words and no window yet, in server order; also in `put` if new
    forged: int  # edits that were refused


def needs_of(arrivals: Iterable[Arrival], rules: Rules, why: Why = Why.PRUNED) -> Needs:
    """Arguments as for `plan`. A reply may have to go for what it answers, so what answers it is looked at as well."""
    rows: set[EventId] = set()
    answered: set[EventId] = set()
    twice: set[EventId] = set()
    graves: set[EventId] = set()
    for arrival in arrivals:
        record, reason = arrival.record, None
        match record:
            case Said(event=event, reply_to=reply_to):
                rows.add(event)
                reason = why_purged(record, rules)
                if reply_to is not None:
                    graves.add(reply_to)
                    answered.add(event)
            case Edited(event=event, target=target):
                rows |= {event, target}
                reason = why_purged(record, rules)
            case Pruned(event=event):
                rows.add(event)
                reason = why
            case Redacted(target=target):
                rows.add(target)
        if reason is not None and reason.is_order and record.event is not None:
            answered.add(record.event)
            if reason is Why.PURGED_WITH_REPLIES:
                twice.add(record.event)
    return Needs(frozenset(rows), frozenset(answered), frozenset(twice), frozenset(rows | graves))


def plan(arrivals: Sequence[Arrival], view: LedgerView, rules: Rules, *, why: Why = Why.PRUNED) -> Changes:
    """The arrivals of one room, in any order. Repeating a batch that was stored changes nothing.

    `why` is what `Pruned` ones are buried for.
    """
    book = _Book(view)
    for arrival in arrivals:
        book.bury(arrival.record, rules, why)
    book.bury_replies([arrival.record for arrival in arrivals])
    for arrival in arrivals:
        book.enter(arrival, rules)
    book.settle()
    return book.changes()


def current(original: LedgerRow, rows: Mapping[EventId, LedgerRow]) -> Content:
    """What `original` says now. `rows` holds at least its winner."""
    winner = original if original.winner is None else rows.get(original.winner, original)
    return winner.content


def utterance(original: LedgerRow, rows: Mapping[EventId, LedgerRow]) -> Utterance:
    """`original` as its window sees it. An empty text is not shown, and neither placed nor rendered."""
    words = current(original, rows)
    return Utterance(
        event=original.event,
        sender=original.sender,
        sent_ms=original.sent_ms,
        text=words.text,
        lane=original.thread_root,
        has_doubtful_time=original.sent_ms != original.claimed_ms,
        is_emote=words.is_emote,
        has_link=words.has_link,
        was_cut=words.was_cut,
    )


class _Book:
    """A view that is being changed; compared with what it started from at the end."""

    def __init__(self, view: LedgerView) -> None:
        self._before = view
        self._rows = dict(view.rows)
        self._graves: dict[EventId, TombstoneRow] = {}
        self._touched: dict[EventId, None] = {}  # families, in order of first touch
        self._families: dict[EventId, list[EventId]] = {}
        self._forged = 0
        for row in view.rows.values():
            self._families.setdefault(row.family, []).append(row.event)

    def bury(self, record: Extracted, rules: Rules, why: Why) -> None:
        match record:
            case Redacted(room=room, target=target):
                self._dig(room, target, Why.REDACTED)
            case Pruned(room=room, event=event):
                self._dig(room, event, why)
            case Said() | Edited() if rules.purges:
                if (ordered := why_purged(record, rules)) is not None:
                    self._dig(record.room, record.event, ordered)
                if isinstance(record, Said) and record.reply_to is not None:
                    for purge in rules.purges:
                        if purge.names(record.room, record.reply_to):
                            self._dig(record.room, record.reply_to, purge.why)

    def bury_replies(self, records: Iterable[Extracted]) -> None:
        """After everything was buried for reasons of its own."""
        came = [(one.room, one.event, one.reply_to) for one in records if isinstance(one, Said)]
        kept = [(row.room, row.event, row.reply_to) for row in self._rows.values()]
        doomed = [
            (room, event)
            for room, event, reply_to in [*came, *kept]
            if reply_to is not None and self._why(reply_to) is Why.PURGED_WITH_REPLIES
        ]
        for room, event in doomed:
            self._dig(room, event, Why.PURGED)

    def _dig(self, room: RoomId, event: EventId, why: Why) -> None:
        if not why.demands_more_than(self._why(event)):
            return
        self._graves[event] = TombstoneRow(room, event, why)
        self._touched[event] = None
        for row in self._rows.values():
            if row.event == event or row.reply_to == event:
                self._touched[row.family] = None

    def _why(self, event: EventId) -> Why | None:
        grave = self._graves.get(event)
        return self._before.tombstones.get(event) if grave is None else grave.why

    def _is_buried(self, event: EventId) -> bool:
        return self._why(event) is not None

    def _lost_what_it_answers(self, row: LedgerRow) -> bool:
        why = self._why(row.reply_to) if row.reply_to else None
        return why is not None and why.is_order

    def enter(self, arrival: Arrival, rules: Rules) -> None:
        record = arrival.record
        if not isinstance(record, Said | Edited) or record.sender in rules.silent_senders:
            return
        family = record.target if isinstance(record, Edited) else record.event
        is_original = isinstance(record, Said)
        reply_to = (record.reply_to if isinstance(record, Said) else None) or NO_REPLY
        if (known := self._rows.get(record.event)) is not None:
            if known.reply_to is None:
                self._rows[record.event] = replace(known, reply_to=reply_to)
                self._touched[family] = None
            return
        self._rows[record.event] = LedgerRow(
            event=record.event,
            room=record.room,
            sender=record.sender,
            type=record.type,
            family=family,
            order=arrival.order,
            claimed_ms=record.claimed_ms,
            sent_ms=clamped_ms(record.claimed_ms, created_ms=rules.created_ms, now_ms=rules.now_ms),
            content=record.content
            if rules.keeps(record.content)
            else replace(SILENCE, is_notice=record.content.is_notice),
            thread_root=record.thread_root if isinstance(record, Said) else None,
            reply_to=reply_to,
            has_state_key=isinstance(record, Said) and record.has_state_key,
            winner=record.event if is_original else None,
        )
        self._families.setdefault(family, []).append(record.event)
        self._touched[family] = None
        if not is_original:
            self._touched[record.event] = None  # edits of this edit, if any wait, are invalid from now on

    def settle(self) -> None:
        """Drop what is buried or forged, cut quotations of what was purged, and let the newest of the rest win."""
        for family in self._touched:
            members = [self._rows[event] for event in self._families.get(family, ()) if event in self._rows]
            for member in members:
                if self._is_buried(family) or self._is_buried(member.event):
                    del self._rows[member.event]
            original = self._rows.get(family)
            if original is None:
                continue  # its edits wait
            edits = [self._rows[m.event] for m in members if m.is_edit and m.event in self._rows]
            valid = [edit for edit in edits if _may_replace(edit, original)]
            for forged in {edit.event for edit in edits} - {edit.event for edit in valid}:
                self._forged += 1
                del self._rows[forged]
            if self._lost_what_it_answers(original):
                for row in (original, *valid):
                    self._rows[row.event] = replace(row, content=without_quotes(row.content))
                original = self._rows[family]
            if not original.is_edit:
                newest = max(valid, key=lambda edit: (edit.claimed_ms, edit.event), default=original)
                self._rows[family] = replace(original, winner=newest.event)

    def changes(self) -> Changes:
        before = self._before.rows
        put = [row for event, row in self._rows.items() if before.get(event) != row]
        deleted = sorted((row.sent_ms, event) for event, row in before.items() if event not in self._rows)
        originals = [row for row in (self._rows.get(family) for family in self._touched) if row and not row.is_edit]
        unplaced = [row for row in originals if row.window is None and current(row, self._rows).text]
        return Changes(
            put=tuple(put),
            deleted=tuple(event for _, event in deleted),
            tombstones=tuple(self._graves.values()),
            stale_windows=frozenset(self._stale()),
            unplaced=tuple(sorted(unplaced, key=lambda row: (row.order, row.event))),
            forged=self._forged,
        )

    def _stale(self) -> Iterable[EventId]:
        before = self._before.rows
        for family in self._touched:
            was, now = before.get(family), self._rows.get(family)
            if was is None or was.window is None:
                continue
            if now is None or current(was, before) != current(now, self._rows):
                yield was.window


def _may_replace(edit: LedgerRow, original: LedgerRow) -> bool:
    return (
        not original.is_edit
        and not original.has_state_key
        and edit.room == original.room
        and edit.sender == original.sender
        and edit.type == original.type
    )
