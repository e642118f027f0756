"""Ranking by words in the index file.

Exact while the words of a question stand behind few enough postings. Beyond that, rarest words first: those that fit
into the budget are read whole and bring the candidates; `common` looks at the others.
"""

from collections.abc import Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import pairwise
from typing import Final

from index.engines.sqlite.asked import Demands, Sought, Task, Word, frequency_of
from index.engines.sqlite.common import LIMITS, CommonWords, Limits
from index.model import Query, Ranked
from index.store import postings
from index.store.driver import Connection
from index.store.postings import ALL_MATCHES, MOST_MATCHES, Postings, quoted
from index.store.reading import chunk_ids
from index.store.scope import Scope
from index.text.bm25 import PART_WEIGHT, Feature, ceilings, coverage, only, scores
from index.text.fold import tokens, words
from index.text.words import Keys

PAIR_WEIGHT: Final = 0.7
"""What two neighbouring words of the question count where they are neighbours too, beside 1 for a word."""
PAIRED_POSTINGS: Final = 5_000
"""A pair is looked for when its rarer word has at most so many: two common words say little and cost much."""
MOST_CONTAINING: Final = 2_000

_SPARE: Final = 20


class WordRanking:
    """Ranks inside one read transaction."""

    def __init__(self, connection: Connection, keys: Keys, scope: Scope, limits: Limits = LIMITS) -> None:
        self._connection = connection
        self._keys = keys
        self._scope = scope
        self._limits = limits
        self._common = CommonWords(connection, scope, limits)

    def ranked(self, query: Query, *, limit: int) -> list[Ranked]:
        """Best first."""
        demands = self.demands(query)
        chunks, size = postings.totals(self._connection, self._scope.visible)
        is_small = chunks <= self._limits.small
        budget = self._limits.small_budget if is_small else self._limits.budget
        plain = [term for term in query.terms if not (term.is_phrase or term.is_excluded)]
        texts = [text for text in dict.fromkeys(term.text for term in plain) if tokens(text)]
        asked = [self._word(text, budget, is_small=is_small) for text in texts]
        read, common = _parted(asked, budget)
        cache: dict[str, Postings] = {}
        groups = [[Feature(dict.fromkeys(found, 1.0))] for found in demands.demanded]
        groups += [self._features(word, cache) for word in read]
        task = Task(demands, chunks, size / max(chunks, 1), limit + _SPARE)
        if common:
            groups += self._common.features(common, read, [one for group in groups for one in group], task)
        features = [feature for group in groups for feature in group] + self._of_pairs(asked)
        ranked = self._best(features, task, limit)
        covered = coverage(groups, [key for key, _ in ranked], chunks=chunks)
        return [replace(place, coverage=covered[key]) for key, place in ranked]

    def demands(self, query: Query) -> Demands:
        phrases = [term.text for term in query.terms if term.is_phrase and not term.is_excluded]
        unwanted = [term.text for term in query.terms if term.is_excluded and tokens(term.text)]
        return Demands(
            tuple(phrases),
            tuple([self._matching(text) for text in phrases]),
            tuple(unwanted),
            tuple([self._matching(text, limit=ALL_MATCHES) for text in unwanted]),
        )

    def _matching(self, phrase: str, *, limit: int = MOST_MATCHES) -> frozenset[int]:
        if not tokens(phrase):
            return frozenset()
        return postings.matching(self._connection, phrase, self._scope.visible, limit=limit)

    def _of_pairs(self, asked: Sequence[Word]) -> list[Feature]:
        """A feature for each two neighbours of the question that are neighbours in a chunk, as typed."""
        return [
            Feature(dict.fromkeys(self._matching(f"{one.text} {other.text}"), 1.0), PAIR_WEIGHT)
            for one, other in pairwise(asked)
            if 0 < min(one.frequency, other.frequency) <= PAIRED_POSTINGS
        ]

    def _word(self, text: str, budget: int, *, is_small: bool) -> Word:
        """Counts no further than needed to know that a word is common.

        In a large index the forms of a word are counted at once, and taken for two postings in each chunk: its own and
        that of its key.
        """
        sought = self._sought(text)
        frequency = 0
        if not is_small:
            for one in sought:
                if frequency <= budget:
                    frequency += 2 * self._frequency(one.expression, budget // 2)
        else:
            for token in dict.fromkeys(token for one in sought for token in one.tokens):
                if frequency <= budget:
                    frequency += self._frequency(quoted(token), budget)
        return Word(text, sought, frequency)

    def _frequency(self, expression: str, budget: int) -> int:
        return postings.frequency(self._connection, expression, self._scope.visible, at_most=budget + 1)

    def _sought(self, text: str) -> tuple[Sought, ...]:
        """`SendAsync` is one word with its own key and, beside it, those of its pieces."""
        found: dict[Sought, None] = {}
        seen: set[tuple[str, ...]] = set()
        for word in words(text):
            whole, *pieces = self._keys.query_groups(word) or ((),)
            found[Sought(next(iter(tokens(word)), None), whole)] = None
            found.update((Sought(None, piece), None) for piece in pieces)
            seen.update((whole, *pieces))
        found.update((Sought(None, group), None) for group in self._keys.query_groups(text) if group not in seen)
        return tuple(found)

    def _features(self, word: Word, cache: dict[str, Postings]) -> list[Feature]:
        if word.frequency == 0:
            return self._features_of_part(word.text)
        for token in dict.fromkeys(token for one in word.sought for token in one.tokens):
            if token not in cache:
                cache[token] = postings.postings(self._connection, token, self._scope.visible)
        return [Feature(frequency_of(one, cache)) for one in word.sought]

    def _features_of_part(self, text: str) -> list[Feature]:
        """A word that stands nowhere may be the beginning or the inside of one that does."""
        visible = self._scope.visible
        found: set[int] = set()
        for token in tokens(text):
            if len(token) >= 2:
                found |= postings.matching(self._connection, token, visible, is_prefix=True)
            if not found and len(token) >= 3:
                found |= postings.containing(self._connection, token, visible, limit=MOST_CONTAINING)
        return [Feature(dict.fromkeys(found, 1.0), PART_WEIGHT)] if found else []

    def _best(self, features: Sequence[Feature], task: Task, limit: int) -> list[tuple[int, Ranked]]:
        """The best `limit` that pass the reader's filters; equal scores by id, so that the order is total.

        Scored in the order of what each could reach at most, until none that is left could come in.
        """
        highest = task.demands.allowed(ceilings(features, chunks=task.chunks), self._scope)
        order = sorted(highest, key=highest.__getitem__, reverse=True)
        scored: dict[int, float] = {}
        start, step = 0, max(500, 4 * task.wanted)
        while start < len(order):
            block = postings.passing(self._connection, order[start : start + step], self._scope)
            sizes = postings.sizes(self._connection, block)
            scored |= scores(only(features, block), sizes, chunks=task.chunks, mean_size=task.mean_size)
            start += step
            step *= 4
            if len(scored) >= task.wanted and start < len(order):
                last = nlargest(task.wanted, scored.values())[-1]
                if highest[order[start]] < last:
                    break
        kept = sorted(scored, key=lambda key: (-scored[key], key))[: task.wanted]
        identities = chunk_ids(self._connection, kept)
        best = sorted(identities, key=lambda key: (-scored[key], identities[key]))[:limit]
        return [(key, Ranked(identities[key], rank, scored[key])) for rank, key in enumerate(best, start=1)]


def _parted(asked: Sequence[Word], budget: int) -> tuple[list[Word], list[Word]]:
    """Words to be read, rarest first, and those that would go beyond the budget."""
    read: list[Word] = []
    common: list[Word] = []
    spent = 0
    for word in sorted(asked, key=lambda word: word.frequency):
        if spent + word.frequency > budget:
            common.append(word)
        else:
            spent += word.frequency
            read.append(word)
    return read, common
