"""Vectors of parts: pending ones, stored ones, and the nearest to a question.

A unit vector is kept as int8 with one scale, which follows from the dimension: components of a unit vector have a
deviation of `1 / sqrt(dimension)`, and four of them are clipped to the ends (measured recall@20 .995 of float32).

The table is clustered by cell. A small index has the one cell 0 and every search is exact. From `CELLS_FROM` vectors
on, the writer divides them into cells of near vectors (k-means) and a search reads the nearest cells alone.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from json import loads
from math import isqrt, sqrt
from typing import Final

import aiosqlite

from index.model import Vector
from index.store.scope import Range, Scope, within

PROBED: Final = "probe"
"""Entry of `meta`: what the embedder said of fixed texts when the vectors were begun."""
DRIFTED: Final = "probe_drifted"
"""Entry of `meta`: not empty while it says something else."""
CLIP_DEVIATIONS: Final = 4.0
CELLS_FROM: Final = 20_000
VECTORS_PER_CELL: Final = 400
PROBED_SHARE: Final = 0.05
LEAST_PROBED: Final = 24


@dataclass(frozen=True, slots=True)
class PendingPart:
    """A part without a vector, with what its embedded text is made of."""

    part: int
    chunk: int
    digest: bytes
    title: str
    heading: tuple[str, ...]
    text: str  # of the part alone


@dataclass(frozen=True, slots=True)
class Near:
    """A chunk's best part: `cosine` from -1 to 1."""

    chunk_key: int
    cosine: float


def scale(dimension: int) -> float:
    return 127.0 * sqrt(dimension) / CLIP_DEVIATIONS


def quantise(vector: Vector) -> bytes:
    """To int8, one byte a component."""
    floats = array("f")
    floats.frombytes(vector)
    factor = scale(len(floats))
    return array("b", [max(-127, min(127, round(value * factor))) for value in floats]).tobytes()


def cosine(distance: float, dimension: int) -> float:
    """From the Euclidean distance of two quantised unit vectors."""
    return 1.0 - (distance / scale(dimension)) ** 2 / 2.0


async def pending_count(connection: aiosqlite.Connection, ranges: Sequence[Range] | None = None) -> int:
    """Parts that wait for a vector, among the chunks of these ranges or all."""
    inside, values = within("chunk_key", ranges)
    rows = await connection.execute_fetchall(
        f"SELECT count(*) FROM part WHERE cell IS NULL AND refusal IS NULL AND {inside}", values
    )
    return int(next(iter(rows))[0])


async def pending(connection: aiosqlite.Connection, *, after: int, limit: int) -> list[PendingPart]:
    """The next parts without a vector whose key is greater than `after`, by key."""
    rows = await connection.execute_fetchall(
        "SELECT part_key, part.chunk_key, part.digest, iif(document.room IS NULL, document.title, ''), chunk.heading,"
        " substr(chunk.body, first + 1, past - first)"
        " FROM part JOIN chunk USING (chunk_key) JOIN document USING (document_key)"
        " WHERE cell IS NULL AND refusal IS NULL AND part_key > ? ORDER BY part_key LIMIT ?",
        (after, limit),
    )
    return [PendingPart(row[0], row[1], bytes(row[2]), row[3], tuple(loads(row[4])), row[5]) for row in rows]


async def save(connection: aiosqlite.Connection, vectors: Sequence[tuple[PendingPart, Vector]], cells: "Cells") -> int:
    """Store vectors of parts that are still there and unchanged; returns how many. Inside a transaction."""
    saved = 0
    for part, vector in vectors:
        data = quantise(vector)
        cell = cells.of(data)
        changed = await connection.execute(
            "UPDATE part SET cell = ? WHERE part_key = ? AND digest = ? AND cell IS NULL",
            (cell, part.part, part.digest),
        )
        if changed.rowcount == 1:
            await connection.execute(
                "INSERT INTO vector(cell, part_key, chunk_key, data) VALUES (?, ?, ?, ?)",
                (cell, part.part, part.chunk, data),
            )
            saved += 1
    return saved


