"""The sums of a ranking in numpy: the additions of `index.text.bm25` in the same order, for all chunks at once."""

from collections.abc import Collection, Mapping, Sequence

import numpy
from numpy.typing import NDArray

from index.engines.sqlite.asked import EXACT_WEIGHT, Counts, Demands, Sought
from index.engines.sqlite.counting import Wanted
from index.engines.sqlite.counting_arrays import counted, in_a_row
from index.engines.sqlite.numbers import Keys, Numbers, each_once, numbers_of, places_of, times_of, union_of
from index.engines.sqlite.sums import Sums
from index.store.scope import Scope, inside
from index.text.bm25 import K1, TITLE_WEIGHT, B, Feature, idf
from index.text.tally import Tallies


class ArraySums(Sums):
    def keys(self, listed: str) -> Keys:
        found: Keys = numpy.fromstring(listed, numpy.int64, sep=",")
        return found

    def times(self, listed: str) -> Numbers:
        return times_of(self.keys(listed))

    def in_tallies(self, tallies: Tallies, wanted: Wanted) -> Counts:
        return counted(tallies, wanted)

    def in_a_row(self, tallies: Tallies, tokens: Sequence[str]) -> Keys:
        return in_a_row(tallies, tokens)

    def frequency(self, sought: Sought, counts: Counts) -> Numbers:
        found = _largest([numbers_of(counts.keys[key]) for key in sought.keys])
        if sought.token is None:
            return found
        body, title = (numbers_of(column[sought.token]) for column in (counts.body, counts.title))
        return found.plus(body, EXACT_WEIGHT).plus(title, EXACT_WEIGHT * TITLE_WEIGHT)

    def present(self, chunks: Collection[int]) -> Numbers:
        keys, _ = each_once(_array(chunks))
        return Numbers(keys, numpy.ones(len(keys)))

    def ceilings(self, features: Sequence[Feature], *, chunks: int) -> Numbers:
        found = [
            (feature.gain(chunks), numbers_of(feature.frequency)) for feature in features if len(feature.frequency)
        ]
        union = union_of([numbers.keys_ for _, numbers in found])
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
        keys, _ = each_once(_array(chunks))
        places, are_there = places_of(found.keys_, keys)
        values = found.values_.copy()
        values[places[are_there]] += worth
        if new_ones is None:
            return Numbers(found.keys_, values)
        fresh = keys[~are_there]
        fresh = fresh[_demanded(fresh, new_ones)]
        union = numpy.concatenate([found.keys_, fresh])
        order = numpy.argsort(union, kind="stable")
        return Numbers(union[order], numpy.concatenate([values, numpy.full(len(fresh), worth)])[order])

    def known(self, found: Numbers) -> Collection[int]:
        return set(found.keys_.tolist())

    def order(self, found: Numbers) -> Sequence[int]:
        order: list[int] = found.keys_[numpy.argsort(-found.values_, kind="stable")].tolist()
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
                frequency = numbers_of(feature.frequency).at(asked)
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
                has_any |= places_of(numbers_of(one.frequency).keys_, asked)[1]
            total += weight * has_any
        return dict(zip(keys, (total / whole).tolist(), strict=True))


def _largest(numbers: Sequence[Numbers]) -> Numbers:
    """The largest number of each key."""
    held = [one for one in numbers if len(one)]
    if len(held) == 1:
        return held[0]
    union = union_of([one.keys_ for one in held])
    values = numpy.zeros(len(union))
    for one in held:
        places = numpy.searchsorted(union, one.keys_)
        values[places] = numpy.maximum(values[places], one.values_)
    return Numbers(union, values)


def _demanded(keys: Keys, demands: Demands) -> NDArray[numpy.bool_]:
    kept = numpy.ones(len(keys), dtype=bool)
    for chunks, is_wanted in [(one, True) for one in demands.demanded] + [(one, False) for one in demands.excluded]:
        kept &= numpy.isin(keys, numpy.fromiter(chunks, numpy.int64, len(chunks)), invert=not is_wanted)
    return kept


def _array(chunks: Collection[int]) -> Keys:
    if isinstance(chunks, numpy.ndarray):
        return chunks
    return numpy.fromiter(chunks, numpy.int64, len(chunks))
