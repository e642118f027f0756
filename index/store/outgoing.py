"""What a copy of the index in a cluster has yet to hear of.

Written in the transaction that changes the index, and taken back only after the cluster has acknowledged: a kill at any
point between costs a repetition, never a change. The triggers are temporary and belong to the writer's connection, so
an index without a copy pays nothing for them. A chunk is known by the id that the outside sees.

`published` is what was last said of sources and rooms, so that only what differs is said again. What is about to be
said is doubtful until the cluster acknowledged all of it: after a kill nobody knows which of the two holds there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Final

import aiosqlite

from index.model import ChunkId, Span
from index.store.driver import File
from index.store.reading import StoredChunk, chunks_by_id

COPIED_TO: Final = "copy.collection"
"""Entry of `meta`: where the copy is; without it there is none."""
WRITER: Final = "copy.writer"
"""Entry of `meta`: the name under which this file writes to a cluster."""


_DOUBT: Final = "?"
"""Before a record that may hold or not; no JSON begins so."""


def _noted(chunks: str) -> str:
    """Whatever the statement that fires a trigger says of conflicts holds in the trigger too, so there must be none."""
    return f"INSERT INTO outgoing(chunk) SELECT id FROM ({chunks}) WHERE id NOT IN (SELECT chunk FROM outgoing)"


def _trigger(name: str, event: str, chunks: str) -> str:
    return f"CREATE TEMP TRIGGER outgoing_{name} AFTER {event} BEGIN {_noted(chunks)}; END"


_TRIGGERS: Final = (
    _trigger("new", "INSERT ON main.chunk", "SELECT new.id AS id"),
    _trigger("changed", "UPDATE ON main.chunk", "SELECT new.id AS id"),
    _trigger("gone", "DELETE ON main.chunk", "SELECT old.id AS id"),
    _trigger(
        "document",
        "UPDATE OF kind, title, path, revision, first_ms, last_ms, has_link, payload ON main.document"
        " WHEN (new.kind, new.title, new.path, new.revision, new.first_ms, new.last_ms, new.has_link, new.payload)"
        " IS NOT (old.kind, old.title, old.path, old.revision, old.first_ms, old.last_ms, old.has_link, old.payload)",
        "SELECT id FROM chunk WHERE document_key = new.document_key",
    ),
    _trigger("part_new", "INSERT ON main.part", "SELECT id FROM chunk WHERE chunk_key = new.chunk_key"),
    _trigger("part_gone", "DELETE ON main.part", "SELECT id FROM chunk WHERE chunk_key = old.chunk_key"),
    _trigger(
        "part_changed",
        "UPDATE ON main.part WHEN (new.has_vector, new.refusal, new.first, new.past, new.ordinal)"
        " IS NOT (old.has_vector, old.refusal, old.first, old.past, old.ordinal)",
        "SELECT id FROM chunk WHERE chunk_key = new.chunk_key",
    ),
)


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A span with its vector, one signed byte a component; None: pending, or refused for the reason given."""

    span: Span
    vector: bytes | None
    refusal: str | None


@dataclass(frozen=True, slots=True)
class Published:
    """`is_certain` False: this was said at some time, and something else may have been since."""

    record: str
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class OutgoingChunk:
    """A chunk with all that a search needs of it. `title` is the line that is searched, `keys` those of its words."""

    stored: StoredChunk
    title: str
    keys: str
    size: int
    has_link: bool
    parts: tuple[StoredPart, ...]

    @property
    def source_key(self) -> int:
        return self.stored.key >> 32


async def watch(connection: aiosqlite.Connection) -> None:
    """Note from now on what this connection changes, if the index has a copy."""
    rows = list(await connection.execute_fetchall("SELECT value FROM meta WHERE name = ?", (COPIED_TO,)))
    watched = await connection.execute_fetchall("SELECT 1 FROM temp.sqlite_master WHERE name = 'outgoing_new'")
    if not rows or not rows[0][0] or list(watched):
        return
    for trigger in _TRIGGERS:
        await connection.execute(trigger)


async def waiting(connection: aiosqlite.Connection) -> int:
    """Chunks that the copy has yet to hear of."""
    rows = list(await connection.execute_fetchall("SELECT count(*) FROM outgoing"))
    return int(rows[0][0])


