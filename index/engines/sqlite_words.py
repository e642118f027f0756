"""Ranking by words in the index file.

Exact while the words of a question stand behind few enough postings. Beyond that, rarest words first: those that fit
into the budget are read whole and bring the candidates. The others, the common words, are looked up in the best of the
candidates alone, and how rare they are is judged by a sample. If every word is common, the candidates are chunks that
have all of them, or else the rarer of them, from all parts of the index. docs/scale.md says what that costs and loses.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import pairwise
from math import ceil
from typing import Final

import aiosqlite

from index.model import Query, Ranked
from index.store import postings
from index.store.postings import ALL_MATCHES, MOST_MATCHES, Postings, quoted
from index.store.reading import chunk_ids
from index.store.scope import Scope
from index.text.bm25 import Feature, ceilings, coverage, only, saturation, scores
from index.text.fold import tokens, words
from index.text.words import Keys

EXACT_WEIGHT: Final = 1.0
"""What a word counts where it stands as typed, beside 1 for its key."""
TITLE_WEIGHT: Final = 4.0
"""What the word counts more in title, headings and path."""
PAIR_WEIGHT: Final = 0.7
"""What two neighbouring words of the question count where they are neighbours too, beside 1 for a word."""
PAIRED_POSTINGS: Final = 5_000
"""A pair is looked for when its rarer word has at most so many: two common words say little and cost much."""
PART_WEIGHT: Final = 0.5
MOST_CONTAINING: Final = 2_000

_SPARE: Final = 20


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


@dataclass(frozen=True, slots=True)
class _Sought:
    """What is looked for of a word: its token in title and body, and keys, any of which stands for it."""

    token: str | None
    keys: tuple[str, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.keys if self.token is None else (self.token, *self.keys)

    @property
    def expression(self) -> str:
        """For FTS5. Whatever is stored as typed is stored under a key as well, if it has one."""
        column, found = ("keys", self.keys) if self.keys else ("{title body}", self.tokens)
        return f"({column} : ({' OR '.join(map(quoted, found))}))"


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the question as typed, and the postings behind it: at least so many, where that is above the budget."""

    text: str
    sought: tuple[_Sought, ...]
    frequency: int

    @property
    def expression(self) -> str:
        return f"({' OR '.join(one.expression for one in self.sought)})"


@dataclass(frozen=True, slots=True)
class Demands:
    """For each phrase of the query the chunks that have it, and for each excluded term those that must not be shown."""

    phrases: tuple[str, ...]
    demanded: tuple[frozenset[int], ...]
    unwanted: tuple[str, ...]
    excluded: tuple[frozenset[int], ...]

    @property
    def without(self) -> str:
        """For FTS5, behind another expression: it takes away whatever is excluded."""
        return "".join(f" NOT ({{title body}} : {quoted(phrase)})" for phrase in self.unwanted)

    def allow(self, key: int) -> bool:
        return all(key in found for found in self.demanded) and not any(key in found for found in self.excluded)