async def refuse(connection: aiosqlite.Connection, part: PendingPart, reason: str) -> None:
    """Record that a part can have no vector, so that it is not asked for again. Inside a transaction."""
    await connection.execute(
        "UPDATE part SET refusal = ? WHERE part_key = ? AND digest = ?", (reason, part.part, part.digest)
    )


async def drop_all(connection: aiosqlite.Connection) -> None:
    """Make every part pending: the embedder changed. Inside a transaction."""
    await connection.execute("DELETE FROM vector")
    await connection.execute("DELETE FROM cell")
    await connection.execute("DELETE FROM meta WHERE name IN (?, ?)", (PROBED, DRIFTED))
    await connection.execute(
        "UPDATE part SET cell = NULL, refusal = NULL WHERE cell IS NOT NULL OR refusal IS NOT NULL"
    )


class Cells:
    """The centroids, for the writer. `of` needs numpy only when there are cells."""

    def __init__(self, centroids: Sequence[tuple[int, bytes]]) -> None:
        self._numbers = [number for number, _ in centroids]
        self._matrix = None
        if centroids:
            import numpy

            self._matrix = numpy.stack([numpy.frombuffer(data, dtype=numpy.int8) for _, data in centroids]).astype(
                numpy.float32
            )
            self._half_norms = (self._matrix**2).sum(axis=1) / 2

    def of(self, data: bytes) -> int:
        if self._matrix is None:
            return 0
        import numpy

        vector = numpy.frombuffer(data, dtype=numpy.int8).astype(numpy.float32)
        return self._numbers[int((self._matrix @ vector - self._half_norms).argmax())]


async def cells(connection: aiosqlite.Connection) -> Cells:
    rows = await connection.execute_fetchall("SELECT cell, centroid FROM cell ORDER BY cell")
    return Cells([(int(row[0]), bytes(row[1])) for row in rows])


async def counts(connection: aiosqlite.Connection) -> tuple[int, int]:
    """Vectors and cells."""
    rows = list(await connection.execute_fetchall("SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM cell)"))
    return int(rows[0][0]), int(rows[0][1])


