"""Vectors of parts, pending ones and stored ones. `codes` goes along with them, `nearest` reads them.

A unit vector is kept as int8 with one scale, which follows from the dimension: components of a unit vector have a
deviation of `1 / sqrt(dimension)`, and four of them are clipped to the ends (measured recall@20 .995 of float32).
"""

from array import array
from collections.abc import Sequence
from json import loads
from math import sqrt
from typing import Final

import aiosqlite
from msgspec import Struct

from index.model import Vector
from index.store.driver import Connection, File
from index.store.lists import as_json
from index.store.rows import insert
from index.store.scope import Range, within

PROBED: Final = "probe"
"""Entry of `meta`: what the embedder said of fixed texts when the vectors were begun."""
DRIFTED: Final = "probe_drifted"
"""Entry of `meta`: not empty while it says something else."""
CLIP_DEVIATIONS: Final = 4.0
DROPPED_AT_ONCE: Final = 5_000
_QUANTISED_AT_ONCE: Final = 256


class PendingPart(Struct, frozen=True):
    """A part without a vector, with what its embedded text is made of."""

    part: int
    chunk: int
    digest: bytes
    title: str
    heading: tuple[str, ...]
    text: str  # of the part alone


def scale(dimension: int) -> float:
    return 127.0 * sqrt(dimension) / CLIP_DEVIATIONS


def quantise(vector: Vector) -> bytes:
    """To int8, one byte a component."""
    floats = array("f")
    floats.frombytes(vector)
    factor = scale(len(floats))
    return array("b", [max(-127, min(127, round(value * factor))) for value in floats]).tobytes()


def quantise_all(vectors: Sequence[Vector]) -> list[bytes]:
    """The same bytes as of `quantise`, for many of one dimension; loads numpy."""
    import numpy

    quantised: list[bytes] = []
    for first in range(0, len(vectors), _QUANTISED_AT_ONCE):
        some = vectors[first : first + _QUANTISED_AT_ONCE]
        floats = numpy.stack([numpy.frombuffer(vector, dtype="<f4") for vector in some]).astype(numpy.float64)
        rounded = numpy.rint(floats * scale(floats.shape[1])).clip(-127, 127).astype(numpy.int8)
        quantised += (row.tobytes() for row in rounded)
    return quantised


def cosine(distance: float, dimension: int) -> float:
    """From the Euclidean distance of two quantised unit vectors."""
    return 1.0 - (distance / scale(dimension)) ** 2 / 2.0


async def pending_count(connection: File) -> int:
    """Parts that wait for a vector."""
    return await connection.run(lambda bare: pending_among(bare, None))


def pending_among(connection: Connection, ranges: Sequence[Range] | None) -> int:
    """The same among the chunks of these ranges."""
    inside, values = within("chunk_key", ranges)
    question = f"SELECT count(*) FROM part WHERE has_vector IS NULL AND refusal IS NULL AND {inside}"
    return int(connection.execute(question, values).fetchone()[0])


async def pending(connection: File, *, after: int, limit: int, max_chars: int | None = None) -> list[PendingPart]:
    """The next parts without a vector whose key is greater than `after`, by key.

    At most `limit`, and none after the one with which text, title and headings of all reach `max_chars`.
    """
    return await connection.run(lambda bare: _pending(bare, after, limit, max_chars))


def _pending(connection: Connection, after: int, limit: int, max_chars: int | None) -> list[PendingPart]:
    rows = connection.execute(
        "SELECT part_key, part.chunk_key, part.digest, iif(document.room IS NULL, document.title, ''), chunk.heading,"
        " substr(chunk.body, first + 1, past - first)"
        " FROM part JOIN chunk USING (chunk_key) JOIN document USING (document_key)"
        " WHERE has_vector IS NULL AND refusal IS NULL AND part_key > ? ORDER BY part_key LIMIT ?",
        (after, limit),
    )
    found: list[PendingPart] = []
    read = 0
    for part, chunk, digest, title, heading, text in rows:
        found.append(PendingPart(part, chunk, bytes(digest), title, tuple(loads(heading)), text))
        read += len(title) + len(heading) + len(text)
        if max_chars is not None and read >= max_chars:
            break
    return found


async def save(connection: File, vectors: Sequence[tuple[PendingPart, Vector]]) -> int:
    """Store vectors of parts that are still there and unchanged; returns how many. Inside a transaction."""
    if not vectors:
        return 0
    return await connection.run(lambda bare: _save(bare, vectors))


def _save(connection: Connection, vectors: Sequence[tuple[PendingPart, Vector]]) -> int:
    waiting = connection.execute(
        "SELECT part_key, chunk_key, digest FROM json_each(?) CROSS JOIN part ON part_key = value"
        " WHERE has_vector IS NULL",
        (as_json([part.part for part, _ in vectors]),),
    )
    wanted = {int(part): (int(chunk), bytes(digest)) for part, chunk, digest in waiting}
    quantised = quantise_all([vector for _, vector in vectors])
    rows: list[tuple[int, int, bytes]] = []
    for (part, _), data in zip(vectors, quantised, strict=True):
        chunk, digest = wanted.pop(part.part, (0, None))
        if digest == part.digest:
            rows.append((chunk, part.part, data))
    insert(connection, "vector(chunk_key, part_key, data)", rows)
    connection.execute(
        "UPDATE part SET has_vector = 1 WHERE part_key IN (SELECT value FROM json_each(?))",
        (as_json([part for _, part, _ in rows]),),
    )
    return len(rows)


async def refuse(connection: aiosqlite.Connection, part: PendingPart, reason: str) -> None:
    """Record that a part can have no vector, so that it is not asked for again. Inside a transaction."""
    await connection.execute(
        "UPDATE part SET refusal = ? WHERE part_key = ? AND digest = ?", (reason, part.part, part.digest)
    )


async def drop_all(connection: aiosqlite.Connection) -> None:
    """Make every part pending: the embedder changed. Inside a transaction."""
    # Not by one statement: until it is over SQLite keeps the pages as they were in memory, 450 MB of a million vectors.
    piece = f"SELECT chunk_key FROM vector ORDER BY chunk_key LIMIT {DROPPED_AT_ONCE}"
    while (await connection.execute(f"DELETE FROM vector WHERE chunk_key IN ({piece})")).rowcount:
        pass
    await connection.execute("DELETE FROM meta WHERE name IN (?, ?)", (PROBED, DRIFTED))
    await connection.execute(
        "UPDATE part SET has_vector = NULL, refusal = NULL WHERE has_vector IS NOT NULL OR refusal IS NOT NULL"
    )
