"""The likeliest of very many codes: all are looked at roughly, some closely. What a code is, `signs` says.

The heaviest plane of a question alone gives a rough estimate in a quarter of the time, and says where the others are
looked at. Measured where the ten nearest of a million stand: all are among the first 9,600 roughly, and 99 in a hundred
among the first 500 by all planes, which is no nearer the front with the question in floats.

numpy hands the interpreter to other threads while it works on an array, and may have to wait for its return. So there
are few steps, on many codes each.

Pure: no SQL.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from index.store.signs import Question

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Numbers = NDArray[numpy.int64]
    Words = NDArray[numpy.uint64]
    Rows = slice | Numbers

ROUGHLY: Final = 16
"""For each code that is wanted so many are chosen roughly."""
PIECE: Final = 65_536
"""Codes that are counted at once, by one plane: what is counted takes 3.5 MB at 384 dimensions. Measured, 16,384 and
262,144 cost a tenth and a third more."""
SAMPLED: Final = 128
"""Of so many codes one is in the sample, and `RUN` neighbours stand in it together."""
RUN: Final = 64
MANY: Final = 3
"""From so many codes on, for each that is chosen roughly, a sample is taken: more than `SLACK`."""
SLACK: Final = 2
"""Within the distance that a sample gives so many times as many codes are expected as are chosen."""
LONG: Final = 1_024
"""From so many on, neighbouring codes are counted where they stand; fewer are collected from all places first."""


class Codes:
    """All codes of an index in memory, by chunk: 64 bytes each at 384 dimensions. Once filled they are not changed."""

    def __init__(self, count: int, words: int) -> None:
        """`signs` has a row with the first words of all codes, then one with the second ones, and so on."""
        import numpy

        self.chunks: Numbers = numpy.zeros(count, numpy.int64)
        self.lengths: Floats = numpy.zeros(count, numpy.float32)
        self.factors: Floats = numpy.zeros(count, numpy.float32)
        self.signs: Words = numpy.zeros((words, count), numpy.uint64)

    def fill(self, first: int, chunks: "Numbers", records: "NDArray[numpy.void]") -> None:
        """From `first` on with records of a `Frame`, whose chunks have these keys."""
        there = slice(first, first + len(records))
        self.chunks[there] = chunks
        self.lengths[there] = records["length"]
        self.factors[there] = records["factor"]
        self.signs[:, there] = records["signs"].T

    def copy(self, first: int, others: Self, start: int, past: int) -> None:
        """From `first` on with those that others have from `start` to before `past`."""
        there, here = slice(first, first + past - start), slice(start, past)
        self.chunks[there] = others.chunks[here]
        self.lengths[there] = others.lengths[here]
        self.factors[there] = others.factors[here]
        self.signs[:, there] = others.signs[:, here]

    def spans(self, ranges: Sequence[tuple[int, int]] | None) -> list[tuple[int, int]]:
        """The codes of chunks in these ranges, which are in order: from where to before where."""
        import numpy

        if ranges is None:
            return [(0, len(self.chunks))]
        if not ranges:
            return []
        bounds = numpy.array(ranges, numpy.int64)
        first = numpy.searchsorted(self.chunks, bounds[:, 0], side="left")
        past = numpy.searchsorted(self.chunks, bounds[:, 1], side="right")
        held = first < past
        return list(zip(first[held].tolist(), past[held].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Likely:
    """Chunks by the nearest code of theirs, nearest first, then by key: each as far, squared, as it is estimated to be.

    `deviations` are the standard ones of the estimates.
    """

    chunks: "Numbers"
    estimates: "Floats"
    deviations: "Floats"

    def among(self, keys: Collection[int]) -> Self:
        """Those of them that are among these."""
        import numpy

        here = numpy.isin(self.chunks, numpy.fromiter(keys, numpy.int64, len(keys)))
        return type(self)(self.chunks[here], self.estimates[here], self.deviations[here])


class Estimates:
    """How far codes are from a question, as far as they tell."""

    def __init__(self, codes: Codes, question: Question, spans: Sequence[tuple[int, int]]) -> None:
        import numpy

        self._codes = codes
        self._question = question
        self._spans = spans
        self.count = sum(past - first for first, past in spans)
        # Written again and again: memory that is asked for anew costs more than what is counted in it.
        size = min(PIECE, self.count * len(question.planes)) * len(codes.signs)
        self._differing = numpy.empty(size, numpy.uint64)
        self._counts = numpy.empty(size, numpy.uint8)

    def nearest(self, wanted: int) -> Likely:
        """The chunks that have the nearest `wanted` codes; of equally near ones those with the lowest keys."""
        import numpy

        codes, asked = self._codes, self._question
        rows = self._chosen_roughly(wanted * ROUGHLY)
        at_once = max(1, PIECE // len(asked.planes))
        parts = [rows[first : first + at_once] for first in range(0, len(rows), at_once)]
        estimates = numpy.concatenate(
            [numpy.empty(0, numpy.float32), *(self._estimated(part, asked.planes, asked.step) for part in parts)]
        )
        if wanted < len(rows):
            near = numpy.flatnonzero(estimates <= numpy.partition(estimates, wanted - 1)[wanted - 1])
            rows, estimates = rows.take(near), estimates.take(near)
        chunks = codes.chunks[rows]
        order = numpy.lexsort((chunks, estimates))[:wanted]
        chunks = chunks[order]
        firsts = numpy.unique(chunks, return_index=True)[1]
        if len(firsts) < len(chunks):
            firsts.sort()
            order, chunks = order[firsts], chunks[firsts]
        found = rows[order]
        return Likely(
            chunks,
            estimates[order] + numpy.float32(asked.length),
            asked.deviations(codes.lengths[found], codes.factors[found]),
        )

    def _chosen_roughly(self, wanted: int) -> "Numbers":
        """Places among all codes: of the nearest `wanted`, and a few more where some are equally near.

        A sample says how near they will be, about, so that hardly any others are kept while all are looked at. Where it
        says too little, they are looked at once more.
        """
        import numpy

        if wanted >= self.count:
            return numpy.concatenate([numpy.empty(0, numpy.int64), *map(_places, _pieces(self._spans))])
        rows, estimates = self._within(self._distance(wanted))
        if len(rows) < wanted:
            rows, estimates = self._within(numpy.float32(numpy.inf))
        if len(rows) <= wanted:  # what is damaged is not a number, and nowhere near
            return rows
        near = numpy.flatnonzero(estimates <= numpy.partition(estimates, wanted - 1)[wanted - 1])
        return rows.take(near)

    def _distance(self, wanted: int) -> "numpy.float32":
        """Within which about `SLACK` times as many are, roughly estimated, by a sample from all parts of the spans."""
        import numpy

        if self.count < MANY * wanted:
            return numpy.float32(numpy.inf)
        bounds = numpy.array(self._spans, numpy.int64)
        before = numpy.cumsum(bounds[:, 1] - bounds[:, 0]) - (bounds[:, 1] - bounds[:, 0])
        numbers = (numpy.arange(0, self.count, RUN * SAMPLED)[:, None] + numpy.arange(RUN)).reshape(-1)
        numbers = numbers[numbers < self.count]
        span = numpy.searchsorted(before, numbers, side="right") - 1
        sample = bounds[span, 0] + numbers - before[span]
        parts = [self._rough(sample[first : first + PIECE]) for first in range(0, len(sample), PIECE)]
        place = SLACK * wanted * len(sample) // self.count
        distance: numpy.float32 = numpy.partition(numpy.concatenate(parts), place)[place]
        return distance

    def _within(self, bound: "numpy.float32") -> "tuple[Numbers, Floats]":
        """Places among all codes of those that are no farther, and how far these are, all roughly."""
        import numpy

        found: list[tuple[Numbers, Floats]] = []
        for piece in _pieces(self._spans):
            estimates = self._rough(piece)
            near = numpy.flatnonzero(estimates <= bound)  # as a mask it would take ten times as long
            found.append((near + piece.start if isinstance(piece, slice) else piece.take(near), estimates.take(near)))
        return numpy.concatenate([rows for rows, _ in found]), numpy.concatenate([far for _, far in found])

    def _rough(self, rows: "Rows") -> "Floats":
        return self._estimated(rows, self._question.planes[:1], self._question.mean)

    def _estimated(self, rows: "Rows", planes: "Words", value: float) -> "Floats":
        """By these planes, of which the lightest is worth `value`; less |q - c|^2.

        Rows times planes may not be more than `PIECE`.
        """
        import numpy

        codes, dimension = self._codes, self._question.dimension
        signs = codes.signs[:, rows] if isinstance(rows, slice) else codes.signs.take(rows, axis=1)
        shape = (len(planes), *signs.shape)
        size = signs.size * len(planes)
        differing, counts = self._differing[:size].reshape(shape), self._counts[:size].reshape(shape)
        numpy.bitwise_xor(signs, planes[:, :, None], out=differing)
        numpy.bitwise_count(differing, out=counts)
        # Of a plane, <b, w> is its weight times the dimension, less twice what differs; so of what differs half of the
        # dimension is taken off. A question is clipped, which keeps the sum of all planes below 3.2 times the
        # dimension, 26,000 for the largest that may be configured: 16 bits are enough.
        weighed, *lighter = numpy.add.reduce(counts, axis=1, dtype=numpy.int16, initial=-dimension // 2)
        for plane in lighter:
            weighed += weighed
            weighed += plane
        estimates: Floats = weighed * numpy.float32(4 * value)
        estimates *= codes.factors[rows]
        estimates += codes.lengths[rows]
        return estimates


def _places(piece: "Rows") -> "Numbers":
    import numpy

    return numpy.arange(piece.start, piece.stop) if isinstance(piece, slice) else piece


def _pieces(spans: Iterable[tuple[int, int]]) -> "Iterator[Rows]":
    """All places of the spans: long ones as they are, short ones together."""
    import numpy

    short: list[tuple[int, int]] = []
    for first, past in spans:
        if past - first < LONG:
            short.append((first, past))
        else:
            for at in range(first, past, PIECE):
                yield slice(at, min(at + PIECE, past))
    if short:
        bounds = numpy.array(short, numpy.int64)
        sizes = bounds[:, 1] - bounds[:, 0]
        before = numpy.cumsum(sizes) - sizes
        places = numpy.repeat(bounds[:, 0] - before, sizes) + numpy.arange(sizes.sum())
        for at in range(0, len(places), PIECE):
            yield places[at : at + PIECE]
