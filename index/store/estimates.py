"""The likeliest of very many codes: all are looked at roughly, some closely. What a code is, `signs` says.

The heaviest plane of a question alone gives a rough estimate in a quarter of the time, and says where the others are
looked at. Measured where the ten nearest of a million stand: all are among the first 9,600 roughly, and 99 in a hundred
among the first 500 by all planes, which is no nearer the front with the question in floats.

Pure: no SQL.
"""

from collections.abc import Iterable, Iterator, Sequence
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
PIECE: Final = 16_384
"""Codes that are counted at once: few enough for a plane of them to stay in the processor's cache."""
LONG: Final = 1_024
"""From so many on, neighbouring codes are counted where they stand; fewer are collected from all places first."""


class Codes:
    """All codes of an index in memory, by chunk: 64 bytes each at 384 dimensions. Once filled they are not changed."""

    def __init__(self, count: int, words: int) -> None:
        """`planes` has the first words of all codes, then the second ones, and so on."""
        import numpy

        self.chunks: Numbers = numpy.zeros(count, numpy.int64)
        self.lengths: Floats = numpy.zeros(count, numpy.float32)
        self.factors: Floats = numpy.zeros(count, numpy.float32)
        self.planes: list[Words] = [numpy.zeros(count, numpy.uint64) for _ in range(words)]

    def fill(self, first: int, chunks: "Numbers", records: "NDArray[numpy.void]") -> None:
        """From `first` on with records of a `Frame`, whose chunks have these keys."""
        there = slice(first, first + len(records))
        self.chunks[there] = chunks
        self.lengths[there] = records["length"]
        self.factors[there] = records["factor"]
        for number, plane in enumerate(self.planes):
            plane[there] = records["signs"][:, number]

    def copy(self, first: int, others: Self, start: int, past: int) -> None:
        """From `first` on with those that others have from `start` to before `past`."""
        there, here = slice(first, first + past - start), slice(start, past)
        self.chunks[there] = others.chunks[here]
        self.lengths[there] = others.lengths[here]
        self.factors[there] = others.factors[here]
        for plane, other in zip(self.planes, others.planes, strict=True):
            plane[there] = other[here]

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


class Estimates:
    """How far codes are from a question, as far as they tell: squared, less what is the same for all of them."""

    def __init__(self, codes: Codes, question: Question, spans: Sequence[tuple[int, int]]) -> None:
        import numpy

        self._codes = codes
        self._question = question
        self._pieces = list(_pieces(spans))
        self.count = sum(past - first for first, past in spans)
        self._rough = numpy.empty(self.count, numpy.float32)
        at = 0
        for rows in self._pieces:
            some = self._estimated(rows, question.planes[:1], question.mean)
            self._rough[at : at + len(some)] = some
            at += len(some)

    def nearest(self, wanted: int) -> "Numbers":
        """Keys of the chunks that have the nearest `wanted` codes, in order; a few more where some are equally near."""
        import numpy

        rows = self._chosen_roughly(wanted * ROUGHLY)
        if wanted < len(rows):
            asked = self._question
            parts = [rows[first : first + PIECE] for first in range(0, len(rows), PIECE)]
            estimates = numpy.concatenate([self._estimated(part, asked.planes, asked.step) for part in parts])
            rows = rows[estimates <= numpy.partition(estimates, wanted - 1)[wanted - 1]]
        return numpy.unique(self._codes.chunks[rows])

    def _chosen_roughly(self, wanted: int) -> "Numbers":
        """Places among all codes."""
        import numpy

        chosen = numpy.arange(self.count)
        if wanted < self.count:
            chosen = numpy.flatnonzero(self._rough <= numpy.partition(self._rough, wanted - 1)[wanted - 1])
        found, at = [numpy.empty(0, numpy.int64)], 0
        for rows in self._pieces:
            size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
            first, past = numpy.searchsorted(chosen, (at, at + size))
            here = chosen[first:past] - at
            found.append(here + rows.start if isinstance(rows, slice) else rows[here])
            at += size
        return numpy.concatenate(found)

    def _estimated(self, rows: "Rows", planes: "Sequence[Words]", value: float) -> "Floats":
        """By these planes, of which the lightest is worth `value`."""
        import numpy

        codes = self._codes
        lengths = codes.lengths[rows]
        words = [plane[rows] for plane in codes.planes]
        # Of a plane, <b, w> is what agrees less what differs: its weight times the dimension, less twice what differs.
        weights = 2 ** len(planes) - 1
        estimates = numpy.full(len(lengths), -2 * value * weights * self._question.dimension, numpy.float32)
        scratch = numpy.empty(len(lengths), numpy.uint64)
        counts = numpy.empty(len(lengths), numpy.uint8)
        differing = numpy.empty(len(lengths), numpy.uint16)
        for number, plane in enumerate(planes, start=1):
            differing[:] = 0
            for word, asked in zip(words, plane, strict=True):
                numpy.bitwise_xor(word, asked, out=scratch)
                numpy.bitwise_count(scratch, out=counts)
                numpy.add(differing, counts, out=differing)
            estimates += differing * numpy.float32(4 * value * 2 ** (len(planes) - number))
        estimates *= codes.factors[rows]
        estimates += lengths
        return estimates


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