async def mark_all(connection: aiosqlite.Connection) -> None:
    """The copy begins anew. Inside a transaction."""
    await connection.execute(_noted("SELECT id FROM chunk"))
    await connection.execute("DELETE FROM published")


async def mark(connection: aiosqlite.Connection, chunks: Iterable[ChunkId]) -> None:
    """Inside a transaction."""
    await connection.execute(_noted("SELECT value AS id FROM json_each(?)"), (dumps(list(chunks)),))


async def gone(connection: aiosqlite.Connection, *, after: int, limit: int) -> list[ChunkId]:
    """The next chunks that the copy has yet to lose, by id; ids are never negative."""
    rows = await connection.execute_fetchall(
        "SELECT chunk FROM outgoing WHERE chunk > ? AND chunk NOT IN (SELECT id FROM chunk) ORDER BY chunk LIMIT ?",
        (after, limit),
    )
    return [ChunkId(row[0]) for row in rows]


async def following(connection: aiosqlite.Connection, *, limit: int) -> list[ChunkId]:
    """The next chunks to tell of, by id."""
    rows = await connection.execute_fetchall("SELECT chunk FROM outgoing ORDER BY chunk LIMIT ?", (limit,))
    return [ChunkId(row[0]) for row in rows]


async def told(connection: aiosqlite.Connection, chunks: Sequence[ChunkId]) -> None:
    """The cluster acknowledged what was said of them. Inside a transaction."""
    await connection.execute(
        "DELETE FROM outgoing WHERE chunk IN (SELECT value FROM json_each(?))", (dumps(list(chunks)),)
    )


async def chunks(connection: File, identities: Sequence[ChunkId]) -> dict[ChunkId, OutgoingChunk]:
    """Those of the chunks that are there."""
    stored = await chunks_by_id(connection, identities)
    keys = dumps([one.key for one in stored.values()])
    these = "(SELECT value FROM json_each(?))"
    texts = {
        int(row[0]): tuple(row[1:])
        for row in await connection.execute_fetchall(
            "SELECT chunk_key, chunk.title, keys, size, has_link FROM chunk JOIN document USING (document_key)"
            f" WHERE chunk_key IN {these}",
            (keys,),
        )
    }
    parts: dict[int, list[StoredPart]] = {}
    for key, first, past, data, refusal in await connection.execute_fetchall(
        "SELECT part.chunk_key, first, past, data, refusal FROM part"
        " LEFT JOIN vector ON vector.chunk_key = part.chunk_key AND vector.part_key = part.part_key"
        f" WHERE part.chunk_key IN {these} ORDER BY part.chunk_key, part.ordinal",
        (keys,),
    ):
        part = StoredPart(Span(first, past), None if data is None else bytes(data), refusal)
        parts.setdefault(int(key), []).append(part)
    found = {}
    for identity, one in stored.items():
        title, key_text, size, has_link = texts[one.key]
        found[identity] = OutgoingChunk(one, title, key_text, size, bool(has_link), tuple(parts.get(one.key, ())))
    return found


async def published(connection: aiosqlite.Connection) -> dict[str, Published]:
    """What was last said of each source and room, as text of the sayer's own."""
    rows = await connection.execute_fetchall("SELECT name, record FROM published")
    return {name: Published(record.removeprefix(_DOUBT), not record.startswith(_DOUBT)) for name, record in rows}


async def doubt(connection: aiosqlite.Connection, records: Mapping[str, str]) -> None:
    """These are about to be said or taken back. What was said of them before is kept. Inside a transaction."""
    await connection.executemany(
        f"INSERT INTO published(name, record) VALUES (?, '{_DOUBT}' || ?)"
        f" ON CONFLICT(name) DO UPDATE SET record = '{_DOUBT}' || ltrim(record, '{_DOUBT}')",
        list(records.items()),
    )


async def publish(connection: aiosqlite.Connection, said: Mapping[str, str], unsaid: Iterable[str]) -> None:
    """The cluster acknowledged new records, and that some are gone. Inside a transaction."""
    await connection.executemany("DELETE FROM published WHERE name = ?", [(name,) for name in unsaid])
    await connection.executemany(
        "INSERT INTO published(name, record) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET record = excluded.record",
        list(said.items()),
    )
