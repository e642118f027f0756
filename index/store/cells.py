"""The cells that vectors are divided into, so that a search of many reads the nearest cells alone.

The table of vectors is clustered by cell. A small index has the one cell 0 and every search is exact. From `CELLS_FROM`
vectors on, the writer divides them into regions and those into cells of near vectors (k-means twice). A cell's number
begins with that of its region. While there are cells, `chunk_vector` holds the vectors once more by chunk, for searches
in a narrow scope; triggers keep it in step.
"""

from collections.abc import Sequence
from math import isqrt
from typing import TYPE_CHECKING, Final, Self

import aiosqlite

if TYPE_CHECKING:
    import numpy

CELLS_FROM: Final = 50_000
"""Vectors; fewer are searched one and all."""
VECTORS_PER_CELL: Final = 100
SAMPLED_PER_CELL: Final = 32
LEAST_MEMBERS: Final = 4
"""Of the sample, in a cell: the mean of fewer would tell of one of them, and outlive it."""
REGION_BITS: Final = 16


class Cells:
    """The centroids, for the writer: numbers with int8 vectors. Needs numpy only when there are cells."""

    def __init__(self, regions: Sequence[tuple[int, bytes]], cells: Sequence[tuple[int, bytes]]) -> None:
        """Without regions all cells are in one."""
        self._regions: _Centroids | None = None
        self._cells: dict[int, _Centroids] = {}
        if not cells:
            return
        if len(regions) < 2:
            self._cells[0] = _Centroids(cells)
            return
        by_region: dict[int, list[tuple[int, bytes]]] = {}
        for number, centroid in cells:
            by_region.setdefault(number >> REGION_BITS, []).append((number, centroid))
        self._cells = {region: _Centroids(members) for region, members in by_region.items()}
        self._regions = _Centroids([(number, centroid) for number, centroid in regions if number in by_region])

    @classmethod
    async def read(cls, connection: aiosqlite.Connection) -> Self:
        """Those of the index; none while it has none."""
        regions = await connection.execute_fetchall("SELECT region, centroid FROM region ORDER BY region")
        cells = await connection.execute_fetchall("SELECT cell, centroid FROM cell ORDER BY cell")
        return cls([(int(row[0]), bytes(row[1])) for row in regions], [(int(row[0]), bytes(row[1])) for row in cells])

    def of(self, data: Sequence[bytes]) -> list[int]:
        """The cell of each vector: the nearest in the nearest region."""
        if not self._cells:
            return [0] * len(data)
        import numpy

        points = numpy.stack([numpy.frombuffer(one, dtype=numpy.int8) for one in data]).astype(numpy.float32)
        if self._regions is None:
            return [int(number) for number in self._cells[0].nearest(points)]
        regions = self._regions.nearest(points)
        found = numpy.zeros(len(points), dtype=numpy.int64)
        for region in numpy.unique(regions):
            inside = regions == region
            found[inside] = self._cells[int(region)].nearest(points[inside])
        return [int(number) for number in found]


