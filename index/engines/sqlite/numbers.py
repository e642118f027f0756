"""Chunks with a number each, in numpy: what `arrays` adds up."""

from collections.abc import Iterator, Mapping, Sequence

import numpy
from numpy.typing import NDArray

Keys = NDArray[numpy.int64]
Floats = NDArray[numpy.float64]


class Numbers(Mapping[int, float]):
    """Keys in order, each once, with a number each."""

    __slots__ = ("keys_", "values_")

    def __init__(self, keys: Keys, values: Floats) -> None:
        self.keys_ = keys
        self.values_ = values

    def __len__(self) -> int:
        return len(self.keys_)

    def __iter__(self) -> Iterator[int]:
        return iter(self.keys_.tolist())

    def __getitem__(self, key: int) -> float:
        place = int(numpy.searchsorted(self.keys_, key))
        if place == len(self.keys_) or self.keys_[place] != key:
            raise KeyError(key)
        return float(self.values_[place])

    def at(self, keys: Keys) -> Floats:
        """The numbers of these keys; 0 for one that has none."""
        places, are_there = places_of(self.keys_, keys)
        found = numpy.zeros(len(keys))
        found[are_there] = self.values_[places[are_there]]
        return found

    def plus(self, other: "Numbers", weight: float) -> "Numbers":
        """With `weight` times the numbers of `other` added."""
        if not len(other):
            return self
        places, are_there = places_of(self.keys_, other.keys_)
        if are_there.all():
            values = self.values_.copy()
            values[places] += weight * other.values_
            return Numbers(self.keys_, values)
        union = union_of([self.keys_, other.keys_])
        return Numbers(union, self.at(union) + weight * other.at(union))


def numbers_of(found: Mapping[int, float]) -> Numbers:
    if isinstance(found, Numbers):
        return found
    keys = numpy.fromiter(found.keys(), numpy.int64, len(found))
    values = numpy.fromiter(found.values(), numpy.float64, len(found))
    order = numpy.argsort(keys)
    return Numbers(keys[order], values[order])


def times_of(keys: Keys) -> Numbers:
    """How often each stands there."""
    if not len(keys):
        return Numbers(keys, numpy.zeros(0))
    found, starts = each_once(keys)
    return Numbers(found, numpy.diff(starts, append=len(keys)).astype(numpy.float64))


def union_of(keys: Sequence[Keys]) -> Keys:
    """In order, each once."""
    if len(keys) == 1:
        return keys[0]
    return each_once(numpy.concatenate(keys))[0] if keys else numpy.zeros(0, dtype=numpy.int64)


def each_once(keys: Keys) -> tuple[Keys, NDArray[numpy.intp]]:
    """In order, with where each began. Nearly all is in order already, which this kind of sort makes use of."""
    ordered = numpy.sort(keys, kind="stable")
    is_first = numpy.ones(len(ordered), dtype=bool)
    numpy.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    starts = numpy.flatnonzero(is_first)
    return ordered[starts], starts


def places_of(among: Keys, keys: Keys) -> tuple[NDArray[numpy.intp], NDArray[numpy.bool_]]:
    """Where each key stands, and whether it does."""
    places = numpy.searchsorted(among, keys)
    if not len(among):
        return places, numpy.zeros(len(keys), dtype=bool)
    clipped = numpy.minimum(places, len(among) - 1)
    return clipped, among[clipped] == keys
