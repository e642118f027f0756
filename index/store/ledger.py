"""Messages, edits and windows of rooms, as `ingest.chat.ledger` and `ingest.chat.windows` think of them.

What belongs to one room is found by its key; touching one event costs the same in a room of any size. Writing functions
run inside `Store.transaction`. All text was scrubbed before it came here.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps, loads
from typing import Final

import aiosqlite

from index.model import EventId, RoomId, UserId

MAIN_LANE: Final = ""


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One event with words. See `ingest.chat.ledger.LedgerRow`; `family` and `winner` are None for the event itself."""

    event: EventId
    sender: UserId
    type: str
    position: int
    claimed_ms: int
    sent_ms: int
    text: str
    flags: int  # the meaning is the caller's
    family: EventId | None = None
    links: tuple[str, ...] = ()
    thread_root: EventId | None = None
    reply_to: EventId | None = None  # empty: an answer to nothing
    winner: EventId | None = None
    window: EventId | None = None


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """See `ingest.chat.windows.WindowRow`; `lane` is `MAIN_LANE` or the root of a thread."""

    id: EventId
    lane: str
    last_ms: int
    size_bytes: int
    is_open: bool


_MESSAGE: Final = (
    "e.event, person.id, e.type, e.position, e.claimed_ms, e.sent_ms, e.body, e.flags, e.family, e.links,"
    " e.thread_root, e.reply_to, e.winner, w.id"
)
_JOINS: Final = (
    "FROM ledger AS e JOIN person USING (person_key) LEFT JOIN chat_window AS w ON w.window_key = e.window_key"
)


async def families(
    connection: aiosqlite.Connection,
    room_key: int,
    events: Collection[EventId],
    *,
    answered: Collection[EventId] = (),
    answered_twice: Collection[EventId] = (),
) -> dict[EventId, MessageRecord]:
    """The rows of `events`, and all rows of their families: originals with their edits.

    With them those of what answers one of `answered`, and of what answers that if it answers one of `answered_twice`.
    """
    if not events:
        return {}
    found = await _messages(
        connection, "e.room_key = ? AND e.event IN (SELECT value FROM json_each(?))", room_key, events
    )
    if answered:
        answers = "e.room_key = ? AND e.reply_to <> '' AND e.reply_to IN (SELECT value FROM json_each(?))"
        replies = await _messages(connection, answers, room_key, answered)
        found += replies
        if again := {reply.event for reply in replies if reply.reply_to in answered_twice}:
            found += await _messages(connection, answers, room_key, again)
    named = (
        set(events)
        | {record.event for record in found}
        | {record.family for record in found if record.family is not None}
    )
    found += await _messages(
        connection, "e.room_key = ? AND e.family IN (SELECT value FROM json_each(?))", room_key, named
    )
    if missing := named - set(events) - {record.event for record in found}:
        found += await _messages(
            connection, "e.room_key = ? AND e.event IN (SELECT value FROM json_each(?))", room_key, missing
        )
    return {record.event: record for record in found}


async def _messages(
    connection: aiosqlite.Connection, condition: str, room_key: int, ids: Iterable[EventId]
) -> list[MessageRecord]:
    rows = await connection.execute_fetchall(
        f"SELECT {_MESSAGE} {_JOINS} WHERE {condition}", (room_key, dumps(sorted(ids)))
    )
    return [_record(row) for row in rows]


def _record(row: Sequence[object]) -> MessageRecord:
    event, sender, kind, position, claimed_ms, sent_ms, text, flags, family, links, root, reply_to, winner, window = row
    return MessageRecord(
        event=EventId(str(event)),
        sender=UserId(str(sender)),
        type=str(kind),
        position=int(str(position)),
        claimed_ms=int(str(claimed_ms)),
        sent_ms=int(str(sent_ms)),
        text=str(text),
        flags=int(str(flags)),
        family=_event(family),
        links=tuple(loads(str(links))) if links else (),
        thread_root=_event(root),
        reply_to=_event(reply_to),
        winner=_event(winner),
        window=_event(window),
    )


def _event(value: object) -> EventId | None:
    return None if value is None else EventId(str(value))


