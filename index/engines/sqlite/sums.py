"""The sums of a ranking, over chunks by the ten thousand. Pure.

`Sums` does them in dicts, and `arrays.ArraySums` the same in numpy, ten times as fast: where numpy is loaded anyway, as
it is in a program that stays. A search that ends with its answer would wait longer for numpy than for the sums. Both
give the same numbers, to the last bit.
"""

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from index.engines.sqlite.asked import Counts, Demands, Sought, frequency_of
from index.engines.sqlite.counting import Wanted, counted, in_a_row
from index.store.scope import Scope
from index.text import bm25
from index.text.bm25 import Feature
from index.text.tally import Tallies

Candidates = Any
"""Chunks with a number each, in whatever form; others only hand them on."""


class Sums:
    def keys(self, listed: str) -> Collection[int]:
        """Numbers with commas between them."""
        return [int(number) for number in listed.split(",")] if listed else []

    def times(self, listed: str) -> Mapping[int, float]:
        """How often each of the numbers stands among those with commas between."""
        return {int(number): count for number, count in Counter(listed.split(",")).items()} if listed else {}

    def in_tallies(self, tallies: Tallies, wanted: Wanted) -> Counts:
        """Of tokens that were not read, in a few chunks."""
        return counted(tallies, wanted)

    def in_a_row(self, tallies: Tallies, tokens: Sequence[str]) -> Collection[int]:
        """The chunks that have the tokens, one or more, one after the other in title or text."""
        return in_a_row(tallies, tokens)

    def frequency(self, sought: Sought, counts: Counts) -> Mapping[int, float]:
        return frequency_of(sought, counts)

    def present(self, chunks: Collection[int]) -> Mapping[int, float]:
        """Once in each."""
        return dict.fromkeys(chunks, 1.0)

    def ceilings(self, features: Sequence[Feature], *, chunks: int) -> Candidates:
        return bm25.ceilings(features, chunks=chunks)

    def allowed(self, found: Candidates, demands: Demands, scope: Scope) -> Candidates:
        """Those that may be shown, as far as that is known without asking the predicate of the scope."""
        return demands.allowed(found, scope)

    def raised(self, found: Candidates, chunks: Collection[int], worth: float, new_ones: Demands | None) -> Candidates:
        """With `worth` added to these chunks. Those not among the candidates become some if the demands allow it."""
        raised = dict(found)
        for key in chunks:
            if key in raised:
                raised[key] += worth
            elif new_ones is not None and new_ones.allow(key):
                raised[key] = worth
        return raised

    def order(self, found: Candidates) -> Sequence[int]:
        """Highest first; equal ones by key."""
        return sorted(sorted(found), key=found.__getitem__, reverse=True)

    def known(self, found: Candidates) -> Collection[int]:
        """Quick to be asked whether a chunk is among the candidates."""
        known: Collection[int] = found
        return known

    def value(self, found: Candidates, key: int) -> float | None:
        value: float | None = found.get(key)
        return value

    def number(self, found: Candidates) -> int:
        return len(found)

    def scores(
        self, features: Sequence[Feature], keys: Sequence[int], sizes: Mapping[int, int], *, chunks: int, mean: float
    ) -> dict[int, float]:
        return bm25.scores(bm25.only(features, keys), sizes, chunks=chunks, mean_size=mean)

    def coverage(self, groups: Sequence[Sequence[Feature]], keys: Sequence[int], *, chunks: int) -> dict[int, float]:
        return bm25.coverage(groups, keys, chunks=chunks)


def fastest() -> Sums:
    """In arrays where numpy is loaded."""
    if "numpy" in sys.modules:
        from index.engines.sqlite.arrays import ArraySums

        return ArraySums()
    return Sums()