class _Centroids:
    def __init__(self, centroids: Sequence[tuple[int, bytes]]) -> None:
        import numpy

        self._numbers = numpy.array([number for number, _ in centroids], dtype=numpy.int64)
        stacked = numpy.stack([numpy.frombuffer(data, dtype=numpy.int8) for _, data in centroids])
        self._matrix = stacked.astype(numpy.float32)
        self._half_norms = (self._matrix**2).sum(axis=1) / 2

    def nearest(self, points: "numpy.ndarray") -> "numpy.ndarray":
        """The number of the nearest centroid to each point."""
        found: numpy.ndarray = self._numbers[(points @ self._matrix.T - self._half_norms).argmax(axis=1)]
        return found


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
    regions: list[tuple[int, bytes]] = []
    cells: list[tuple[int, bytes]] = []
    if wanted:
        sampled = min(vectors, wanted * SAMPLED_PER_CELL)
        rows = await connection.execute_fetchall(
            "SELECT data FROM vector WHERE part_key % ? = 0 LIMIT ?", (max(1, vectors // sampled), sampled)
        )
        regions, cells = _divided([bytes(row[0]) for row in rows], wanted)
    await connection.execute("DELETE FROM region")
    await connection.execute("DELETE FROM cell")
    await connection.executemany("INSERT INTO region(region, centroid) VALUES (?, ?)", regions)
    await connection.executemany("INSERT INTO cell(cell, centroid) VALUES (?, ?)", cells)
    if not wanted:
        await connection.execute("DELETE FROM chunk_vector")
    elif not present:
        await connection.execute(
            "INSERT INTO chunk_vector(chunk_key, part_key, data) SELECT chunk_key, part_key, data FROM vector"
        )
    await _move_all(connection, Cells(regions, cells))
    return True


def _divided(sample: list[bytes], wanted: int) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]:
    """Regions, as many as the root of the cells, and about `wanted` cells in them, with their centroids."""
    import numpy

    points = numpy.stack([numpy.frombuffer(data, dtype=numpy.int8) for data in sample])
    number = isqrt(wanted)
    step = max(1, len(points) // (number * 256))
    regions = [
        (at, centroid) for at, centroid in enumerate(_means(points[::step].astype(numpy.float32), number), start=1)
    ]
    nearest = numpy.concatenate(
        [_Centroids(regions).nearest(block.astype(numpy.float32)) for block in numpy.array_split(points, number)]
    )
    cells: list[tuple[int, bytes]] = []
    for region, _ in regions:
        members = points[nearest == region].astype(numpy.float32)
        share = max(1, round(len(members) * wanted / len(points)))
        found = _means(members, share) if len(members) >= LEAST_MEMBERS else []
        cells += [((region << REGION_BITS) + at, centroid) for at, centroid in enumerate(found, start=1)]
    return regions, cells


def _means(points: "numpy.ndarray", wanted: int, rounds: int = 8) -> list[bytes]:
    """Lloyd's k-means; centroids as int8. Those of fewer than `LEAST_MEMBERS` are left out, unless all are."""
    import numpy

    wanted = min(wanted, len(points))
    random = numpy.random.default_rng(1)
    centroids = points[random.choice(len(points), size=wanted, replace=False)]
    sizes = numpy.zeros(wanted, dtype=numpy.int64)
    for _ in range(rounds):
        half_norms = (centroids**2).sum(axis=1) / 2
        nearest = numpy.concatenate(
            [
                (block @ centroids.T - half_norms).argmax(axis=1)
                for block in numpy.array_split(points, max(1, len(points) // 4096))
            ]
        )
        sizes = numpy.bincount(nearest, minlength=wanted).astype(numpy.int64)
        order = numpy.argsort(nearest, kind="stable")
        filled = numpy.flatnonzero(sizes)
        starts = (numpy.cumsum(sizes[filled]) - sizes[filled]).astype(numpy.intp)
        centroids[filled] = numpy.add.reduceat(points[order], starts) / sizes[filled, None]
    kept = centroids[sizes >= LEAST_MEMBERS]
    if not len(kept):
        kept = points.mean(axis=0, keepdims=True)
    rounded = numpy.clip(numpy.rint(kept), -127, 127).astype(numpy.int8)
    return [row.tobytes() for row in rounded]


async def _move_all(connection: aiosqlite.Connection, cells: Cells, batch: int = 5_000) -> None:
    """Write the table anew in the order of the cells; in memory are keys alone."""
    await connection.execute(
        "CREATE TEMP TABLE moved(cell INTEGER, part_key INTEGER, old INTEGER, PRIMARY KEY(cell, part_key))"
        " WITHOUT ROWID"
    )
    after = (-1, -1)
    while rows := list(
        await connection.execute_fetchall(
            "SELECT cell, part_key, data FROM vector WHERE (cell, part_key) > (?, ?) ORDER BY cell, part_key LIMIT ?",
            (*after, batch),
        )
    ):
        after = (rows[-1][0], rows[-1][1])
        chosen = cells.of([bytes(row[2]) for row in rows])
        await connection.executemany(
            "INSERT INTO moved VALUES (?, ?, ?)",
            [(cell, row[1], row[0]) for cell, row in zip(chosen, rows, strict=True)],
        )
    await connection.execute(
        "CREATE TABLE vector_anew(cell INTEGER NOT NULL, part_key INTEGER NOT NULL, chunk_key INTEGER NOT NULL,"
        " data BLOB NOT NULL, PRIMARY KEY(cell, part_key)) WITHOUT ROWID"
    )
    await connection.execute(
        "INSERT INTO vector_anew SELECT moved.cell, v.part_key, v.chunk_key, v.data FROM moved"
        " CROSS JOIN vector AS v ON v.cell = moved.old AND v.part_key = moved.part_key"
        " ORDER BY moved.cell, moved.part_key"
    )
    triggers = await connection.execute_fetchall(
        "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'vector' ORDER BY name"
    )
    await connection.execute("DROP TABLE vector")
    await connection.execute("ALTER TABLE vector_anew RENAME TO vector")
    await connection.execute("DROP TABLE temp.moved")
    await connection.execute(
        "UPDATE part SET cell = vector.cell FROM vector"
        " WHERE vector.part_key = part.part_key AND part.cell IS NOT vector.cell"
    )
    for (statement,) in triggers:
        await connection.execute(statement)