async def put(
    connection: aiosqlite.Connection, room_key: int, records: Sequence[MessageRecord], *, is_waiting: bool = False
) -> None:
    """Store rows, new or changed; `is_waiting` is said of the new ones alone."""
    people = sorted({record.sender for record in records})
    await connection.executemany("INSERT OR IGNORE INTO person(id) VALUES (?)", [(person,) for person in people])
    await connection.executemany(
        "INSERT INTO ledger(room_key, event, person_key, type, position, claimed_ms, sent_ms, body, flags, family,"
        " links, thread_root, reply_to, winner, window_key, is_waiting) VALUES (?1, ?2,"
        " (SELECT person_key FROM person WHERE id = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
        " (SELECT window_key FROM chat_window WHERE room_key = ?1 AND id = ?15), ?16)"
        " ON CONFLICT(room_key, event) DO UPDATE SET body = excluded.body, flags = excluded.flags,"
        " links = excluded.links, reply_to = excluded.reply_to, winner = excluded.winner,"
        " window_key = excluded.window_key",
        [
            (
                room_key,
                record.event,
                record.sender,
                record.type,
                record.position,
                record.claimed_ms,
                record.sent_ms,
                record.text,
                record.flags,
                record.family,
                dumps(record.links, ensure_ascii=False) if record.links else None,
                record.thread_root,
                record.reply_to,
                record.winner,
                record.window,
                is_waiting,
            )
            for record in records
        ],
    )


async def delete(connection: aiosqlite.Connection, room_key: int, events: Iterable[EventId]) -> None:
    """Forget messages, and people of whom nothing is left."""
    people: set[int] = set()
    for event in events:
        rows = await connection.execute_fetchall(
            "DELETE FROM ledger WHERE room_key = ? AND event = ? RETURNING person_key", (room_key, event)
        )
        people |= {int(row[0]) for row in rows}
    await _drop_people(connection, people)


async def _drop_people(connection: aiosqlite.Connection, people: Iterable[int]) -> None:
    await connection.executemany(
        "DELETE FROM person WHERE person_key = ?1 AND NOT EXISTS (SELECT 1 FROM ledger WHERE person_key = ?1)",
        [(person,) for person in people],
    )


async def set_windows(connection: aiosqlite.Connection, room_key: int, windows: Mapping[EventId, EventId]) -> None:
    """Message to window, for good."""
    await connection.executemany(
        "UPDATE ledger SET is_waiting = 0, window_key ="
        " (SELECT window_key FROM chat_window WHERE room_key = ?1 AND id = ?2) WHERE room_key = ?1 AND event = ?3",
        [(room_key, window, event) for event, window in windows.items()],
    )


async def waiting(connection: aiosqlite.Connection, room_key: int, *, limit: int) -> list[MessageRecord]:
    """Rows that wait for a gap to be filled, in order."""
    rows = await connection.execute_fetchall(
        f"SELECT {_MESSAGE} {_JOINS} WHERE e.room_key = ? AND e.is_waiting ORDER BY e.position, e.event LIMIT ?",
        (room_key, limit),
    )
    return [_record(row) for row in rows]


async def is_held_up(connection: aiosqlite.Connection, room_key: int) -> bool:
    """Whether new messages have to wait, because older ones are still to come."""
    rows = list(
        await connection.execute_fetchall(
            "SELECT EXISTS (SELECT 1 FROM room_gap WHERE room_key = ?1)"
            " OR EXISTS (SELECT 1 FROM ledger INDEXED BY ledger_waiting WHERE room_key = ?1 AND is_waiting)",
            (room_key,),
        )
    )
    return bool(rows[0][0])


async def rooms_held_up(connection: aiosqlite.Connection) -> frozenset[RoomId]:
    """Rooms with an open gap, or with messages that wait since one was filled."""
    rows = await connection.execute_fetchall(
        "SELECT id FROM room WHERE EXISTS (SELECT 1 FROM room_gap WHERE room_gap.room_key = room.room_key)"
        " OR EXISTS (SELECT 1 FROM ledger INDEXED BY ledger_waiting"
        " WHERE ledger.room_key = room.room_key AND is_waiting)"
    )
    return frozenset(RoomId(row[0]) for row in rows)


