"""Looking over the ledger: what is old, what is a person's, what stands in a stretch of time, a few at random.

Every function here is bounded by a limit or answers from an index, so that no room is too large for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from json import loads

import aiosqlite

from index.model import EventId, RoomId, UserId


@dataclass(frozen=True, slots=True)
class Place:
    """One stored event and its room."""

    room: RoomId
    event: EventId
    sender: UserId
    sent_ms: int


@dataclass(frozen=True, slots=True)
class StoredText:
    """The words of one stored event, to be scrubbed again."""

    key: int
    room: RoomId
    text: str
    links: tuple[str, ...]
    window: EventId | None  # of the message, or of the one that it edits


@dataclass(frozen=True, slots=True)
class RoomCounts:
    """What is stored of one room. `skipped` counts by reason what was met and is not kept."""

    messages: int
    edits: int
    windows: int
    waiting: int
    skipped: tuple[tuple[str, int], ...]
    odd: tuple[EventId, ...]  # a few of those that could not be read
    first_ms: int | None
    last_ms: int | None


_PLACE = (
    "SELECT room.id, event, person.id, sent_ms FROM ledger JOIN room USING (room_key) JOIN person USING (person_key)"
)


def _places(rows: Sequence[Sequence[object]]) -> list[Place]:
    return [Place(RoomId(str(row[0])), EventId(str(row[1])), UserId(str(row[2])), int(str(row[3]))) for row in rows]


@dataclass(frozen=True, slots=True)
class Matched:
    """How much meets a condition, and when the first and the last of it was sent; without a word of it.

    `replies` are further messages that answer those, with their edits. `unasked` are messages of the same rooms of
    which it is not known yet what they answer.
    """

    events: int
    rooms: int
    windows: int
    first_ms: int | None
    last_ms: int | None
    replies: int
    unasked: int


@dataclass(frozen=True, slots=True)
class Conditions:
    """Joined by "and"; None is any. Times are inclusive, and either the claimed or the shown time meets one.

    An edit of a message counts as the message when that one is named.
    """

    room: RoomId | None = None
    event: EventId | None = None
    sender: UserId | None = None
    after_ms: int | None = None
    before_ms: int | None = None

    @property
    def sql(self) -> tuple[str, dict[str, object]]:
        """A condition on `ledger`, with its values."""
        parts: list[str] = []
        if self.room is not None:
            parts.append("ledger.room_key = (SELECT room_key FROM room WHERE id = :room)")
        if self.event is not None:
            parts.append("(ledger.event = :event OR ledger.family IS :event)")
        if self.sender is not None:
            parts.append("ledger.person_key = (SELECT person_key FROM person WHERE id = :sender)")
        if self.after_ms is not None:
            parts.append("(ledger.sent_ms >= :after_ms OR ledger.claimed_ms >= :after_ms)")
        if self.before_ms is not None:
            parts.append("(ledger.sent_ms <= :before_ms OR ledger.claimed_ms <= :before_ms)")
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return " AND ".join(parts) or "TRUE", values

    @property
    def replies_sql(self) -> str:
        """A question for the keys of what answers the events that are meant, themselves excepted, with edits.

        Where one message is named it need not be stored any more.
        """
        where, _ = self.sql
        answer = (
            "SELECT a.event_key FROM ledger JOIN ledger AS a ON a.room_key = ledger.room_key"
            f" AND a.reply_to = ledger.event AND a.reply_to <> '' WHERE {where}"
        )
        if self.event is not None and (self.sender, self.after_ms, self.before_ms) == (None, None, None):
            room = "" if self.room is None else "room_key = (SELECT room_key FROM room WHERE id = :room) AND "
            answer = (
                f"SELECT event_key FROM ledger WHERE {room}reply_to <> '' AND reply_to IN"
                f" (SELECT :event UNION SELECT event FROM ledger WHERE {room}family = :event)"
            )
        return (
            f"WITH answer(event_key) AS ({answer}),"
            " reply(event_key) AS (SELECT event_key FROM answer UNION SELECT e.event_key FROM answer CROSS JOIN ledger"
            " AS o USING (event_key) CROSS JOIN ledger AS e ON e.room_key = o.room_key AND e.family = o.event)"
            f" SELECT event_key FROM reply CROSS JOIN ledger USING (event_key) WHERE ({where}) IS NOT TRUE"
        )


async def matching(connection: aiosqlite.Connection, conditions: Conditions, *, limit: int) -> list[Place]:
    """Events that meet the conditions, in the order of rooms and times."""
    where, values = conditions.sql
    rows = await connection.execute_fetchall(
        f"{_PLACE} WHERE {where} ORDER BY room_key, sent_ms, event LIMIT :limit", {**values, "limit": limit}
    )
    return _places(list(rows))


async def answering(connection: aiosqlite.Connection, conditions: Conditions, *, limit: int) -> list[Place]:
    """What answers the events that meet the conditions, and does not meet them itself; in the same order."""
    rows = await connection.execute_fetchall(
        f"{_PLACE} WHERE event_key IN ({conditions.replies_sql}) ORDER BY room_key, sent_ms, event LIMIT :limit",
        {**conditions.sql[1], "limit": limit},
    )
    return _places(list(rows))


async def matched(connection: aiosqlite.Connection, conditions: Conditions) -> Matched:
    where, values = conditions.sql
    rows = list(
        await connection.execute_fetchall(
            f"WITH named(event_key) AS MATERIALIZED (SELECT event_key FROM ledger WHERE {where}),"
            " gone(event_key) AS (SELECT event_key FROM named UNION SELECT e.event_key FROM named CROSS JOIN ledger"
            " AS o USING (event_key) CROSS JOIN ledger AS e ON e.room_key = o.room_key AND e.family = o.event)"
            " SELECT count(*), count(DISTINCT room_key), count(DISTINCT window_key), min(sent_ms), max(sent_ms)"
            " FROM gone CROSS JOIN ledger USING (event_key)",
            values,
        )
    )
    replies = list(await connection.execute_fetchall(f"SELECT count(*) FROM ({conditions.replies_sql})", values))
    unasked = list(
        await connection.execute_fetchall(
            "SELECT count(*) FROM ledger JOIN room USING (room_key)"
            " WHERE reply_to IS NULL AND (:room IS NULL OR room.id = :room)",
            values,
        )
    )
    events, rooms, windows, first_ms, last_ms = rows[0]
    return Matched(events, rooms, windows, first_ms, last_ms, replies[0][0], unasked[0][0])


async def older(connection: aiosqlite.Connection, room: RoomId, before_ms: int, *, limit: int) -> list[Place]:
    """Events of a room from before a time, the oldest first."""
    rows = await connection.execute_fetchall(
        f"{_PLACE} WHERE room_key = (SELECT room_key FROM room WHERE id = ?) AND sent_ms < ?"
        " ORDER BY sent_ms, event LIMIT ?",
        (room, before_ms, limit),
    )
    return _places(list(rows))


async def first_from(connection: aiosqlite.Connection, room: RoomId, from_ms: int) -> Place | None:
    """The oldest event of a room that is not older than a time."""
    rows = await connection.execute_fetchall(
        f"{_PLACE} WHERE room_key = (SELECT room_key FROM room WHERE id = ?) AND sent_ms >= ?"
        " ORDER BY sent_ms, event LIMIT 1",
        (room, from_ms),
    )
    found = _places(list(rows))
    return found[0] if found else None


async def bounds_ms(connection: aiosqlite.Connection, room: RoomId) -> tuple[int, int] | None:
    """The times of the oldest and the newest event; None when there is none."""
    rows = list(
        await connection.execute_fetchall(
            "SELECT (SELECT min(sent_ms) FROM ledger WHERE room_key = room.room_key),"
            " (SELECT max(sent_ms) FROM ledger WHERE room_key = room.room_key) FROM room WHERE id = ?",
            (room,),
        )
    )
    return None if not rows or rows[0][0] is None else (int(rows[0][0]), int(rows[0][1]))


async def orphan_edits(connection: aiosqlite.Connection, room: RoomId, before_ms: int, *, limit: int) -> list[EventId]:
    """Edits from before a time whose original never came."""
    rows = await connection.execute_fetchall(
        "SELECT event FROM ledger AS e INDEXED BY ledger_family"
        " WHERE room_key = (SELECT room_key FROM room WHERE id = ?)"
        " AND family IS NOT NULL AND sent_ms < ? AND NOT EXISTS"
        " (SELECT 1 FROM ledger AS o WHERE o.room_key = e.room_key AND o.event = e.family) LIMIT ?",
        (room, before_ms, limit),
    )
    return [EventId(row[0]) for row in rows]


async def texts_after(connection: aiosqlite.Connection, key: int, *, limit: int) -> list[StoredText]:
    """Stored words in the order of their keys, from behind `key` on."""
    rows = await connection.execute_fetchall(
        "SELECT e.event_key, room.id, e.body, e.links, w.id FROM ledger AS e JOIN room USING (room_key)"
        " LEFT JOIN ledger AS o ON o.room_key = e.room_key AND o.event = coalesce(e.family, e.event)"
        " LEFT JOIN chat_window AS w ON w.window_key = o.window_key"
        " WHERE e.event_key > ? ORDER BY e.event_key LIMIT ?",
        (key, limit),
    )
    return [
        StoredText(int(row[0]), RoomId(row[1]), row[2], tuple(loads(row[3])) if row[3] else (), row[4]) for row in rows
    ]


async def windows_after(
    connection: aiosqlite.Connection, room: RoomId, key: int, *, limit: int
) -> list[tuple[int, EventId]]:
    """Windows of a room in the order of their keys, from behind `key` on."""
    rows = await connection.execute_fetchall(
        "SELECT window_key, id FROM chat_window WHERE room_key = (SELECT room_key FROM room WHERE id = ?)"
        " AND window_key > ? ORDER BY window_key LIMIT ?",
        (room, key, limit),
    )
    return [(int(row[0]), EventId(row[1])) for row in rows]


async def replace_text(connection: aiosqlite.Connection, key: int, text: str, links: str | None) -> None:
    """Inside a transaction; `links` as JSON."""
    await connection.execute("UPDATE ledger SET body = ?, links = ? WHERE event_key = ?", (text, links, key))


async def erase_slice(connection: aiosqlite.Connection, room: RoomId, *, limit: int) -> bool:
    """Forget up to `limit` rows of a room, with people of whom nothing is left; False: there were none any more.

    Tombstones and the room's own record stay. Inside a transaction.
    """
    chosen = "room_key = (SELECT room_key FROM room WHERE id = ?)"
    people = {
        int(row[0])
        for row in await connection.execute_fetchall(
            "DELETE FROM ledger WHERE event_key IN"
            f" (SELECT event_key FROM ledger WHERE {chosen} LIMIT ?) RETURNING person_key",
            (room, limit),
        )
    }
    await connection.executemany(
        "DELETE FROM person WHERE person_key = ?1 AND NOT EXISTS (SELECT 1 FROM ledger WHERE person_key = ?1)",
        [(person,) for person in people],
    )
    if people:
        return True
    for table in ("chat_window", "room_gap", "room_unknown", "skipped_event"):
        await connection.execute(f"DELETE FROM {table} WHERE {chosen}", (room,))
    return False


async def forget_account(connection: aiosqlite.Connection, name: str) -> None:
    """All that chat holds under a name, which is a room's id or the account's; tombstones and signs stay.

    For sources that the configuration no longer has. Inside a transaction.
    """
    if name.startswith("@"):
        await connection.execute("DELETE FROM meta WHERE name LIKE 'chat.%'")
        names = [str(row[0]) for row in await connection.execute_fetchall("SELECT id FROM room")]
    else:
        names = [name]
    for room in names:
        while await erase_slice(connection, RoomId(room), limit=5_000):
            pass
        await connection.execute(
            "UPDATE room SET title = '', alias = '', phase = 'new', position = NULL, last_order = 0, is_stale = 0,"
            " facts = CASE facts WHEN '' THEN '' ELSE json_replace(facts, '$.name', '', '$.alias', '') END"
            " WHERE id = ?",
            (room,),
        )


async def counts(connection: aiosqlite.Connection, room: RoomId) -> RoomCounts:
    """For a listing: reads all of the room's rows."""
    key = list(await connection.execute_fetchall("SELECT room_key FROM room WHERE id = ?", (room,)))
    chosen = (key[0][0] if key else None,)
    rows = list(
        await connection.execute_fetchall(
            "SELECT count(*) FILTER (WHERE family IS NULL), count(family), count(*) FILTER (WHERE is_waiting),"
            " min(sent_ms), max(sent_ms) FROM ledger WHERE room_key = ?",
            chosen,
        )
    )
    windows = list(await connection.execute_fetchall("SELECT count(*) FROM chat_window WHERE room_key = ?", chosen))
    skipped = await connection.execute_fetchall(
        "SELECT reason, count(*) FROM skipped_event WHERE room_key = ? GROUP BY reason ORDER BY reason", chosen
    )
    odd = await connection.execute_fetchall(
        "SELECT event FROM skipped_event WHERE room_key = ? AND event IS NOT NULL ORDER BY event LIMIT 5", chosen
    )
    messages, edits, waiting, first_ms, last_ms = rows[0]
    return RoomCounts(
        messages=messages,
        edits=edits,
        windows=windows[0][0],
        waiting=waiting,
        skipped=tuple((row[0], row[1]) for row in skipped),
        odd=tuple(EventId(row[0]) for row in odd),
        first_ms=first_ms,
        last_ms=last_ms,
    )
