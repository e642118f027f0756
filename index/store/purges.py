"""Standing orders to forget. They outlive what they removed, and every rebuild that keeps the file."""

from dataclasses import dataclass

import aiosqlite

from index.model import EventId, RoomId, UserId


@dataclass(frozen=True, slots=True)
class PurgeRecord:
    """Conditions are joined by "and"; None is any. Times are inclusive. `proof` is a digest of the ids that went."""

    room: RoomId | None
    event: EventId | None
    sender: UserId | None
    after_ms: int | None
    before_ms: int | None
    ordered_ms: int
    ordered_by: str
    reason: str = ""
    applied_ms: int | None = None
    removed: int = 0
    proof: str = ""
    key: int | None = None  # None: not stored yet


async def add(connection: aiosqlite.Connection, purge: PurgeRecord) -> int:
    """Inside a transaction; returns the key."""
    async with connection.execute(
        "INSERT INTO purge(room, event, sender, after_ms, before_ms, ordered_ms, ordered_by, reason)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING purge_key",
        (
            purge.room,
            purge.event,
            purge.sender,
            purge.after_ms,
            purge.before_ms,
            purge.ordered_ms,
            purge.ordered_by,
            purge.reason,
        ),
    ) as rows:
        row = await rows.fetchone()
    if row is None:
        raise AssertionError("an insert with RETURNING gives a row")
    return int(row[0])


async def purges(connection: aiosqlite.Connection) -> list[PurgeRecord]:
    """All, in the order in which they were given."""
    rows = await connection.execute_fetchall(
        "SELECT room, event, sender, after_ms, before_ms, ordered_ms, ordered_by, reason, applied_ms, removed, proof,"
        " purge_key FROM purge ORDER BY purge_key"
    )
    return [PurgeRecord(*row) for row in rows]


async def record_applied(connection: aiosqlite.Connection, key: int, *, now_ms: int, removed: int, proof: str) -> None:
    """Adds to what was removed before. Inside a transaction."""
    await connection.execute(
        "UPDATE purge SET applied_ms = ?, removed = removed + ?, proof = ? WHERE purge_key = ?",
        (now_ms, removed, proof, key),
    )
