"""The chunks nearest to a vector: which rows are read, and their distances.

A small index and a narrow scope are searched exactly; a broad one through the cells nearest to the question. SQLite
hands rows over as one blob, for a row each costs four times as much, and numpy takes the distances: int8 components
multiply and add up exactly in its floats, so equal vectors are equally far.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from json import dumps
from math import isqrt, sqrt
from typing import TYPE_CHECKING, Final

from index.errors import StoreError
from index.model import Vector
from index.store.driver import Connection
from index.store.postings import passing
from index.store.scope import Range, Scope
from index.store.vectors import REGION_BITS, cosine, quantise

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

LEAST_PROBED: Final = 24
"""Cells; otherwise twice the root of their number."""
MANY_CELLS: Final = 2_000
"""Beyond so many, those of the nearest quarter of the regions alone are looked at."""
LEAST_ROWS: Final = 2_000
"""In the scope; while the cells that were read have fewer, further ones are."""
MOST_ROUNDS: Final = 4
_BLOCK: Final = 512
"""Rows whose distances are taken at once: few enough to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Near:
    """A chunk's best part: `cosine` from -1 to 1."""

    chunk_key: int
    cosine: float


def nearest(connection: Connection, vector: Vector, scope: Scope, *, limit: int) -> list[Near]:
    """Chunks by their best part, nearest first. Raises StoreError where vectors are not as long as the question's."""
    data = quantise(vector)
    cells, regions = _counts(connection)
    if not cells:
        measured = _of_scope(connection, data, None, scope.reach())
    elif scope.is_narrow and (reach := scope.reach()) is not None:
        measured = _of_scope(connection, data, reach, None)
    else:
        measured = _of_cells(connection, data, scope.ranges, cells, regions if cells > MANY_CELLS else 0)
    wanted = limit
    while True:
        found = measured.best(wanted)
        kept = set(passing(connection, [key for key, _ in found], scope))
        if len(kept) >= limit or len(found) < wanted:
            break
        wanted *= 4
    best = [(key, far) for key, far in found if key in kept][:limit]
    return [Near(key, cosine(sqrt(far), len(data))) for key, far in best]


class _Measured:
    """The keys of chunks and how far from the question, squared, a vector of theirs is."""

    def __init__(self, keys: "NDArray[numpy.int64]", distances: "NDArray[numpy.float32]") -> None:
        self.keys = keys
        self.distances = distances

    def best(self, wanted: int) -> list[tuple[int, float]]:
        """The nearest `wanted` chunks by their best vector; equally near ones by key."""
        import numpy

        looked_at = 4 * wanted
        while True:
            keys, distances = self.keys, self.distances
            if looked_at < len(keys):
                bound = numpy.partition(distances, looked_at - 1)[looked_at - 1]
                near = distances <= bound
                keys, distances = keys[near], distances[near]
            order = numpy.lexsort((keys, distances))
            ranked = keys[order]
            first = numpy.sort(numpy.unique(ranked, return_index=True)[1])[:wanted]
            if len(first) == wanted or looked_at >= len(self.keys):
                return list(zip(ranked[first].tolist(), distances[order][first].tolist(), strict=True))
            looked_at *= 4


def _counts(connection: Connection) -> tuple[int, int]:
    """Cells and regions. The cells of a region are numbered on, and counting them one by one reads all centroids."""
    rows = list(
        connection.execute(
            "SELECT count(*), coalesce(sum((SELECT max(cell) FROM cell"
            f" WHERE cell BETWEEN region << {REGION_BITS} AND (region + 1 << {REGION_BITS}) - 1) - (region"
            f" << {REGION_BITS})), (SELECT count(*) FROM cell)) FROM region"
        )
    )
    return int(rows[0][1]), int(rows[0][0])


