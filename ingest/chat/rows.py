"""Between the records of the store and those of the pure core: the same things, with and without their meaning."""

from collections.abc import Mapping
from typing import Final

from index.model import EventId, RoomId
from index.store.ledger import MAIN_LANE, MessageRecord, WindowRecord
from ingest.chat.content import Content
from ingest.chat.ledger import LedgerRow
from ingest.chat.rendering import MAIN, Lane
from ingest.chat.windows import WindowRow

# Bits of `MessageRecord.flags`. Stored: a bit keeps its meaning.
_NOTICE: Final = 1
_EMOTE: Final = 2
_SPOILER: Final = 4
_CUT: Final = 8
_STATE_KEY: Final = 16


def message_record(row: LedgerRow) -> MessageRecord:
    content = row.content
    return MessageRecord(
        event=row.event,
        sender=row.sender,
        type=row.type,
        position=row.order,
        claimed_ms=row.claimed_ms,
        sent_ms=row.sent_ms,
        text=content.text,
        flags=_NOTICE * content.is_notice
        | _EMOTE * content.is_emote
        | _SPOILER * content.has_spoiler
        | _CUT * content.was_cut
        | _STATE_KEY * row.has_state_key,
        family=row.family if row.is_edit else None,
        links=content.links,
        thread_root=row.thread_root,
        reply_to=row.reply_to,
        winner=row.winner if row.winner != row.event else None,
        window=row.window,
    )


def ledger_row(record: MessageRecord, room: RoomId) -> LedgerRow:
    flags = record.flags
    return LedgerRow(
        event=record.event,
        room=room,
        sender=record.sender,
        type=record.type,
        family=record.family or record.event,
        order=record.position,
        claimed_ms=record.claimed_ms,
        sent_ms=record.sent_ms,
        content=Content(
            text=record.text,
            links=record.links,
            is_notice=bool(flags & _NOTICE),
            is_emote=bool(flags & _EMOTE),
            has_spoiler=bool(flags & _SPOILER),
            was_cut=bool(flags & _CUT),
        ),
        thread_root=record.thread_root,
        reply_to=record.reply_to,
        has_state_key=bool(flags & _STATE_KEY),
        winner=None if record.family is not None else record.winner or record.event,
        window=record.window,
    )


def ledger_rows(records: Mapping[EventId, MessageRecord], room: RoomId) -> dict[EventId, LedgerRow]:
    return {event: ledger_row(record, room) for event, record in records.items()}


def lane_name(lane: Lane) -> str:
    return MAIN_LANE if lane is None else lane


def window_record(row: WindowRow) -> WindowRecord:
    return WindowRecord(row.id, lane_name(row.lane), row.last_ms, row.size_bytes, row.is_open)


def window_row(record: WindowRecord, room: RoomId) -> WindowRow:
    lane = MAIN if record.lane == MAIN_LANE else EventId(record.lane)
    return WindowRow(record.id, room, lane, record.last_ms, record.size_bytes, record.is_open)
