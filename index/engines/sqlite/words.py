"""Ranking by words in the index file.

Exact while the words of a question stand behind few enough postings. Beyond that, rarest words first: those that fit
into the budget are read whole and bring the candidates; `common` looks at the others.
"""

from collections.abc import Mapping, Sequence
from heapq import nlargest
from typing import Final

from index.engines.sqlite import pairs
from index.engines.sqlite.asked import Counts, Demands, Sought, Task, Word, expression_of
from index.engines.sqlite.common import LIMITS, CommonWords, Limits
from index.engines.sqlite.known import Known
from index.engines.sqlite.rarity import Rarity
from index.engines.sqlite.statistics import Statistics
from index.engines.sqlite.sums import Sums, fastest
from index.model import ChunkId, Query, Ranked
from index.store import postings
from index.store.driver import Connection
from index.store.postings import ALL_MATCHES, MOST_MATCHES, quoted
from index.store.scope import Range, Scope
from index.text.bm25 import PART_WEIGHT, Feature
from index.text.fold import tokens, words
from index.text.tally import Tallies
from index.text.words import Keys

MOST_CONTAINING: Final = 2_000
MOST_RUNS: Final = 50
"""In a scope of more, postings are read as if it were not narrow: each is held against each run."""

_SPARE: Final = 20