def _of_scope(
    connection: Connection, data: bytes, runs: Sequence[Range] | None, ranges: Sequence[Range] | None
) -> _Measured:
    """By runs of chunks, where the vectors stand in that order, or by all there are, of which those in ranges count."""
    if runs is None:
        return _read(connection, data, "chunk_key", "data", "vector", (), ranges)
    among = "json_each(?) AS run CROSS JOIN chunk_vector ON chunk_key BETWEEN run.value ->> 0 AND run.value ->> 1"
    return _read(connection, data, "chunk_key", "data", among, (dumps(runs),), None)


def _of_cells(
    connection: Connection, data: bytes, ranges: Sequence[Range] | None, cells: int, regions: int
) -> _Measured:
    """By the cells nearest to the question, and further ones while few of their rows are inside the ranges."""
    among: str = "cell"
    values: tuple[str, ...] = ()
    if regions:
        centroids = _read(connection, data, "region", "centroid", "region", (), None)
        near = [region for region, _ in centroids.best(max(8, regions // 4))]
        among = (
            "json_each(?) AS region CROSS JOIN cell ON cell BETWEEN region.value"
            f" << {REGION_BITS} AND (region.value + 1 << {REGION_BITS}) - 1"
        )
        values = (dumps(near),)
    centroids = _read(connection, data, "cell", "centroid", among, values, None)
    probed = max(LEAST_PROBED, 2 * isqrt(cells))
    order = [cell for cell, _ in centroids.best(MOST_ROUNDS * probed)]
    rounds: list[_Measured] = []
    for first in range(0, len(order), probed):
        chosen = dumps(sorted(order[first : first + probed]))
        among = "json_each(?) AS chosen CROSS JOIN vector ON vector.cell = chosen.value"
        rounds.append(_read(connection, data, "chunk_key", "data", among, (chosen,), ranges))
        if sum(len(one.keys) for one in rounds) >= LEAST_ROWS:
            break
    return _joined(rounds)


def _joined(rounds: Sequence[_Measured]) -> _Measured:
    import numpy

    return _Measured(
        numpy.concatenate([one.keys for one in rounds]), numpy.concatenate([one.distances for one in rounds])
    )


def _read(
    connection: Connection,
    data: bytes,
    key: str,
    column: str,
    among: str,
    values: Sequence[object],
    ranges: Sequence[Range] | None,
) -> _Measured:
    """The vectors of these rows, measured. What is outside of the ranges is left out."""
    rows = list(
        connection.execute(f"SELECT group_concat({key}), CAST(group_concat({column}, '') AS BLOB) FROM {among}", values)
    )
    return _measured(data, rows[0][0] or "", rows[0][1] or b"", ranges)


def _measured(data: bytes, listed: str, vectors: bytes, ranges: Sequence[Range] | None) -> _Measured:
    import numpy

    question = numpy.frombuffer(data, numpy.int8).astype(numpy.float32)
    keys = numpy.fromstring(listed, numpy.int64, sep=",")
    if len(vectors) != len(keys) * len(data):
        raise StoreError(f"vectors of another length than {len(data)} are in the index (run `sources verify`)")
    matrix = numpy.frombuffer(vectors, numpy.int8).reshape(len(keys), len(data))
    distances = numpy.empty(len(keys), numpy.float32)
    buffer = numpy.empty((_BLOCK, len(data)), numpy.float32)
    for first in range(0, len(keys), _BLOCK):
        rows = matrix[first : first + _BLOCK]
        block = numpy.subtract(rows, question, out=buffer[: len(rows)])
        distances[first : first + _BLOCK] = numpy.einsum("ij,ij->i", block, block)
    if ranges is not None:
        bounds = numpy.array(ranges, dtype=numpy.int64).reshape(-1, 2)
        place = numpy.searchsorted(bounds[:, 0], keys, side="right") - 1
        inside = (place >= 0) & (keys <= bounds[place, 1]) if len(bounds) else numpy.zeros(len(keys), dtype=bool)
        keys, distances = keys[inside], distances[inside]
    return _Measured(keys, distances)