class WordRanking:
    """Ranks inside one read transaction."""

    def __init__(self, connection: aiosqlite.Connection, keys: Keys, scope: Scope, limits: Limits = LIMITS) -> None:
        self._connection = connection
        self._keys = keys
        self._scope = scope
        self._limits = limits

    async def ranked(self, query: Query, *, limit: int) -> list[Ranked]:
        """Best first."""
        demands = await self.demands(query)
        chunks, size = await postings.totals(self._connection, self._scope.visible)
        is_small = chunks <= self._limits.small
        budget = self._limits.small_budget if is_small else self._limits.budget
        plain = [term for term in query.terms if not (term.is_phrase or term.is_excluded)]
        texts = [text for text in dict.fromkeys(term.text for term in plain) if tokens(text)]
        asked = [await self._word(text, budget, is_small=is_small) for text in texts]
        read, common = _parted(asked, budget)
        cache: dict[str, Postings] = {}
        groups = [[Feature(dict.fromkeys(found, 1.0))] for found in demands.demanded]
        groups += [await self._features(word, cache) for word in read]
        task = _Task(demands, chunks, size / max(chunks, 1), limit + _SPARE)
        if common:
            groups += await self._of_common(common, read, [one for group in groups for one in group], task)
        features = [feature for group in groups for feature in group] + await self._of_pairs(asked)
        ranked = await self._best(features, task, limit)
        covered = coverage(groups, [key for key, _ in ranked], chunks=chunks)
        return [replace(place, coverage=covered[key]) for key, place in ranked]

    async def demands(self, query: Query) -> Demands:
        phrases = [term.text for term in query.terms if term.is_phrase and not term.is_excluded]
        unwanted = [term.text for term in query.terms if term.is_excluded and tokens(term.text)]
        return Demands(
            tuple(phrases),
            tuple([await self._matching(text) for text in phrases]),
            tuple(unwanted),
            tuple([await self._matching(text, limit=ALL_MATCHES) for text in unwanted]),
        )

    async def _matching(self, phrase: str, *, limit: int = MOST_MATCHES) -> frozenset[int]:
        if not tokens(phrase):
            return frozenset()
        return await postings.matching(self._connection, phrase, self._scope.visible, limit=limit)

    async def _of_pairs(self, asked: Sequence[_Word]) -> list[Feature]:
        """A feature for each two neighbours of the question that are neighbours in a chunk, as typed."""
        return [
            Feature(dict.fromkeys(await self._matching(f"{one.text} {other.text}"), 1.0), PAIR_WEIGHT)
            for one, other in pairwise(asked)
            if 0 < min(one.frequency, other.frequency) <= PAIRED_POSTINGS
        ]

    async def _word(self, text: str, budget: int, *, is_small: bool) -> _Word:
        """Counts no further than needed to know that a word is common.

        In a large index the forms of a word are counted at once, and taken for two postings in each chunk: its own and
        that of its key.
        """
        sought = self._sought(text)
        frequency = 0
        if not is_small:
            for one in sought:
                if frequency <= budget:
                    frequency += 2 * await self._frequency(one.expression, budget // 2)
        else:
            for token in dict.fromkeys(token for one in sought for token in one.tokens):
                if frequency <= budget:
                    frequency += await self._frequency(quoted(token), budget)
        return _Word(text, sought, frequency)

    async def _frequency(self, expression: str, budget: int) -> int:
        return await postings.frequency(self._connection, expression, self._scope.visible, at_most=budget + 1)

    def _sought(self, text: str) -> tuple[_Sought, ...]:
        """`SendAsync` is one word with its own key and, beside it, those of its pieces."""
        found: dict[_Sought, None] = {}
        seen: set[tuple[str, ...]] = set()
        for word in words(text):
            whole, *pieces = self._keys.query_groups(word) or ((),)
            found[_Sought(next(iter(tokens(word)), None), whole)] = None
            found.update((_Sought(None, piece), None) for piece in pieces)
            seen.update((whole, *pieces))
        found.update((_Sought(None, group), None) for group in self._keys.query_groups(text) if group not in seen)
        return tuple(found)

    async def _features(self, word: _Word, cache: dict[str, Postings]) -> list[Feature]:
        if word.frequency == 0:
            return await self._features_of_part(word.text)
        for token in dict.fromkeys(token for one in word.sought for token in one.tokens):
            if token not in cache:
                cache[token] = await postings.postings(self._connection, token, self._scope.visible)
        return [Feature(_frequency(one, cache)) for one in word.sought]

    async def _features_of_part(self, text: str) -> list[Feature]:
        """A word that stands nowhere may be the beginning or the inside of one that does."""
        visible = self._scope.visible
        found: set[int] = set()
        for token in tokens(text):
            if len(token) >= 2:
                found |= await postings.matching(self._connection, token, visible, is_prefix=True)
            if not found and len(token) >= 3:
                found |= await postings.containing(self._connection, token, visible, limit=MOST_CONTAINING)
        return [Feature(dict.fromkeys(found, 1.0), PART_WEIGHT)] if found else []

    async def _of_common(
        self, common: Sequence[_Word], read: Sequence[_Word], features: Sequence[Feature], task: "_Task"
    ) -> list[list[Feature]]:
        """The features of words that are too common to be read, in the most promising chunks alone."""
        rarity = await self._rarity([one for word in common for one in word.sought], task.chunks)
        unread = [
            _Unread(word.expression, sum(_gain(rarity[one], task.chunks) for one in word.sought)) for word in common
        ]
        unread.sort(key=lambda one: (-one.gain, one.expression))
        allowed = self._allowed(ceilings(features, chunks=task.chunks), task.demands)
        if self._scope.is_narrow or allowed:
            base = " AND ".join(f"({{title body}} : {quoted(phrase)})" for phrase in task.demands.phrases)
            base = base or " OR ".join(word.expression for word in read if word.frequency)
            promising = await self._with_common(allowed, unread, base, task)
        else:
            promising = await self._conjunctions(unread, task)
        chosen = await self._chosen(promising)
        found = await postings.texts(self._connection, chosen)
        wanted = {token for word in common for one in word.sought for token in one.tokens}
        counted = await asyncio.to_thread(_counted, found, wanted)
        return [
            [Feature(_frequency(one, counted), estimated_chunks=rarity[one]) for one in word.sought] for word in common
        ]

    async def _chosen(self, promising: Mapping[int, float]) -> list[int]:
        """The most promising of those that pass the reader's filters."""
        order = sorted(promising, key=promising.__getitem__, reverse=True)
        step = 10 * self._limits.refined
        chosen: list[int] = []
        while order and len(chosen) < self._limits.refined:
            chosen += await self._passing(order[:step])
            order = order[step:]
        return chosen[: self._limits.refined]

    async def _rarity(self, sought: Sequence[_Sought], chunks: int) -> dict[_Sought, int]:
        """In about how many visible chunks each stands; at least one, since it stands somewhere.

        Judged by a sample, for a count of all would be too dear: a word of one chunk in twenty is judged to about a
        tenth, which moves its weight by a thirtieth.
        """
        sample = await postings.sample(self._connection, self._scope.visible)
        wanted = {key for one in sought for key in one.keys}
        said = [wanted.intersection(keys.split()) for keys in sample]
        found = {}
        for one in sought:
            count = sum(1 for keys in said if not keys.isdisjoint(one.keys))
            found[one] = max(1, round(count * chunks / max(1, len(said))))
        return found

    async def _with_common(
        self, allowed: Mapping[int, float], unread: Sequence["_Unread"], base: str, task: "_Task"
    ) -> dict[int, float]:
        """Candidates by what they have of the words that were read, and by which common words they have.

        In a narrow scope a common word alone makes a candidate.
        """
        promising = dict(allowed)
        reach = self._scope.reach() if self._scope.is_narrow else self._scope.ranges
        for one in unread if self._scope.is_narrow else unread[: self._limits.looked_up]:
            worth = one.worth
            if self._scope.is_narrow:
                keys = await postings.having(self._connection, one.expression, reach, limit=MOST_MATCHES)
            elif base:
                expression = f"({base}) AND {one.expression}"
                keys = await postings.having(self._connection, expression, reach, limit=MOST_MATCHES)
            else:
                break
            for key in keys:
                if key in promising:
                    promising[key] += worth
                elif self._scope.is_narrow and task.demands.allow(key):
                    promising[key] = worth
        return promising

    async def _conjunctions(self, unread: Sequence["_Unread"], task: "_Task") -> dict[int, float]:
        """Candidates where there is no other word: chunks that have all of the words, or else the rarer of them."""
        spread = await postings.stretches(self._connection, self._scope.ranges, wanted=self._limits.spread)
        each = ceil(self._limits.conjunctions / max(1, len(spread)))
        found: dict[int, float] = {}
        for number in dict.fromkeys((len(unread), ceil(len(unread) / 2), 1)):
            expression = f"({' AND '.join(one.expression for one in unread[:number])}){task.demands.without}"
            worth = sum(one.worth for one in unread[:number])
            for stretch in spread:
                keys = await postings.having(self._connection, expression, stretch, limit=each, filters=self._scope)
                for key in keys:
                    if task.demands.allow(key):
                        found.setdefault(key, worth)
            if len(found) >= self._limits.refined:
                break
        sizes = await postings.sizes(self._connection, list(found))
        return {key: worth * saturation(2.0, sizes.get(key, 0), task.mean_size) for key, worth in found.items()}

    async def _best(self, features: Sequence[Feature], task: "_Task", limit: int) -> list[tuple[int, Ranked]]:
        """The best `limit` that pass the reader's filters; equal scores by id, so that the order is total.

        Scored in the order of what each could reach at most, until none that is left could come in.
        """
        highest = self._allowed(ceilings(features, chunks=task.chunks), task.demands)
        order = sorted(highest, key=highest.__getitem__, reverse=True)
        scored: dict[int, float] = {}
        start, step = 0, max(500, 4 * task.wanted)
        while start < len(order):
            block = await self._passing(order[start : start + step])
            sizes = await postings.sizes(self._connection, block)
            scored |= scores(only(features, block), sizes, chunks=task.chunks, mean_size=task.mean_size)
            start += step
            step *= 4
            if len(scored) >= task.wanted and start < len(order):
                last = nlargest(task.wanted, scored.values())[-1]
                if highest[order[start]] < last:
                    break
        kept = sorted(scored, key=lambda key: (-scored[key], key))[: task.wanted]
        identities = await chunk_ids(self._connection, kept)
        best = sorted(identities, key=lambda key: (-scored[key], identities[key]))[:limit]
        return [(key, Ranked(identities[key], rank, scored[key])) for rank, key in enumerate(best, start=1)]

    def _allowed(self, scored: dict[int, float], demands: Demands) -> dict[int, float]:
        if demands.demanded or demands.excluded:
            scored = {key: score for key, score in scored.items() if demands.allow(key)}
        if self._scope.keys is not None or self._scope.ranges is not None:
            scored = {key: score for key, score in scored.items() if self._scope.may_hold(key)}
        return scored

    async def _passing(self, keys: list[int]) -> list[int]:
        return keys if not self._scope.predicate else await postings.passing(self._connection, keys, self._scope)


@dataclass(frozen=True, slots=True)
class _Task:
    """What one ranking is about: `wanted` places, a few more than are asked for."""

    demands: Demands
    chunks: int
    mean_size: float
    wanted: int


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


def _parted(asked: Sequence[_Word], budget: int) -> tuple[list[_Word], list[_Word]]:
    """Words to be read, rarest first, and those that would go beyond the budget."""
    read: list[_Word] = []
    common: list[_Word] = []
    spent = 0
    for word in sorted(asked, key=lambda word: word.frequency):
        if spent + word.frequency > budget:
            common.append(word)
        else:
            spent += word.frequency
            read.append(word)
    return read, common


def _counted(texts: Mapping[int, tuple[str, str, str]], wanted: set[str]) -> dict[str, Postings]:
    """The postings of these tokens in these chunks, from their texts."""
    found = {token: Postings({}, {}, {}) for token in wanted}
    for key, (title, body, keys) in texts.items():
        for column, said in (("title", tokens(title)), ("body", tokens(body)), ("keys", keys.split())):
            for token, count in Counter(said).items():
                if token in wanted:
                    getattr(found[token], column)[key] = count
    return found


def _frequency(sought: _Sought, cache: Mapping[str, Postings]) -> dict[int, float]:
    """One frequency for a word in all its forms: judged apart, a rare form of a common word would pass for rare."""
    found: dict[int, float] = {}
    for key in sought.keys:
        for chunk, count in cache[key].keys.items():
            found[chunk] = max(found.get(chunk, 0.0), float(count))
    if sought.token is not None:
        as_typed = cache[sought.token]
        for chunk, count in as_typed.body.items():
            found[chunk] = found.get(chunk, 0.0) + EXACT_WEIGHT * count
        for chunk, count in as_typed.title.items():
            found[chunk] = found.get(chunk, 0.0) + EXACT_WEIGHT * TITLE_WEIGHT * count
    return found
