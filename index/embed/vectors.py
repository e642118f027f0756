"""Vectors as bytes: checked, brought to unit length, compared. Pure, and without numpy.

A vector that is not finite, has no length or the wrong number of values would be stored without complaint and then
sort last for ever (retrieval-pitfalls.md, 30), so it stops here.
"""

import math
import sys
from array import array
from collections.abc import Sequence

from index.embed.base import Embedded, Refusal
from index.model import Vector


def unit_vector(values: Sequence[float], dimension: int) -> Embedded:
    """`values` at unit length, as the store keeps them."""
    if len(values) != dimension:
        return Refusal(f"vector of {len(values)} values where the model should give {dimension}")
    try:
        length = math.hypot(*values)
    except (OverflowError, TypeError, ValueError):
        return Refusal("vector with a value that is no number")
    if not math.isfinite(length):
        return Refusal("vector with a value that is not finite")
    if length < 1e-12:
        return Refusal("vector of length zero")
    return _to_bytes([value / length for value in values])


def values_of(vector: Vector) -> Sequence[float]:
    values = array("f")
    values.frombytes(vector)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def cosine(left: Vector, right: Vector) -> float:
    """Of two unit vectors. Different dimensions are nothing alike: 0."""
    if len(left) != len(right):
        return 0.0
    return math.fsum(a * b for a, b in zip(values_of(left), values_of(right), strict=True))


def _to_bytes(values: Sequence[float]) -> Vector:
    packed = array("f", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return Vector(packed.tobytes())
