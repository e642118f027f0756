"""Words that are too common to be read.

They are looked up in the most promising chunks alone, and how rare they are is judged by a sample. Where the other
words bring too few candidates, further ones are chunks that have all of the common words, or else the rarer of them,
from all parts of the index. docs/scale.md says what that costs and loses.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from index.engines.sqlite.asked import EXACT_WEIGHT, Sought, Task, Word, frequency_of
from index.store import postings
from index.store.driver import Connection
from index.store.postings import MOST_MATCHES, Postings, quoted
from index.store.scope import Scope
from index.text.bm25 import Feature, ceilings, saturation
from index.text.fold import tokens


@dataclass(frozen=True, slots=True)
class Limits:
    """What a ranking may read, so that its cost does not grow with the index."""

    small: int = 50_000
    """Chunks up to which a question may read `small_budget` postings, and beyond which `budget`."""
    small_budget: int = 60_000
    budget: int = 20_000
    refined: int = 400
    """In how many candidates the common words are looked up."""
    looked_up: int = 4
    """So many of the common words, the rarest, say which candidates those are."""
    conjunctions: int = 1_000
    """Chunks with all words, or the rarer ones, from which candidates are chosen when every word is common."""
    spread: int = 8
    """In how many parts of the index they are looked for, so that no room stands for all."""


LIMITS: Final = Limits()


class CommonWords:
    """Of one ranking, inside its read transaction."""

    def __init__(self, connection: Connection, scope: Scope, limits: Limits) -> None:
        self._connection = connection
        self._scope = scope
        self._limits = limits

    def features(
        self, common: Sequence[Word], read: Sequence[Word], features: Sequence[Feature], task: Task
    ) -> list[list[Feature]]:
        """The features of words that are too common to be read, in the most promising chunks alone."""
        rarity = self._rarity([one for word in common for one in word.sought], task.chunks)
        unread = [
            _Unread(word.expression, sum(_gain(rarity[one], task.chunks) for one in word.sought)) for word in common
        ]
        unread.sort(key=lambda one: (-one.gain, one.expression))
        allowed = task.demands.allowed(ceilings(features, chunks=task.chunks), self._scope)
        promising: dict[int, float] = {}
        if self._scope.is_narrow or allowed:
            base = " AND ".join(f"({{title body}} : {quoted(phrase)})" for phrase in task.demands.phrases)
            base = base or " OR ".join(word.expression for word in read if word.frequency)
            promising = self._with_common(allowed, unread, base, task)
        chosen = self._chosen(promising)
        if len(chosen) < task.wanted and not self._scope.is_narrow and not task.demands.phrases:
            further = self._conjunctions(unread, task)
            chosen += self._chosen({key: worth for key, worth in further.items() if key not in promising})
        found = postings.texts(self._connection, chosen)
        wanted = {token for word in common for one in word.sought for token in one.tokens}
        counted = _counted(found, wanted)
        return [
            [Feature(frequency_of(one, counted), estimated_chunks=rarity[one]) for one in word.sought]
            for word in common
        ]

    def _chosen(self, promising: Mapping[int, float]) -> list[int]:
        """The most promising of those that pass the reader's filters."""
        order = sorted(promising, key=promising.__getitem__, reverse=True)
        step = 10 * self._limits.refined
        chosen: list[int] = []
        while order and len(chosen) < self._limits.refined:
            chosen += postings.passing(self._connection, order[:step], self._scope)
            order = order[step:]
        return chosen[: self._limits.refined]

    def _rarity(self, sought: Sequence[Sought], chunks: int) -> dict[Sought, int]:
        """In about how many visible chunks each stands; at least one, since it stands somewhere.

        Judged by a sample, for a count of all would be too dear: a word of one chunk in twenty is judged to about a
        tenth, which moves its weight by a thirtieth.
        """
        sample = postings.sample(self._connection, self._scope.visible)
        wanted = {key for one in sought for key in one.keys}
        said = [wanted.intersection(keys.split()) for keys in sample]
        found = {}
        for one in sought:
            count = sum(1 for keys in said if not keys.isdisjoint(one.keys))
            found[one] = max(1, round(count * chunks / max(1, len(said))))
        return found

    def _with_common(
        self, allowed: Mapping[int, float], unread: Sequence["_Unread"], base: str, task: Task
    ) -> dict[int, float]:
        """Candidates by what they have of the words that were read, and by which common words they have.

        In a narrow scope a common word alone makes a candidate.
        """
        promising = dict(allowed)
        reach = self._scope.reach() if self._scope.is_narrow else self._scope.ranges
        for one in unread if self._scope.is_narrow else unread[: self._limits.looked_up]:
            worth = one.worth
            if self._scope.is_narrow:
                keys = postings.having(self._connection, one.expression, reach, limit=MOST_MATCHES)
            elif base:
                expression = f"({base}) AND {one.expression}"
                keys = postings.having(self._connection, expression, reach, limit=MOST_MATCHES)
            else:
                break
            for key in keys:
                if key in promising:
                    promising[key] += worth
                elif self._scope.is_narrow and task.demands.allow(key):
                    promising[key] = worth
        return promising

    def _conjunctions(self, unread: Sequence["_Unread"], task: Task) -> dict[int, float]:
        """Candidates where other words bring too few: chunks that have all of the words, or else the rarer of them."""
        spread = postings.stretches(self._connection, self._scope.ranges, wanted=self._limits.spread)
        each = ceil(self._limits.conjunctions / max(1, len(spread)))
        found: dict[int, float] = {}
        for number in dict.fromkeys((len(unread), ceil(len(unread) / 2), 1)):
            expression = f"({' AND '.join(one.expression for one in unread[:number])}){task.demands.without}"
            worth = sum(one.worth for one in unread[:number])
            for stretch in spread:
                keys = postings.having(self._connection, expression, stretch, limit=each, filters=self._scope)
                for key in keys:
                    if task.demands.allow(key):
                        found.setdefault(key, worth)
            if len(found) >= self._limits.refined:
                break
        sizes = postings.sizes(self._connection, list(found))
        return {key: worth * saturation(2.0, sizes.get(key, 0), task.mean_size) for key, worth in found.items()}


@dataclass(frozen=True, slots=True)
class _Unread:
    """A word that was not read: how to find it, and what it can add to a score."""

    expression: str
    gain: float

    @property
    def worth(self) -> float:
        """What it adds where it stands once, as typed."""
        return self.gain * saturation(1.0 + EXACT_WEIGHT, 0, 1.0)


def _gain(in_chunks: int, chunks: int) -> float:
    return Feature({}, estimated_chunks=in_chunks).gain(chunks)


def _counted(texts: Mapping[int, tuple[str, str, str]], wanted: set[str]) -> dict[str, Postings]:
    """The postings of these tokens in these chunks, from their texts."""
    found = {token: Postings({}, {}, {}) for token in wanted}
    for key, (title, body, keys) in texts.items():
        for column, said in (("title", tokens(title)), ("body", tokens(body)), ("keys", keys.split())):
            for token, count in Counter(said).items():
                if token in wanted:
                    getattr(found[token], column)[key] = count
    return found