async def divide(connection: aiosqlite.Connection) -> bool:
    """Divide the vectors into cells anew if their number asks for it. Inside a transaction.

    Done when `CELLS_FROM` is passed, in either direction, and when the number has changed fourfold since.
    """
    vectors, present = await counts(connection)
    wanted = vectors // VECTORS_PER_CELL if vectors >= CELLS_FROM else 0
    if wanted == present or (wanted and present and wanted < present * 4 and present < wanted * 4):
        return False
    if wanted == 0:
        await connection.execute("DELETE FROM cell")
        await _move_all(connection, Cells([]))
        return True
    sample_size = min(vectors, wanted * 64)
    rows = await connection.execute_fetchall(
        "SELECT data FROM vector WHERE part_key % ? = 0 LIMIT ?", (max(1, vectors // sample_size), sample_size)
    )
    centroids = _means([bytes(row[0]) for row in rows], wanted)
    await connection.execute("DELETE FROM cell")
    await connection.executemany("INSERT INTO cell(cell, centroid) VALUES (?, ?)", list(enumerate(centroids, start=1)))
    await _move_all(connection, Cells(list(enumerate(centroids, start=1))))
    return True


def _means(sample: list[bytes], wanted: int, rounds: int = 8) -> list[bytes]:
    """Lloyd's k-means over int8 vectors; an empty cell takes a vector of the largest one."""
    import numpy

    points = numpy.stack([numpy.frombuffer(data, dtype=numpy.int8) for data in sample]).astype(numpy.float32)
    wanted = min(wanted, len(points))
    random = numpy.random.default_rng(1)
    centroids = points[random.choice(len(points), size=wanted, replace=False)]
    for _ in range(rounds):
        half_norms = (centroids**2).sum(axis=1) / 2
        nearest = numpy.concatenate(
            [
                (block @ centroids.T - half_norms).argmax(axis=1)
                for block in numpy.array_split(points, max(1, len(points) // 4096))
            ]
        )
        sizes = numpy.bincount(nearest, minlength=wanted)
        sums = numpy.zeros_like(centroids)
        numpy.add.at(sums, nearest, points)
        filled = sizes > 0
        centroids[filled] = sums[filled] / sizes[filled, None]
        for empty in numpy.flatnonzero(~filled):
            members = numpy.flatnonzero(nearest == sizes.argmax())
            centroids[empty] = points[random.choice(members)]
    rounded = numpy.clip(numpy.rint(centroids), -127, 127).astype(numpy.int8)
    return [row.tobytes() for row in rounded]


async def _move_all(connection: aiosqlite.Connection, cells: Cells, batch: int = 5_000) -> None:
    await connection.execute("CREATE TEMP TABLE moved(cell INTEGER, part_key INTEGER, chunk_key INTEGER, data BLOB)")
    after = (-1, -1)
    while rows := list(
        await connection.execute_fetchall(
            "SELECT cell, part_key, chunk_key, data FROM vector WHERE (cell, part_key) > (?, ?)"
            " ORDER BY cell, part_key LIMIT ?",
            (*after, batch),
        )
    ):
        after = (rows[-1][0], rows[-1][1])
        await connection.executemany(
            "INSERT INTO moved VALUES (?, ?, ?, ?)", [(cells.of(bytes(row[3])), row[1], row[2], row[3]) for row in rows]
        )
    await connection.execute("DELETE FROM vector")
    await connection.execute("INSERT INTO vector SELECT * FROM moved ORDER BY cell, part_key")
    await connection.execute("DROP TABLE temp.moved")
    await connection.execute(
        "UPDATE part SET cell = vector.cell FROM vector"
        " WHERE vector.part_key = part.part_key AND part.cell IS NOT vector.cell"
    )


async def nearest(connection: aiosqlite.Connection, vector: Vector, scope: Scope, *, limit: int) -> list[Near]:
    """Chunks by their best part, nearest first.

    A narrow scope is searched exactly through the parts of its chunks; a broad one through the cells near the question.
    Reads more parts than chunks are wanted, since several parts of one chunk may be near.
    """
    data = quantise(vector)
    condition, values = scope.condition("part.chunk_key" if scope.is_narrow else "vector.chunk_key")
    distance = "vec_distance_l2(vec_int8(vector.data), vec_int8(?)) AS distance"
    if scope.is_narrow:
        statement = (
            f"SELECT part.chunk_key, {distance} FROM part"
            " CROSS JOIN vector ON vector.cell = part.cell AND vector.part_key = part.part_key"
            f" WHERE {condition} ORDER BY distance, part.chunk_key LIMIT ?"
        )
        arguments: list[object] = [data, *values, limit * 4]
    else:
        rows = list(await connection.execute_fetchall("SELECT count(*) FROM cell"))
        number = int(rows[0][0])
        near = ""
        arguments = [data, *values]
        if number:
            near = (
                " AND cell IN (SELECT cell FROM cell ORDER BY vec_distance_l2(vec_int8(centroid), vec_int8(?)) LIMIT ?)"
            )
            arguments += [data, max(LEAST_PROBED, int(number * PROBED_SHARE), isqrt(number))]
        statement = (
            f"SELECT vector.chunk_key, {distance} FROM vector WHERE {condition}{near}"
            " ORDER BY distance, vector.chunk_key LIMIT ?"
        )
        arguments.append(limit * 4)
    best: dict[int, float] = {}
    for key, far in await connection.execute_fetchall(statement, arguments):
        best.setdefault(int(key), float(far))
    return [Near(key, cosine(far, len(data))) for key, far in list(best.items())[:limit]]
