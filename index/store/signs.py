"""Codes of one bit a dimension, from which distances are estimated (RaBitQ: Gao and Long, SIGMOD 2024).

A vector is centred and turned by a fixed random rotation; of what comes out the signs are kept. With y = R(o - c), the
signs b of y, and w = R(q - c) of a question q, |o - c|^2 * <b, w> / <b, y> is an estimate of <o - c, q - c> without
bias. So a code has two numbers beside its bits, |o - c|^2 (`length`) and |o - c|^2 / <b, y> (`factor`), and the scale
of the rotation falls out.

Pure: no SQL. The rotation is three rounds of an exchange of places and signs, the same for ever, and a fast Hadamard
transform: sums of whole numbers, so that the same vectors give the same bytes on any machine, as `sources verify`
expects. Measured, it is as good as a dense rotation, and takes 10 us a vector; a product of matrices takes 6 on an idle
machine and ten times as long on a busy one, where the threads of BLAS wait for each other.

The question is kept to four bits a component, as planes of signs with weights 8, 4, 2 and 1, so that <b, w> is a matter
of XOR and of counting bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import shake_256
from math import sqrt
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Words = NDArray[numpy.uint64]

BLOCK_BITS: Final = 8
"""Chunk keys that differ in so many last bits alone have their codes in one block."""
WORD: Final = 64
ROUNDS: Final = 3
PLANES: Final = 4
CLIP_DEVIATIONS: Final = 2.8
"""The largest component of a question that its planes tell apart: measured, 2 to 3.2 make no difference to speak of."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What codes are made with. `centre` has a signed byte for each dimension."""

    centre: bytes

    @classmethod
    def around(cls, sample: Sequence[bytes]) -> Self:
        """Centred in the mean of many vectors, all of one length."""
        import numpy

        points = numpy.frombuffer(b"".join(sample), numpy.int8).reshape(len(sample), len(sample[0]))
        return cls(numpy.rint(points.mean(axis=0, dtype=numpy.float64)).astype(numpy.int8).tobytes())

    @property
    def dimension(self) -> int:
        return len(self.centre)

    @property
    def words(self) -> int:
        """Of 64 bits, in a code."""
        return -(-self.dimension // WORD)

    def records(self) -> "numpy.dtype[numpy.void]":
        """A code as it is stored: the last bits of its chunk's key, both numbers, and the signs."""
        import numpy

        return numpy.dtype([("chunk", "u1"), ("length", "<f4"), ("factor", "<f4"), ("signs", "<u8", (self.words,))])

    def coded(self, chunks: Sequence[int], vectors: Sequence[bytes]) -> bytes:
        """The records of vectors, in order."""
        import numpy

        centred = self._centred(b"".join(vectors))
        turned = _turned(centred)
        lengths = numpy.einsum("ij,ij->j", centred, centred, dtype=numpy.int64)
        along = numpy.abs(turned).sum(axis=0, dtype=numpy.int64)
        made = numpy.zeros(len(vectors), self.records())
        made["chunk"] = numpy.array(chunks, numpy.int64) & ((1 << BLOCK_BITS) - 1)
        made["length"] = lengths
        made["factor"] = numpy.divide(lengths, along, out=numpy.zeros(len(vectors)), where=along > 0)
        made["signs"] = _packed(turned > 0)
        return made.tobytes()

    def question(self, vector: bytes) -> "Question":
        import numpy

        centred = self._centred(vector)[:, 0].astype(numpy.float64)
        turned = _turned_alone(centred)
        highest = 2**PLANES - 1
        step = CLIP_DEVIATIONS * sqrt(turned @ turned / len(turned)) / highest or 1.0
        levels = numpy.clip(numpy.rint((turned / step + highest) / 2), 0, highest).astype(numpy.uint8)
        planes = _packed(levels[:, None] >> numpy.arange(PLANES - 1, -1, -1, dtype=numpy.uint8) & 1 > 0)
        return Question(planes, step, float(numpy.abs(turned).mean()), len(turned), float(centred @ centred))

    def _centred(self, vectors: bytes) -> "NDArray[numpy.int32]":
        """A column for each; whole words of dimensions, of which the last are zero."""
        import numpy

        points = numpy.frombuffer(vectors, numpy.int8).reshape(-1, self.dimension)
        centred = numpy.zeros((self.words * WORD, len(points)), numpy.int32)
        numpy.subtract(points.T, numpy.frombuffer(self.centre, numpy.int8)[:, None], out=centred[: self.dimension])
        return centred


@dataclass(frozen=True, slots=True)
class Question:
    """Planes of signs, a row each, the heaviest first. `length` is |q - c|^2, `dimension` that of the codes' signs.

    `step` is what the lightest plane is worth, `mean` the heaviest if it is alone.
    """

    planes: "Words"
    step: float
    mean: float
    dimension: int
    length: float

    def deviations(self, lengths: "Floats", factors: "Floats") -> "Floats":
        """The standard ones of the estimates of |o - q|^2 (theorem 3.2 of the paper). Measured: .96 to .99 of these."""
        import numpy

        # With g = <b, y> / |b| |y|, that of <o - c, q - c> is |o - c| |q - c| sqrt((1 / g^2 - 1) / (dimension - 1)).
        unexplained = factors * factors * numpy.float32(self.dimension * _growth(self.dimension)) - lengths
        share = numpy.float32(4 * self.length / max(1, self.dimension - 1))
        deviations: Floats = numpy.sqrt(numpy.maximum(unexplained, 0) * share)
        return deviations


@cache
def _rounds(dimension: int) -> "list[tuple[NDArray[numpy.intp], NDArray[numpy.int32]]]":
    """Of each round of the rotation the places and the signs."""
    import numpy

    rounds = []
    for number in range(ROUNDS):
        drawn = numpy.frombuffer(
            shake_256(f"rotation {dimension} {number}".encode()).digest(9 * dimension), numpy.uint8
        )
        places = numpy.argsort(drawn[: 8 * dimension].view("<u8"), kind="stable")
        rounds.append((places, (drawn[8 * dimension :] & 1).astype(numpy.int32)[:, None] * 2 - 1))
    return rounds


def _turned(columns: "NDArray[numpy.int32]") -> "NDArray[numpy.int32]":
    """All columns, rotated and longer than they were. Blocks of a power of two rows are transformed.

    A round lengthens a column by the root of the block: a unit vector stays below 2**31 up to 4,096 dimensions.
    """
    import numpy

    dimension, count = columns.shape
    block = dimension & -dimension
    turned, other = numpy.empty_like(columns), numpy.empty_like(columns)
    for places, signs in _rounds(dimension):
        numpy.multiply(columns[places], signs, out=turned)
        half = 1
        while half < block:
            pairs, made = turned.reshape(-1, 2, half, count), other.reshape(-1, 2, half, count)
            numpy.add(pairs[:, 0], pairs[:, 1], out=made[:, 0])
            numpy.subtract(pairs[:, 0], pairs[:, 1], out=made[:, 1])
            turned, other = other, turned
            half *= 2
        columns = turned
    return columns


def _turned_alone(vector: "NDArray[numpy.float64]") -> "NDArray[numpy.float64]":
    """The same of one vector, by few steps: whole numbers below 2**53, so they come out the same in any order.

    The products of matrices are small enough for BLAS not to share them out to threads.
    """
    block = len(vector) & -len(vector)
    outer, inner = (_hadamard(2 ** (block.bit_length() // 2)), _hadamard(2 ** ((block.bit_length() - 1) // 2)))
    for places, signs in _rounds(len(vector)):
        blocks = (vector[places] * signs[:, 0]).reshape(-1, len(outer), len(inner))
        vector = (outer @ (blocks @ inner)).reshape(-1)
    return vector


@cache
def _hadamard(size: int) -> "NDArray[numpy.float64]":
    import numpy

    matrix = numpy.ones((1, 1))
    while len(matrix) < size:
        matrix = numpy.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def _growth(dimension: int) -> float:
    """How many times as long, squared, a vector of so many dimensions comes out of the rotation."""
    return float((dimension & -dimension) ** ROUNDS)


def _packed(signs: "NDArray[numpy.bool_]") -> "Words":
    """Columns of signs, as rows of words."""
    import numpy

    packed = numpy.ascontiguousarray(numpy.packbits(signs.T, axis=1, bitorder="little"))
    return packed.view("<u8").astype(numpy.uint64, copy=False)
