"""Standing orders to forget. They outlive what they removed, and every rebuild that keeps the file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import aiosqlite

from index.model import EventId, RoomId, UserId
from index.store.sweeps import Conditions


@dataclass(frozen=True, slots=True)
class PurgeRecord:
    """Conditions are joined by "and"; None is any. Times are inclusive.

    `proof` is a chain over the ids that went, in the order in which they went: beginning with nothing, each step is the
    BLAKE2b digest of 16 bytes over the step before and the next id. It tells nothing, and whoever has the ids can
    check it. The order is that of rooms, times and ids, first the replies; beyond 200 messages that of portions.
    """

    room: RoomId | None
    event: EventId | None
    sender: UserId | None
    after_ms: int | None
    before_ms: int | None
    ordered_ms: int
    ordered_by: str
    reason: str = ""
    takes_replies: bool = False  # what answers a message that goes, goes as well; else it loses its quotations
    applied_ms: int | None = None
    removed: int = 0
    proof: str = ""
    key: int | None = None  # None: not stored yet

    @property
    def conditions(self) -> Conditions:
        return Conditions(self.room, self.event, self.sender, self.after_ms, self.before_ms)

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two records the same order."""
        return self.conditions, self.takes_replies, self.ordered_ms, self.ordered_by


async def add(connection: aiosqlite.Connection, purge: PurgeRecord) -> int:
    """Inside a transaction; returns the key."""
    async with connection.execute(
        "INSERT INTO purge(room, event, sender, after_ms, before_ms, ordered_ms, ordered_by, reason, takes_replies)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING purge_key",
        (
            purge.room,
            purge.event,
            purge.sender,
            purge.after_ms,
            purge.before_ms,
            purge.ordered_ms,
            purge.ordered_by,
            purge.reason,
            purge.takes_replies,
        ),
    ) as rows:
        row = await rows.fetchone()
    if row is None:
        raise AssertionError("an insert with RETURNING gives a row")
    return int(row[0])


async def purges(connection: aiosqlite.Connection) -> list[PurgeRecord]:
    """All, in the order in which they were given."""
    rows = await connection.execute_fetchall(
        "SELECT room, event, sender, after_ms, before_ms, ordered_ms, ordered_by, reason, takes_replies, applied_ms,"
        " removed, proof, purge_key FROM purge ORDER BY purge_key"
    )
    return [replace(PurgeRecord(*row), takes_replies=bool(row[8])) for row in rows]


async def record_removed(connection: aiosqlite.Connection, key: int, events: Sequence[EventId]) -> None:
    """Inside the transaction that removes them."""
    rows = list(await connection.execute_fetchall("SELECT proof FROM purge WHERE purge_key = ?", (key,)))
    chain = bytes.fromhex(str(rows[0][0]))
    for event in events:
        chain = blake2b(chain + event.encode(), digest_size=16).digest()
    await connection.execute(
        "UPDATE purge SET removed = removed + ?, proof = ? WHERE purge_key = ?", (len(events), chain.hex(), key)
    )


async def record_applied(connection: aiosqlite.Connection, key: int, *, now_ms: int) -> None:
    """Nothing is left that it names. Inside a transaction."""
    await connection.execute("UPDATE purge SET applied_ms = ? WHERE purge_key = ?", (now_ms, key))
