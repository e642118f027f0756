"""The sums of a ranking in numpy: the additions of `index.text.bm25` in the same order, for all chunks at once."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from index.engines.sqlite.asked import EXACT_WEIGHT, Demands, Sought, frequency_of
from index.engines.sqlite.sums import Sums
from index.store.postings import Listed, Postings
from index.store.scope import Scope, inside
from index.text.bm25 import K1, TITLE_WEIGHT, B, Feature, idf

Keys = NDArray[numpy.int64]
Floats = NDArray[numpy.float64]


class Numbers(Mapping[int, float]):
    """Keys in order with a number each."""

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
        places, are_there = _places(self.keys_, keys)
        found = numpy.zeros(len(keys))
        found[are_there] = self.values_[places[are_there]]
        return found


@dataclass(frozen=True, slots=True)
class _Counts:
    title: Numbers
    body: Numbers
    keys: Numbers


class ArraySums(Sums):
    def keys(self, listed: str) -> Keys:
        found: Keys = numpy.fromstring(listed, numpy.int64, sep=",")
        return found

    def counts(self, listed: Listed) -> _Counts:
        return _Counts(*(_counted(self.keys(column)) for column in (listed.title, listed.body, listed.keys)))

    def frequency(self, sought: Sought, counts: Mapping[str, _Counts]) -> Numbers:
        found = _largest([counts[key].keys for key in sought.keys])
        if sought.token is None:
            return found
        as_typed = counts[sought.token]
        for numbers, weight in ((as_typed.body, EXACT_WEIGHT), (as_typed.title, EXACT_WEIGHT * TITLE_WEIGHT)):
            if len(numbers):
                union = numpy.union1d(found.keys_, numbers.keys_)
                found = Numbers(union, found.at(union) + weight * numbers.at(union))
        return found

    def frequency_in(self, sought: Sought, counted: Mapping[str, Postings]) -> Numbers:
        return _numbers(frequency_of(sought, counted))

    def present(self, chunks: Collection[int]) -> Numbers:
        return _numbers(dict.fromkeys(chunks, 1.0))

    def ceilings(self, features: Sequence[Feature], *, chunks: int) -> Numbers:
        found = [(feature.gain(chunks), _of(feature)) for feature in features if len(feature.frequency)]
        union = _union([numbers.keys_ for _, numbers in found])
        total = numpy.zeros(len(union))
        norm = K1 * (1.0 - B + B * 0.0)
        for gain, numbers in found:
            total[numpy.searchsorted(union, numbers.keys_)] += gain * numbers.values_ / (numbers.values_ + norm)
        return Numbers(union, total)

    def allowed(self, found: Numbers, demands: Demands, scope: Scope) -> Numbers:
        kept = _demanded(found.keys_, demands)
        if scope.keys is not None:
            kept &= numpy.isin(found.keys_, numpy.fromiter(scope.keys, numpy.int64, len(scope.keys)))
        elif scope.ranges is not None:
            kept &= inside(found.keys_, scope.ranges)
        return found if kept.all() else Numbers(found.keys_[kept], found.values_[kept])

    def raised(self, found: Numbers, chunks: Collection[int], worth: float, new_ones: Demands | None) -> Numbers:
        keys = numpy.unique(numpy.asarray(chunks, dtype=numpy.int64))
        places, are_there = _places(found.keys_, keys)
        values = found.values_.copy()
        values[places[are_there]] += worth
        if new_ones is None:
            return Numbers(found.keys_, values)
        fresh = keys[~are_there]
        fresh = fresh[_demanded(fresh, new_ones)]
        union = numpy.concatenate([found.keys_, fresh])
        order = numpy.argsort(union)
        return Numbers(union[order], numpy.concatenate([values, numpy.full(len(fresh), worth)])[order])

    def order(self, found: Numbers) -> Sequence[int]:
        order: list[int] = found.keys_[numpy.lexsort((found.keys_, -found.values_))].tolist()
        return order

    def scores(
        self, features: Sequence[Feature], keys: Sequence[int], sizes: Mapping[int, int], *, chunks: int, mean: float
    ) -> dict[int, float]:
        asked = numpy.array(keys, dtype=numpy.int64)
        mean = max(mean, 1.0)
        norms = K1 * (1.0 - B + B * numpy.array([sizes.get(key, mean) for key in keys], dtype=numpy.float64) / mean)
        total = numpy.zeros(len(asked))
        has_any = numpy.zeros(len(asked), dtype=bool)
        for feature in features:
            if len(feature.frequency):
                frequency = _of(feature).at(asked)
                total += feature.gain(chunks) * frequency / (frequency + norms)
                has_any |= frequency != 0
        return dict(zip(asked[has_any].tolist(), total[has_any].tolist(), strict=True))

    def coverage(self, groups: Sequence[Sequence[Feature]], keys: Sequence[int], *, chunks: int) -> dict[int, float]:
        weights = [idf(min((one.chunks for one in group if one.chunks), default=0), chunks) for group in groups]
        whole = sum(weights)
        if not whole:
            return dict.fromkeys(keys, 0.0)
        asked = numpy.array(keys, dtype=numpy.int64)
        total = numpy.zeros(len(asked))
        for weight, group in zip(weights, groups, strict=True):
            has_any = numpy.zeros(len(asked), dtype=bool)
            for one in group:
                has_any |= _places(_of(one).keys_, asked)[1]
            total += weight * has_any
        return dict(zip(keys, (total / whole).tolist(), strict=True))


def _of(feature: Feature) -> Numbers:
    return feature.frequency if isinstance(feature.frequency, Numbers) else _numbers(feature.frequency)


def _numbers(found: Mapping[int, float]) -> Numbers:
    keys = numpy.fromiter(found.keys(), numpy.int64, len(found))
    values = numpy.fromiter(found.values(), numpy.float64, len(found))
    order = numpy.argsort(keys)
    return Numbers(keys[order], values[order])


def _counted(keys: Keys) -> Numbers:
    found, counts = numpy.unique(keys, return_counts=True)
    return Numbers(found, counts.astype(numpy.float64))


def _union(keys: Sequence[Keys]) -> Keys:
    found: Keys = numpy.unique(numpy.concatenate(keys)) if keys else numpy.zeros(0, dtype=numpy.int64)
    return found


def _largest(numbers: Sequence[Numbers]) -> Numbers:
    """The largest number of each key."""
    held = [one for one in numbers if len(one)]
    if len(held) == 1:
        return held[0]
    union = _union([one.keys_ for one in held])
    values = numpy.zeros(len(union))
    for one in held:
        places = numpy.searchsorted(union, one.keys_)
        values[places] = numpy.maximum(values[places], one.values_)
    return Numbers(union, values)


def _places(among: Keys, keys: Keys) -> tuple[NDArray[numpy.intp], NDArray[numpy.bool_]]:
    """Where each key stands, and whether it does."""
    places = numpy.searchsorted(among, keys)
    if not len(among):
        return places, numpy.zeros(len(keys), dtype=bool)
    clipped = numpy.minimum(places, len(among) - 1)
    return clipped, among[clipped] == keys


def _demanded(keys: Keys, demands: Demands) -> NDArray[numpy.bool_]:
    kept = numpy.ones(len(keys), dtype=bool)
    for chunks, is_wanted in [(one, True) for one in demands.demanded] + [(one, False) for one in demands.excluded]:
        kept &= numpy.isin(keys, numpy.fromiter(chunks, numpy.int64, len(chunks)), invert=not is_wanted)
    return kept