async def rooms_to_ask(connection: aiosqlite.Connection) -> frozenset[RoomId]:
    """Rooms with messages of which it is not known what they answer."""
    rows = await connection.execute_fetchall(
        "SELECT id FROM room WHERE EXISTS"
        " (SELECT 1 FROM ledger WHERE ledger.room_key = room.room_key AND ledger.reply_to IS NULL)"
    )
    return frozenset(RoomId(row[0]) for row in rows)


async def stop_asking(connection: aiosqlite.Connection, room_key: int) -> None:
    """What nobody tells any more answers nothing. Inside a transaction."""
    await connection.execute("UPDATE ledger SET reply_to = '' WHERE room_key = ? AND reply_to IS NULL", (room_key,))


async def stop_waiting(connection: aiosqlite.Connection, room_key: int, events: Iterable[EventId]) -> None:
    await connection.executemany(
        "UPDATE ledger SET is_waiting = 0 WHERE room_key = ? AND event = ?", [(room_key, event) for event in events]
    )


async def members(connection: aiosqlite.Connection, room_key: int, window: EventId) -> dict[EventId, MessageRecord]:
    """The originals in a window in server order, then the edits that count for them."""
    rows = await connection.execute_fetchall(
        f"SELECT {_MESSAGE} {_JOINS} WHERE e.window_key ="
        " (SELECT window_key FROM chat_window WHERE room_key = ? AND id = ?) ORDER BY e.position, e.event",
        (room_key, window),
    )
    found = {record.event: record for record in map(_record, rows)}
    if winners := {record.winner for record in found.values() if record.winner is not None}:
        condition = "e.room_key = ? AND e.event IN (SELECT value FROM json_each(?))"
        found |= {record.event: record for record in await _messages(connection, condition, room_key, winners)}
    return found


async def window_of(connection: aiosqlite.Connection, room: RoomId, event: EventId) -> EventId | None:
    """The window that shows a message, or the message that an edit replaces."""
    rows = list(
        await connection.execute_fetchall(
            "SELECT w.id FROM room JOIN ledger AS e USING (room_key)"
            " JOIN ledger AS o ON o.room_key = e.room_key AND o.event = coalesce(e.family, e.event)"
            " JOIN chat_window AS w ON w.window_key = o.window_key WHERE room.id = ? AND e.event = ?",
            (room, event),
        )
    )
    return EventId(rows[0][0]) if rows else None


async def open_windows(
    connection: aiosqlite.Connection, room_key: int, lanes: Collection[str]
) -> dict[str, WindowRecord]:
    rows = await connection.execute_fetchall(
        "SELECT id, lane, last_ms, size_bytes, is_open FROM chat_window"
        " WHERE room_key = ? AND is_open AND lane IN (SELECT value FROM json_each(?))",
        (room_key, dumps(sorted(lanes))),
    )
    return {row[1]: WindowRecord(EventId(row[0]), row[1], row[2], row[3], bool(row[4])) for row in rows}


async def put_windows(connection: aiosqlite.Connection, room_key: int, windows: Iterable[WindowRecord]) -> None:
    """Closed ones before open ones, since a lane has at most one of those."""
    await connection.executemany(
        "INSERT INTO chat_window(room_key, id, lane, last_ms, size_bytes, is_open) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(room_key, id) DO UPDATE SET last_ms = excluded.last_ms, size_bytes = excluded.size_bytes,"
        " is_open = excluded.is_open",
        [
            (room_key, window.id, window.lane, window.last_ms, window.size_bytes, window.is_open)
            for window in sorted(windows, key=lambda window: window.is_open)
        ],
    )


async def resize_window(connection: aiosqlite.Connection, room_key: int, window: EventId, size_bytes: int) -> bool:
    """Returns whether the window is still open."""
    rows = await connection.execute_fetchall(
        "UPDATE chat_window SET size_bytes = ? WHERE room_key = ? AND id = ? RETURNING is_open",
        (size_bytes, room_key, window),
    )
    return any(bool(row[0]) for row in rows)
