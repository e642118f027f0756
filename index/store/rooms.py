"""Rooms of the reader: what was decided about each, how far it was read, and where its history has holes.

The facts and findings are opaque text here; `ingest.chat` knows what stands in them. Writing functions run inside
`Store.transaction`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final

import aiosqlite

from index.model import EventId, RoomId

ADMITTED: Final = "admitted"
SUSPENDED: Final = "suspended"
REFUSED: Final = "refused"

NEW: Final = "new"  # nothing was asked for
WALKING: Final = "walking"  # back to the beginning, so that the homeserver fetches what it lacks
READING: Final = "reading"  # from the beginning on
DONE: Final = "done"  # to the live end; syncs bring the rest


@dataclass(frozen=True, slots=True)
class RoomRecord:
    """One room. `position` is the token where walking or reading goes on, None its beginning.

    `since` is the sync token from which on timelines were passed over because history was still being read;
    `fresh_token` the one before which nothing may be read. `left_token` is the last sync that the reader was in.
    """

    id: RoomId
    title: str = ""  # scrubbed
    alias: str = ""
    join_rule: str = "invite"
    visibility: str = "shared"
    is_joined: bool = True
    is_federated: bool = False
    left_ms: int | None = None
    left_token: str | None = None
    outcome: str = ""
    findings: str = ""  # JSON
    decided_ms: int | None = None
    facts: str = ""  # JSON
    state_ms: int = 0  # when the state was last read; 0: never
    lifetime_ms: int | None = None
    phase: str = NEW
    is_stale: bool = False
    position: str | None = None
    since: str | None = None
    fresh_token: str | None = None
    seen_visibility: str = "shared"
    last_order: int = 0
    last_event: EventId | None = None
    last_ms: int | None = None

    @property
    def is_admitted(self) -> bool:
        return self.outcome == ADMITTED

    @property
    def is_public(self) -> bool:
        """Whether anybody may read it: everyone can join, and sees then what was said before."""
        return self.join_rule == "public" and self.visibility in ("shared", "world_readable")

    @property
    def label(self) -> str:
        return self.alias or self.title or self.id


@dataclass(frozen=True, slots=True)
class Gap:
    """A hole below a timeline, being read backwards from `token` (None: the newest event).

    It ends at the sync token `until`, where there is one, at the room's beginning, or after enough events in a row
    that are `known`, unless it is thorough. The next event takes `next_order`, the one before it one less.
    """

    room: RoomId
    token: str | None
    until: str | None
    next_order: int
    visibility: str
    opened_ms: int
    is_thorough: bool = False
    known: int = 0
    last_event: EventId | None = None
    last_ms: int | None = None
    key: int | None = None  # None: not stored yet


@dataclass(frozen=True, slots=True)
class UnknownStretch:
    """Between, not including, two times; None is the room's end on that side."""

    room: RoomId
    first_ms: int | None
    last_ms: int | None
    why: str
    found_ms: int


_COLUMNS: Final = tuple(field.name for field in fields(RoomRecord))
_FLAGS: Final = frozenset({"is_joined", "is_federated", "is_stale"})
_GAP: Final = "token, until, next_order, visibility, is_thorough, known, last_event, last_ms, opened_ms"


async def rooms(connection: aiosqlite.Connection) -> list[RoomRecord]:
    """All, by id."""
    rows = await connection.execute_fetchall(f"SELECT {', '.join(_COLUMNS)} FROM room ORDER BY id")
    return [_record(row) for row in rows]


async def room(connection: aiosqlite.Connection, room: RoomId) -> RoomRecord | None:
    rows = list(await connection.execute_fetchall(f"SELECT {', '.join(_COLUMNS)} FROM room WHERE id = ?", (room,)))
    return _record(rows[0]) if rows else None


def _record(row: Iterable[object]) -> RoomRecord:
    values = dict(zip(_COLUMNS, row, strict=True))
    values.update({name: bool(values[name]) for name in _FLAGS})
    return RoomRecord(**values)  # type: ignore[arg-type] # the columns are the fields


async def save_room(connection: aiosqlite.Connection, record: RoomRecord) -> int:
    """Make the stored record equal to this one; returns its key."""
    names = ", ".join(_COLUMNS)
    values = ", ".join("?" for _ in _COLUMNS)
    changes = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS if name != "id")
    async with connection.execute(
        f"INSERT INTO room({names}) VALUES ({values}) ON CONFLICT(id) DO UPDATE SET {changes} RETURNING room_key",
        tuple(getattr(record, name) for name in _COLUMNS),
    ) as rows:
        row = await rows.fetchone()
    if row is None:
        raise AssertionError("an upsert with RETURNING gives a row")
    return int(row[0])


