"""The chunks nearest to a vector: which vectors are looked at, and their distances.

A small index and a small scope are searched exactly. Otherwise the codes of all vectors in the scope (`signs`) say
which are the likeliest, and those are measured. SQLite hands rows over as one blob, for a row each costs four times as
much, and numpy takes the distances: int8 components multiply and add up exactly in its floats, so equal vectors are
equally far.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Final

from index.errors import StoreError
from index.model import Vector
from index.store.driver import Connection
from index.store.estimates import Estimates, Likely
from index.store.held import Coded, HeldCodes
from index.store.lists import as_json
from index.store.postings import passing
from index.store.scope import MOST_KEYS, Range, Scope
from index.store.signs import BLOCK_BITS
from index.store.vectors import cosine, quantise_all

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

MOST_ROWS: Final = 50_000
"""Vectors that are read with one statement: 20 MB."""
CANDIDATES: Final = 1_000
"""Codes whose vectors are measured at most: of a million, 99.8 % of the ten nearest are among the first."""
FIRST: Final = 250
"""Codes whose vectors are measured in any case, of each hundred chunks wanted but no fewer."""
SURE: Final = 20
"""Places, of each hundred wanted but no fewer, that are to be right: further vectors are measured where the estimate of
their distance, less `DEVIATIONS` of it, is no more than the distance at that place. With 150 and twelve, a
set of documents lost .002 of its hybrid MRR (docs/scale.md)."""
DEVIATIONS: Final = 2.0
EXACT_UP_TO: Final = 2_000
"""Vectors in a scope. Measured: all of so many, in a row, take 1.8 ms of processor time, and by codes 1.3."""
LET_THROUGH: Final = 4
"""Candidates, for each chunk wanted, that a filter on documents has to leave, or further ones are looked at."""
_BLOCK: Final = 512
"""Rows whose distances are taken at once: few enough to stay in the processor's cache."""
_EVERYTHING: Final[Range] = (0, MOST_KEYS - 1)


@dataclass(frozen=True, slots=True)
class Near:
    """A chunk's best part: `cosine` from -1 to 1."""

    chunk_key: int
    cosine: float


def nearest(
    connection: Connection, vector: Vector, scope: Scope, *, limit: int, held: HeldCodes | None = None
) -> list[Near]:
    """Chunks by their best part, nearest first. Raises StoreError where vectors are not as long as the question's.

    `held` keeps the codes from one question to the next; it may be shared by connections and threads.
    """
    [data] = quantise_all([vector])
    coded = (held or HeldCodes()).at(connection)
    reach = scope.reach()
    spans = coded.codes.spans(reach) if coded is not None else []
    if coded is None:
        best = _best_of_all(connection, data, scope, reach, _parts(connection), limit)
    elif sum(past - first for first, past in spans) <= EXACT_UP_TO:
        best = _best_of_all(connection, data, scope, reach, [_EVERYTHING], limit)
    else:
        best = _best_by_codes(connection, data, scope, coded, spans, limit)
    return [Near(key, cosine(sqrt(far), len(data))) for key, far in best]


def _best_of_all(
    connection: Connection,
    data: bytes,
    scope: Scope,
    reach: Sequence[Range] | None,
    parts: Iterable[Range],
    limit: int,
) -> list[tuple[int, float]]:
    """Every vector in the scope is measured, with one statement for each of `parts`, which hold all keys."""
    rounds = []
    for low, high in parts:
        runs = [(low, high)] if reach is None else _clipped(reach, low, high)
        if runs:
            rounds.append(_read(connection, data, _RUNS, as_json(runs)))
    measured = _joined(rounds)
    wanted = limit
    while True:
        found = measured.best(wanted)
        kept = set(passing(connection, [key for key, _ in found], scope))
        if len(kept) >= limit or len(found) < wanted:
            return [(key, far) for key, far in found if key in kept][:limit]
        wanted *= 4