class WordRanking:
    """Ranks inside one read transaction."""

    def __init__(
        self,
        connection: Connection,
        keys: Keys,
        scope: Scope,
        limits: Limits = LIMITS,
        statistics: Statistics | None = None,
        sums: Sums | None = None,
    ) -> None:
        """`statistics` of earlier rankings on the same connection; `sums` are the fastest there are."""
        self._connection = connection
        self._keys = keys
        self._scope = scope
        self._limits = limits
        self._statistics = statistics or Statistics()
        self._sums = sums or fastest()
        self.known = Known(connection)
        self._rarity = Rarity(connection, scope.visible, self._statistics)
        self._common = CommonWords(connection, scope, limits, self._rarity, self._sums, self.known)

    def ranked(self, query: Query, *, limit: int) -> list[Ranked]:
        """Best first."""
        self._statistics.check(self._connection)
        demands = self.demands(query)
        chunks, size = postings.totals(self._connection, self._scope.visible)
        is_small = chunks <= self._limits.small
        budget = self._limits.small_budget if is_small else self._limits.budget
        plain = [term for term in query.terms if not (term.is_phrase or term.is_excluded)]
        texts = [text for text in dict.fromkeys(term.text for term in plain) if tokens(text)]
        sought = self._rarity.standing({text: self._sought(text) for text in texts})
        self._rarity.expect(one for of_text in sought.values() for one in of_text)
        asked = [
            self._word(text, of_text, budget) if is_small else self._word_of_large(text, of_text, budget, chunks)
            for text, of_text in sought.items()
        ]
        read, common = _parted(asked, budget)
        groups = [[Feature(self._sums.present(found))] for found in demands.demanded]
        reach = self._scope.visible if is_small else self._reach()
        counted = None if reach is self._scope.visible else budget // 2 + 1
        found = _Postings(self._connection, reach, self._sums)
        groups += [self._features(word, found, counted, chunks) for word in read]
        task = Task(demands, chunks, size / max(chunks, 1), limit + _SPARE)
        looked_at = None
        if common:
            expression = expression_of([one for word in read if word.frequency for one in word.sought])
            read_ones = [one for group in groups for one in group]
            of_common, looked_at = self._common.features(common, expression, read_ones, task)
            groups += of_common
        features = [feature for group in groups for feature in group]
        features += self._of_pairs(asked, None if is_small else looked_at, chunks)
        best = self._best(features, task, limit)
        covered = self._sums.coverage(groups, [key for key, _, _ in best], chunks=chunks)
        return [Ranked(chunk, rank, score, covered[key]) for rank, (key, chunk, score) in enumerate(best, start=1)]

    def _reach(self) -> tuple[Range, ...] | None:
        """Where a large index is read: a narrow scope of few runs by itself."""
        inside = self._scope.reach() if self._scope.is_narrow else None
        return self._scope.visible if inside is None or len(inside) > MOST_RUNS else inside

    def _of_pairs(self, asked: Sequence[Word], looked_at: Tallies | None, chunks: int) -> list[Feature]:
        """In a narrow scope in the chunks that were looked at anyway, if there are such."""
        if looked_at is None or not self._scope.few:
            return pairs.everywhere(self._connection, asked, self._scope, self._sums)
        return pairs.looked_at(looked_at, asked, self._sums, of=self._scope.few, chunks=chunks)

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

    def _word(self, text: str, sought: tuple[Sought, ...], budget: int) -> Word:
        """Counts no further than needed to know that a word is common."""
        frequency = 0
        for token in dict.fromkeys(token for one in sought for token in one.tokens):
            if frequency <= budget:
                frequency += self._frequency(quoted(token), budget)
        return Word(text, sought, frequency)

    def _word_of_large(self, text: str, sought: tuple[Sought, ...], budget: int, chunks: int) -> Word:
        """In a large index the forms of a word are counted at once, and taken for two postings in each chunk: its own
        and that of its key.
        """
        frequency = 0
        for one in sought:
            if frequency <= budget:
                frequency += 2 * self._rarity.counted(one, chunks, at_most=budget // 2 + 1)
        return Word(text, sought, frequency)

    def _frequency(self, expression: str, budget: int) -> int:
        visible, most = self._scope.visible, budget + 1
        return self._statistics.count(
            expression, visible, most, lambda: postings.frequency(self._connection, expression, visible, at_most=most)
        )

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

    def _features(self, word: Word, found: "_Postings", counted: int | None, chunks: int) -> list[Feature]:
        """`counted`, where postings are not read in all that is visible: how far the word was."""
        if word.frequency == 0:
            return self._features_of_part(word.text)
        return [
            Feature(
                self._sums.frequency(one, found.of(one)),
                estimated_chunks=None if counted is None else self._rarity.counted(one, chunks, at_most=counted),
            )
            for one in word.sought
        ]

    def _features_of_part(self, text: str) -> list[Feature]:
        """A word that stands nowhere may be the beginning or the inside of one that does."""
        visible = self._scope.visible
        found: set[int] = set()
        for token in tokens(text):
            if len(token) >= 2:
                found |= postings.matching(self._connection, token, visible, is_prefix=True)
            if not found and len(token) >= 3:
                found |= postings.containing(self._connection, token, visible, limit=MOST_CONTAINING)
        return [Feature(self._sums.present(found), PART_WEIGHT)] if found else []

    def _best(self, features: Sequence[Feature], task: Task, limit: int) -> list[tuple[int, ChunkId, float]]:
        """The best `limit` that pass the reader's filters, with their scores; equal ones by id: the order is total.

        Scored in the order of what each could reach at most, until none that is left could come in.
        """
        sums = self._sums
        highest = sums.allowed(sums.ceilings(features, chunks=task.chunks), task.demands, self._scope)
        order = sums.order(highest)
        scored: dict[int, float] = {}
        start, step = 0, max(500, 4 * task.wanted)
        while start < len(order):
            block = postings.passing(self._connection, order[start : start + step], self._scope)
            scored |= sums.scores(features, block, self.known.sizes(block), chunks=task.chunks, mean=task.mean_size)
            start += step
            step *= 4
            if len(scored) >= task.wanted and start < len(order):
                last = nlargest(task.wanted, scored.values())[-1]
                if (highest_left := sums.value(highest, order[start])) is not None and highest_left < last:
                    break
        kept = sorted(sorted(scored), key=scored.__getitem__, reverse=True)[: task.wanted]
        while len(kept) > limit and scored[kept[-1]] < scored[kept[limit - 1]]:
            kept.pop()
        identities = self.known.ids(kept)
        best = sorted(identities, key=lambda key: (-scored[key], identities[key]))[:limit]
        return [(key, identities[key], scored[key]) for key in best]


class _Postings:
    """Of the words of one ranking, inside some ranges; each token is read once."""

    def __init__(self, connection: Connection, reach: Sequence[Range] | None, sums: Sums) -> None:
        self._connection = connection
        self._reach = reach
        self._sums = sums
        self._title: dict[str, Mapping[int, float]] = {}
        self._body: dict[str, Mapping[int, float]] = {}
        self._keys: dict[str, Mapping[int, float]] = {}

    def of(self, sought: Sought) -> Counts:
        for key in sought.keys:
            if key not in self._keys:
                self._keys[key] = self._sums.times(postings.keyed(self._connection, key, self._reach))
        token = sought.token
        if token is not None and token not in self._body:
            columns = postings.typed(self._connection, token, self._reach)
            self._title[token], self._body[token] = map(self._sums.times, columns)
        return Counts(self._title, self._body, self._keys)


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