async def room_key(connection: aiosqlite.Connection, room: RoomId) -> int | None:
    rows = list(await connection.execute_fetchall("SELECT room_key FROM room WHERE id = ?", (room,)))
    return int(rows[0][0]) if rows else None


async def gaps(connection: aiosqlite.Connection, room: RoomId | None = None) -> list[Gap]:
    """Open gaps of one room, or of all; the oldest first, in which order they must be filled."""
    condition = "" if room is None else " WHERE room.id = ?"
    columns = ", ".join(f"room_gap.{name}" for name in _GAP.split(", "))
    rows = await connection.execute_fetchall(
        f"SELECT room.id, gap_key, {columns} FROM room_gap JOIN room USING (room_key){condition} ORDER BY gap_key",
        () if room is None else (room,),
    )
    return [
        Gap(
            room=RoomId(row[0]),
            key=row[1],
            token=row[2],
            until=row[3],
            next_order=row[4],
            visibility=row[5],
            is_thorough=bool(row[6]),
            known=row[7],
            last_event=row[8],
            last_ms=row[9],
            opened_ms=row[10],
        )
        for row in rows
    ]


async def save_gap(connection: aiosqlite.Connection, gap: Gap) -> None:
    """Store a new gap, or how far a known one was read."""
    values = tuple(getattr(gap, name) for name in _GAP.split(", "))
    if gap.key is None:
        await connection.execute(
            f"INSERT INTO room_gap(room_key, {_GAP}) VALUES ((SELECT room_key FROM room WHERE id = ?),"
            " ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (gap.room, *values),
        )
    else:
        changes = ", ".join(f"{name} = ?" for name in _GAP.split(", "))
        await connection.execute(f"UPDATE room_gap SET {changes} WHERE gap_key = ?", (*values, gap.key))


async def close_gap(connection: aiosqlite.Connection, gap: Gap) -> None:
    await connection.execute("DELETE FROM room_gap WHERE gap_key = ?", (gap.key,))


async def add_unknown(connection: aiosqlite.Connection, stretch: UnknownStretch) -> None:
    """Once: a stretch that is met again is not noted again."""
    await connection.execute(
        "INSERT INTO room_unknown(room_key, first_ms, last_ms, why, found_ms)"
        " SELECT room_key, ?2, ?3, ?4, ?5 FROM room WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM room_unknown AS old"
        " WHERE old.room_key = room.room_key AND (old.first_ms, old.last_ms, old.why) IS (?2, ?3, ?4))",
        (stretch.room, stretch.first_ms, stretch.last_ms, stretch.why, stretch.found_ms),
    )


async def unknown(connection: aiosqlite.Connection, room: RoomId | None = None) -> list[UnknownStretch]:
    """Stretches of one room, or of all, in the order in which they were found."""
    rows = await connection.execute_fetchall(
        "SELECT room.id, room_unknown.first_ms, room_unknown.last_ms, why, found_ms FROM room_unknown"
        " JOIN room USING (room_key) WHERE ?1 IS NULL OR room.id = ?1 ORDER BY room_unknown.rowid",
        (room,),
    )
    return [UnknownStretch(RoomId(row[0]), *row[1:]) for row in rows]


async def remember_alias(connection: aiosqlite.Connection, alias: str, room: RoomId) -> None:
    await connection.execute("INSERT OR IGNORE INTO room_alias(alias, room) VALUES (?, ?)", (alias, room))


async def aliases(connection: aiosqlite.Connection) -> dict[str, frozenset[RoomId]]:
    """Every room that an alias of the configuration ever led to."""
    found: dict[str, frozenset[RoomId]] = {}
    for alias, room in await connection.execute_fetchall("SELECT alias, room FROM room_alias"):
        found[str(alias)] = found.get(str(alias), frozenset()) | {RoomId(room)}
    return found


async def marks(connection: aiosqlite.Connection, prefix: str) -> dict[str, str]:
    """Entries of the `meta` table whose name begins so: work that is not done yet."""
    rows = await connection.execute_fetchall(
        "SELECT name, value FROM meta WHERE substr(name, 1, ?) = ? ORDER BY name", (len(prefix), prefix)
    )
    return {str(name): str(value) for name, value in rows}


async def drop_mark(connection: aiosqlite.Connection, name: str) -> None:
    await connection.execute("DELETE FROM meta WHERE name = ?", (name,))


async def touch_sources(connection: aiosqlite.Connection, now_ms: int) -> None:
    """Rooms that a sync did not name are up to date as well."""
    await connection.execute(
        "UPDATE source SET tried_ms = ?1, succeeded_ms = ?1 WHERE corpus = 'chat' AND fault IS NULL AND NOT is_hidden",
        (now_ms,),
    )
