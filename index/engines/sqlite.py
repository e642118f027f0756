"""The embedded engine: the SQLite file itself.

Rarest words first: a word brings new chunks into the ranking only while fewer than `MOST_POSTINGS` were read, and is
left out after that. In an index where no question reads so many, which is any below some 50,000 chunks, the ranking is
exact.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from index.errors import EngineError
from index.model import Audience, ChunkId, Filters, Query, Ranked, Vector
from index.store import postings, vectors
from index.store.driver import DatabaseError
from index.store.reading import StoredChunk, chunk_ids, chunks_by_id
from index.store.scope import Scope, scope_of
from index.store.store import Store
from index.text.bm25 import Feature, coverage, scores
from index.text.fold import tokens, words
from index.text.words import Keys

MOST_POSTINGS: Final = 60_000
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


@dataclass(frozen=True, slots=True)
class _Sought:
    """What is looked for of a word: its token in title and body, and keys, any of which stands for it."""

    token: str | None
    keys: tuple[str, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.keys if self.token is None else (self.token, *self.keys)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the question as typed, and how many postings stand behind it."""

    text: str
    sought: tuple[_Sought, ...]
    frequency: int


class SqliteEngine:
    """Ranks what one index file holds."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        self._keys = keys
        self._lock = asyncio.Lock()  # the connection has one transaction

    @asynccontextmanager
    async def view(self, audience: Audience, filters: Filters) -> AsyncIterator["SqliteView"]:
        """A read transaction, so that both rankings see the same rows."""
        connection = self._store.connection
        try:
            async with self._lock:
                await connection.execute("BEGIN")
                try:
                    scope = await scope_of(connection, await self._store.sources(), audience, filters)
                    yield SqliteView(self._store, self._keys, scope)
                finally:
                    await connection.execute("COMMIT")
        except DatabaseError as error:
            raise EngineError(f"{self._store.name}: cannot be searched: {error} (run `sources verify`)") from error


class SqliteView:
    def __init__(self, store: Store, keys: Keys, scope: Scope) -> None:
        self._connection = store.connection
        self._keys = keys
        self._scope = scope

    async def lexical(self, query: Query, *, limit: int) -> list[Ranked]:
        if self._scope.is_empty:
            return []
        demanded, excluded = await self._demands(query)
        groups = [[Feature(dict.fromkeys(found, 1.0))] for found in demanded]
        plain = [term for term in query.terms if not (term.is_phrase or term.is_excluded)]
        asked = [await self._word(text) for text in dict.fromkeys(term.text for term in plain) if tokens(text)]
        groups += await self._of_words(asked)
        features = [feature for group in groups for feature in group] + await self._of_pairs(asked)
        chunks, size = await postings.totals(self._connection, self._scope.visible)
        sizes = await postings.sizes(self._connection, list({key for one in features for key in one.frequency}))
        scored = scores(features, sizes, chunks=chunks, mean_size=size / max(chunks, 1))
        scored = {key: score for key, score in scored.items() if _is_allowed(key, demanded, excluded)}
        ranked = await self._ranked(scored, limit)
        covered = coverage(groups, [key for key, _ in ranked], chunks=chunks)
        return [replace(place, coverage=covered[key]) for key, place in ranked]

    async def _demands(self, query: Query) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
        """For each phrase of the query the chunks that have it, and for each excluded term those that must not."""
        demanded = [await self._matching(term.text) for term in query.terms if term.is_phrase and not term.is_excluded]
        excluded = [await self._matching(term.text) for term in query.terms if term.is_excluded]
        return demanded, excluded

    async def _matching(self, phrase: str) -> frozenset[int]:
        if not tokens(phrase):
            return frozenset()
        return await postings.matching(self._connection, phrase, self._scope.visible)

    async def _of_words(self, asked: Sequence[_Word]) -> list[list[Feature]]:
        """The features of each word."""
        groups: list[list[Feature]] = []
        spent = 0
        cache: dict[str, postings.Postings] = {}
        for word in sorted(asked, key=lambda word: word.frequency):
            if spent and spent + word.frequency > MOST_POSTINGS:
                continue
            spent += word.frequency
            groups.append(await self._features(word, cache))
        return groups

    async def _of_pairs(self, asked: Sequence[_Word]) -> list[Feature]:
        """A feature for each two neighbours of the question that are neighbours in a chunk, as typed."""
        return [
            Feature(dict.fromkeys(await self._matching(f"{one.text} {other.text}"), 1.0), PAIR_WEIGHT)
            for one, other in pairwise(asked)
            if 0 < min(one.frequency, other.frequency) <= PAIRED_POSTINGS
        ]

    async def _word(self, text: str) -> _Word:
        sought = self._sought(text)
        frequency = 0
        for token in dict.fromkeys(token for one in sought for token in one.tokens):
            frequency += await postings.frequency(self._connection, token, self._scope.visible)
        return _Word(text, sought, frequency)

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

    async def _features(self, word: _Word, cache: dict[str, postings.Postings]) -> list[Feature]:
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

    async def _ranked(self, scored: dict[int, float], limit: int) -> list[tuple[int, Ranked]]:
        """The best `limit` that pass the reader's filters; equal scores by id, so that the order is total."""
        order = sorted(scored, key=lambda key: (-scored[key], key))
        kept: list[int] = []
        for start in range(0, len(order), 1_000):
            block = order[start : start + 1_000]
            kept += await self._passing(block)
            if len(kept) >= limit + 20:
                break
        identities = await chunk_ids(self._connection, kept[: limit + 20])
        best = sorted(identities, key=lambda key: (-scored[key], identities[key]))[:limit]
        return [(key, Ranked(identities[key], rank, scored[key])) for rank, key in enumerate(best, start=1)]

    async def _passing(self, keys: list[int]) -> list[int]:
        if self._scope.keys is not None:
            return [key for key in keys if key in self._scope.keys]
        return await postings.passing(self._connection, keys, self._scope)

    async def nearest(self, vector: Vector, query: Query, *, limit: int) -> list[Ranked]:
        if self._scope.is_empty:
            return []
        demanded, excluded = await self._demands(query)
        found = await vectors.nearest(self._connection, vector, self._scope, limit=limit)
        near = [one for one in found if _is_allowed(one.chunk_key, demanded, excluded)]
        identities = await chunk_ids(self._connection, [one.chunk_key for one in near])
        cosines = {identities[one.chunk_key]: one.cosine for one in near if one.chunk_key in identities}
        best = sorted(cosines, key=lambda identity: (-cosines[identity], identity))
        return [Ranked(identity, rank, cosines[identity]) for rank, identity in enumerate(best, start=1)]

    async def notes(self) -> list[str]:
        waiting = await vectors.pending_count(self._connection, self._scope.visible)
        return [f"{waiting:,} passages wait for a vector and are found by words alone"] if waiting else []

    async def stored(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        return await chunks_by_id(self._connection, chunks)


def _is_allowed(key: int, demanded: Sequence[frozenset[int]], excluded: Sequence[frozenset[int]]) -> bool:
    return all(key in found for found in demanded) and not any(key in found for found in excluded)


def _frequency(sought: _Sought, cache: dict[str, postings.Postings]) -> dict[int, float]:
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
