"""Words that are too common to be read.

They are looked up in the most promising chunks alone, and how rare they are is judged by a sample. Where the other
words bring too few candidates, further ones are chunks that have all of the common words, or else the rarer of them,
from all parts of the index. docs/scale.md says what that costs and loses.
"""

from collections.abc import Sequence
from math import ceil
from typing import Final

from msgspec import Struct

from index.engines.sqlite.asked import EXACT_WEIGHT, Task, Word, expression_of
from index.engines.sqlite.counting import Wanted
from index.engines.sqlite.known import Known
from index.engines.sqlite.rarity import Rarity
from index.engines.sqlite.sums import Candidates, Sums
from index.store import postings
from index.store.driver import Connection
from index.store.lists import numbers_of
from index.store.postings import ALL_MATCHES, MOST_MATCHES, quoted
from index.store.scope import Range, Scope, crossed
from index.text.bm25 import Feature, saturation
from index.text.tally import Tallies


class Limits(Struct, frozen=True):
    """What a ranking may read, so that its cost does not grow with the index."""

    small: int = 50_000
    """Chunks up to which a question may read `small_budget` postings, and beyond which `budget`."""
    small_budget: int = 60_000
    budget: int = 10_000
    refined: int = 400
    """In how many candidates the common words are looked up."""
    looked_up: int = 4
    """So many of the common words, the rarest, say which candidates those are, beside other words of the question."""
    looked_up_inside: int = 8
    """So many in a narrow scope, where it takes half a millisecond each. Of the ten best of a room questions of 17
    words had .79 with four, .90 with eight, .95 with all; the commonest take the longest (docs/scale.md)."""
    conjunctions: int = 1_000
    """Chunks with all words, or the rarer ones, from which candidates are chosen when every word is common."""
    together: int = 6
    """So many of the words, the rarest, are looked for in one chunk: hardly any has more, which takes long to see."""
    spread: int = 8
    """In how many parts of the index they are looked for, so that no room stands for all."""


LIMITS: Final = Limits()


class CommonWords:
    """Of one ranking, inside its read transaction."""

    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        limits: Limits,
        rarity: Rarity,
        sums: Sums,
        known: Known,
    ) -> None:
        self._connection = connection
        self._scope = scope
        self._limits = limits
        self._rarity = rarity
        self._sums = sums
        self._known = known

    def features(
        self, common: Sequence[Word], read: str, others: Sequence[Feature], task: Task
    ) -> tuple[list[list[Feature]], Tallies]:
        """The features of words that are too common to be read, in the most promising chunks alone, and these.

        `read` is any of the other words, for FTS5, and `others` are their features.
        """
        sought = [one for word in common for one in word.sought]
        rarity = {one: self._rarity.estimate(one, task.chunks) for one in sought}
        gains = {word: sum(_gain(rarity[one], task.chunks) for one in word.sought) for word in common}
        unread = [
            _Unread(expression_of(word.sought), gains[word])
            for word in sorted(common, key=lambda word: (-gains[word], word.expression))
        ]
        sums = self._sums
        promising = sums.allowed(sums.ceilings(others, chunks=task.chunks), task.demands, self._scope)
        refined = self._limits.refined
        if self._scope.is_narrow or sums.number(promising) > refined:  # all of fewer are looked at
            base = " AND ".join(f"({{title body}} : {quoted(phrase)})" for phrase in task.demands.phrases)
            promising = self._with_common(promising, unread, base or read, task)
        chosen = self._chosen(sums.order(promising), refined)
        if len(chosen) < task.wanted and not self._scope.is_narrow and not task.demands.phrases:
            further = self._conjunctions(unread, task)
            order = sorted(further, key=lambda key: (-further[key], key))
            known = sums.known(promising)
            fresh = [key for key in order if key not in known]
            chosen += self._chosen(fresh, refined)
        wanted = Wanted(
            typed=frozenset(one.token for one in sought if one.token is not None),
            keys=frozenset(key for one in sought for key in one.keys),
        )
        tallies = self._known.tallies(chosen)
        counts = sums.in_tallies(tallies, wanted)
        features = [
            [Feature(sums.frequency(one, counts), estimated_chunks=rarity[one]) for one in word.sought]
            for word in common
        ]
        return features, tallies

    def _chosen(self, order: Sequence[int], wanted: int) -> list[int]:
        """The first, and so most promising, of those that pass the reader's filters."""
        step = 10 * wanted
        chosen: list[int] = []
        while order and len(chosen) < wanted:
            chosen += postings.passing(self._connection, order[:step], self._scope)
            order = order[step:]
        return chosen[:wanted]

    def _with_common(self, promising: Candidates, unread: Sequence["_Unread"], base: str, task: Task) -> Candidates:
        """Candidates by what they have of the words that were read, and by which common words they have.

        In a narrow scope a common word alone makes a candidate: any of them in a small index, else one of the rarer.
        """
        reach = self._scope.reach() if self._scope.is_narrow else self._scope.ranges
        is_exact = self._scope.is_narrow and task.chunks <= self._limits.small
        most = self._limits.looked_up_inside if self._scope.is_narrow else self._limits.looked_up
        for one in unread if is_exact else unread[:most]:
            if not self._scope.is_narrow and not base:
                break
            expression = one.expression if self._scope.is_narrow else f"({base}) AND {one.expression}"
            keys = self._sums.keys(postings.having(self._connection, expression, reach, limit=MOST_MATCHES))
            promising = self._sums.raised(promising, keys, one.worth, task.demands if self._scope.is_narrow else None)
        return promising

    def _conjunctions(self, unread: Sequence["_Unread"], task: Task) -> dict[int, float]:
        """Candidates where other words bring too few: chunks that have all of the words, or else the rarer of them."""
        spread = postings.stretches(self._connection, self._scope.ranges, wanted=self._limits.spread)
        each = ceil(self._limits.conjunctions / max(1, len(spread)))
        found: dict[int, float] = {}
        most = min(len(unread), self._limits.together)
        for number in dict.fromkeys((most, ceil(most / 2), 1)):
            expression = f"({' AND '.join(one.expression for one in unread[:number])}){task.demands.without}"
            worth = sum(one.worth for one in unread[:number])
            for stretch in spread:
                for key in task.demands.sieve(self._passing(expression, stretch, each)):
                    found.setdefault(key, worth)
            if len(found) >= self._limits.refined:
                break
        sizes = self._known.sizes(list(found))
        return {key: worth * saturation(2.0, sizes.get(key, 0), task.mean_size) for key, worth in found.items()}

    def _passing(self, expression: str, stretch: Sequence[Range], most: int) -> list[int]:
        """Chunks of a part of the index that an expression matches and the reader's filters let through."""
        scope = self._scope
        if scope.spots is not None:
            among = crossed(stretch, scope.spots)
            return numbers_of(postings.having(self._connection, expression, among, limit=most))
        if scope.listed is not None:
            found = numbers_of(postings.having(self._connection, expression, stretch, limit=ALL_MATCHES))
            return postings.passing(self._connection, found, scope)[:most]
        return numbers_of(postings.having(self._connection, expression, stretch, limit=most, filters=scope))


class _Unread(Struct, frozen=True):
    """A word that was not read: how to find it, and what it can add to a score."""

    expression: str
    gain: float

    @property
    def worth(self) -> float:
        """What it adds where it stands once, as typed."""
        return self.gain * saturation(1.0 + EXACT_WEIGHT, 0, 1.0)


def _gain(in_chunks: int, chunks: int) -> float:
    return Feature({}, estimated_chunks=in_chunks).gain(chunks)