def _best_by_codes(
    connection: Connection, data: bytes, scope: Scope, coded: Coded, spans: Sequence[tuple[int, int]], limit: int
) -> list[tuple[int, float]]:
    """The likeliest are measured. Those that a filter on documents takes away are made up for by others."""
    if len(data) != coded.frame.dimension:
        raise _of_another_length(len(data))
    estimates = Estimates(coded.codes, coded.frame.question(data), spans)
    enough = limit * (LET_THROUGH if scope.predicate else 1)
    wanted = max(CANDIDATES, LET_THROUGH * limit)
    asked: set[int] = set()
    kept: set[int] = set()
    while True:
        likely = estimates.nearest(wanted)
        if scope.predicate:
            fresh = sorted(set(likely.chunks.tolist()) - asked)  # in the order of their rows, which is twice as quick
            asked.update(fresh)
            kept.update(passing(connection, fresh, scope))
        if (len(kept) if scope.predicate else len(likely.chunks)) >= enough or wanted >= estimates.count:
            break
        wanted *= 4
    if scope.predicate:
        likely = likely.among(kept)
    return _best_of_likely(connection, data, likely, limit)


def _best_of_likely(connection: Connection, data: bytes, likely: Likely, limit: int) -> list[tuple[int, float]]:
    """The likeliest are measured, then those of the others that may be among the first places all the same."""
    first = max(FIRST, limit * FIRST // 100)
    rounds = [_looked_up(connection, data, likely.chunks[:first])]
    places = max(SURE, limit * SURE // 100)
    found = rounds[0].best(places)
    others, least = likely.chunks[first:], likely.estimates[first:] - DEVIATIONS * likely.deviations[first:]
    if len(found) == places:
        others = others[least <= found[-1][1]]
    if len(others):
        rounds.append(_looked_up(connection, data, others))
    return _joined(rounds).best(limit)


def _looked_up(connection: Connection, data: bytes, chunks: "NDArray[numpy.int64]") -> "_Measured":
    import numpy

    keys = numpy.sort(chunks).tolist()  # a few hundred, but all where all vectors are equal
    some = [keys[first : first + MOST_ROWS] for first in range(0, len(keys), MOST_ROWS)]
    return _joined([_read(connection, data, _LISTED, as_json(part)) for part in some])


def _parts(connection: Connection) -> Iterator[Range]:
    """All keys, in ranges that hold `MOST_ROWS` vectors or a few more: after an update all may be a million."""
    low = count = 0
    for block, vectors in connection.execute("SELECT block, vectors FROM code ORDER BY block").fetchall():
        count += vectors
        if count >= MOST_ROWS:
            high = ((block + 1) << BLOCK_BITS) - 1
            yield low, high
            low, count = high + 1, 0
    yield low, _EVERYTHING[1]


def _clipped(ranges: Sequence[Range], low: int, high: int) -> list[Range]:
    return [(max(first, low), min(last, high)) for first, last in ranges if first <= high and last >= low]


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


def _joined(rounds: Sequence[_Measured]) -> _Measured:
    import numpy

    if not rounds:
        return _Measured(numpy.empty(0, numpy.int64), numpy.empty(0, numpy.float32))
    return _Measured(
        numpy.concatenate([one.keys for one in rounds]), numpy.concatenate([one.distances for one in rounds])
    )


_RUNS: Final = "json_each(?) AS run CROSS JOIN vector ON chunk_key BETWEEN run.value ->> 0 AND run.value ->> 1"
_LISTED: Final = "json_each(?) AS wanted CROSS JOIN vector ON chunk_key = wanted.value"


def _read(connection: Connection, data: bytes, among: str, listed: str) -> _Measured:
    """The vectors of the chunks that are listed, measured."""
    import numpy

    [(names, vectors)] = connection.execute(
        f"SELECT group_concat(chunk_key), CAST(group_concat(data, '') AS BLOB) FROM {among}", (listed,)
    ).fetchall()
    question = numpy.frombuffer(data, numpy.int8).astype(numpy.float32)
    keys = numpy.fromstring(names or "", numpy.int64, sep=",")
    if len(vectors or b"") != len(keys) * len(data):
        raise _of_another_length(len(data))
    matrix = numpy.frombuffer(vectors or b"", numpy.int8).reshape(len(keys), len(data))
    distances = numpy.empty(len(keys), numpy.float32)
    buffer = numpy.empty((_BLOCK, len(data)), numpy.float32)
    for first in range(0, len(keys), _BLOCK):
        rows = matrix[first : first + _BLOCK]
        block = numpy.subtract(rows, question, out=buffer[: len(rows)])
        distances[first : first + _BLOCK] = numpy.einsum("ij,ij->i", block, block)
    return _Measured(keys, distances)


def _of_another_length(dimension: int) -> StoreError:
    return StoreError(f"vectors of another length than {dimension} are in the index (run `sources verify`)")
