"""Words of a question that stand next to each other in it: a chunk where they do so too is the likelier answer."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from index.engines.sqlite.asked import Word
from index.engines.sqlite.sums import Sums
from index.store import postings
from index.store.driver import Connection
from index.store.postings import MOST_MATCHES, in_text
from index.store.scope import Scope
from index.text.bm25 import Feature
from index.text.fold import tokens
from index.text.tally import Tallies

PAIR_WEIGHT: Final = 0.7
"""What two neighbours count that are neighbours in a chunk, as typed, beside 1 for a word."""
PAIRED_POSTINGS: Final = 5_000
"""A pair is looked for when its rarer word has at most so many: two common words say little and cost much."""


def everywhere(connection: Connection, asked: Sequence[Word], scope: Scope, sums: Sums) -> list[Feature]:
    """Features of the pairs, in all that is visible."""

    def side_by_side(phrase: str) -> Collection[int]:
        return sums.keys(postings.having(connection, in_text(phrase), scope.visible, limit=MOST_MATCHES))

    return [Feature(sums.present(side_by_side(phrase)), PAIR_WEIGHT) for phrase, _ in _pairs(asked)]


def looked_at(tallies: Tallies, asked: Sequence[Word], sums: Sums, *, of: int, chunks: int) -> list[Feature]:
    """Features of the pairs, in chunks chosen from few, `of` so many, that were looked at anyway.

    The full-text index cannot look for a phrase inside a room: it goes on to the next place that has it, which may be
    at the other end of the index. In how many of all `chunks` a pair stands follows from how many of these have it.
    """
    features = []
    for phrase, rarer in _pairs(asked):
        found = sums.in_a_row(tallies, tokens(phrase))
        estimated = max(len(found), min(round(len(found) * chunks / of), rarer // 2))  # two postings in each chunk
        features.append(Feature(sums.present(found), PAIR_WEIGHT, estimated))
    return features


def _pairs(asked: Sequence[Word]) -> Iterator[tuple[str, int]]:
    """The pairs that are looked for, each with the postings of its rarer word."""
    for one, other in pairwise(asked):
        rarer = min(one.frequency, other.frequency)
        if 0 < rarer <= PAIRED_POSTINGS:
            yield f"{one.text} {other.text}", rarer
