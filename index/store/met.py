"""Which events of a room were met, beside those that the ledger keeps: what must stay gone, and what is not kept.

Writing functions run inside `Store.transaction`.
"""

from collections.abc import Collection, Iterable
from hashlib import blake2b
from json import dumps

import aiosqlite

from index.model import EventId


async def tombstones(
    connection: aiosqlite.Connection, room_key: int, events: Collection[EventId]
) -> dict[EventId, str]:
    """Which of these must stay gone, and why."""
    rows = await connection.execute_fetchall(
        "SELECT event, why FROM tombstone WHERE room_key = ? AND event IN (SELECT value FROM json_each(?))",
        (room_key, dumps(sorted(events))),
    )
    return {EventId(row[0]): str(row[1]) for row in rows}


async def bury(connection: aiosqlite.Connection, room_key: int, graves: Iterable[tuple[EventId, str]]) -> None:
    """Event and why; of one that is buried already the reason becomes this one."""
    await connection.executemany(
        "INSERT INTO tombstone(room_key, event, why) VALUES (?, ?, ?)"
        " ON CONFLICT(room_key, event) DO UPDATE SET why = excluded.why",
        [(room_key, event, why) for event, why in graves],
    )


async def skip(connection: aiosqlite.Connection, room_key: int, skipped: Iterable[tuple[EventId, str, bool]]) -> None:
    """Count events that are not kept, each once: id, reason, and whether the id itself is to be shown."""
    await connection.executemany(
        "INSERT OR IGNORE INTO skipped_event(room_key, digest, reason, event) VALUES (?, ?, ?, ?)",
        [(room_key, _digest(event), reason, event if is_shown else None) for event, reason, is_shown in skipped],
    )


def _digest(event: EventId) -> int:
    return int.from_bytes(blake2b(event.encode(), digest_size=8).digest(), "big", signed=True)


async def known(
    connection: aiosqlite.Connection, room_key: int, events: Collection[EventId], *, counts_waiting: bool = False
) -> frozenset[EventId]:
    """Which of these events were met before. Those that wait for a gap do not tell where it ends."""
    ids = dumps(sorted(events))
    rows = await connection.execute_fetchall(
        "SELECT event FROM ledger WHERE room_key = ?1 AND (?3 OR NOT is_waiting)"
        " AND event IN (SELECT value FROM json_each(?2))"
        " UNION SELECT event FROM tombstone WHERE room_key = ?1 AND event IN (SELECT value FROM json_each(?2))",
        (room_key, ids, counts_waiting),
    )
    digests = {_digest(event): event for event in events}
    skipped = await connection.execute_fetchall(
        "SELECT digest FROM skipped_event WHERE room_key = ? AND digest IN (SELECT value FROM json_each(?))",
        (room_key, dumps(sorted(digests))),
    )
    return frozenset(EventId(row[0]) for row in rows) | {digests[row[0]] for row in skipped}
