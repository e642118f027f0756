"""Ranking in a cluster. Whatever may be shown is decided there, by filters; nothing is taken out of a ranking here.

Words: how many chunks of the audience have each word is counted first; a word that none has is looked for inside of
other words; then one sparse query ranks, with the rarity of each word judged over the audience by the server. Vectors:
one query for the nearest part of each chunk.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from msgspec.structs import replace
from qdrant_client import AsyncQdrantClient, models

from index.engines.qdrant import filters
from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.label import Label, check_readable, read_label
from index.engines.qdrant.layout import DENSE, WORDS
from index.engines.qdrant.points import COMPARED, SHOWN, candidate, row, stored_chunk
from index.engines.qdrant.weights import Asked, Sparse, asked_word, of_question
from index.errors import EngineError
from index.model import Audience, ChunkId, Filters, Query, Ranked, Vector
from index.store.reading import Candidate, StoredChunk
from index.store.vectors import cosine, quantise
from index.text.bm25 import PART_WEIGHT, idf
from index.text.fold import tokens
from index.text.words import Keys
from index.wording import waiting_for_vectors

SPARE: Final = 20
"""Places read beyond those wanted, so that equal scores at the end fall by id and not by chance."""
SINGLE: Final = 1e-5
"""Scores of words that differ by no more than this share are one. The server adds up in single precision, in the order
in which it came to know the words, from hidden chunks too: what differs in the last digits would tell of those."""
LOOKED_AT: Final = 256
"""Chunks that are looked at for words that contain one that stands nowhere."""
LOOKED_AT_NEAR: Final = 256
"""Chunks that the graph of vectors is looked through for at least. Of the ten nearest 87 in a hundred were found with
the server's own 64, 97 with 128, 99 with 256 and with 512 (20,000 x 1,024, docs/qdrant.md)."""
LEAST_INSIDE: Final = 3
MOST_LISTED: Final = 4_096
"""Chunks that are looked at for a list of the newest documents."""
_NEWEST_FIRST: Final = models.Direction.DESC
AT_ONCE: Final = 8
"""Requests side by side."""

Record = TypeVar("Record")


class QdrantEngine:
    """Ranks what one collection holds. `label` is what it was labelled with when it was opened."""

    def __init__(self, cluster: Cluster, keys: Keys, label: Label) -> None:
        self._cluster = cluster
        self._keys = keys
        self._label = label

    @asynccontextmanager
    async def view(self, audience: Audience, filters: Filters) -> AsyncIterator["QdrantView"]:
        """Raises `EngineError`, at the latest at its end, for a collection that was made anew: another model's, say."""
        yield QdrantView(self._cluster, self._keys, audience, filters, await self._checked_label())
        await self._checked_label()

    async def _checked_label(self) -> Label:
        label = await read_label(self._cluster)
        check_readable(label, self._cluster)
        if label.made != self._label.made:
            raise EngineError(f"{self._cluster.name}: the collection was made anew (ask again)")
        return label


class QdrantView:
    """Not one state: what the writer changes while a question runs may be seen in part, chunk by chunk."""

    def __init__(self, cluster: Cluster, keys: Keys, audience: Audience, wanted: Filters, label: Label) -> None:
        self._cluster = cluster
        self._keys = keys
        self._label = label
        self._is_empty = audience.sources == frozenset()
        self._audience = filters.audience_filter(audience)
        self._scope = filters.narrowed(self._audience, filters.filter_conditions(wanted))
        self._limit = asyncio.Semaphore(AT_ONCE)

    async def lexical(self, query: Query, *, limit: int) -> list[Ranked]:
        scope = self._demanded(query)
        if scope is None or self._is_empty:
            return []
        plain = dict.fromkeys(term.text for term in query.terms if not term.is_excluded and tokens(term.text))
        asked = [asked_word(text, self._keys) for text in plain]
        if not asked:
            return []
        chunks, *frequencies = await asyncio.gather(
            self._count(self._audience), *(self._count(self._within_audience(word)) for word in asked)
        )
        found = [word for word, frequency in zip(asked, frequencies, strict=True) if frequency]
        missing = [word for word, frequency in zip(asked, frequencies, strict=True) if not frequency]
        parts = await asyncio.gather(*(self._containing(word) for word in missing))
        sparse = of_question(found, {term: PART_WEIGHT for terms in parts for term in terms})
        if not sparse.indices:
            return []
        points = await self._ranked(sparse, scope, limit)
        groups = [*zip(asked, frequencies, strict=True)]
        covered = await self._coverage(groups, dict(zip((w.text for w in missing), parts, strict=True)), points, chunks)
        return [replace(place, coverage=covered[place.chunk]) for place in points]

    def _demanded(self, query: Query) -> models.Filter | None:
        demanded = filters.demands(query)
        return None if demanded is None else filters.narrowed(self._scope, *demanded)

    def _within_audience(self, word: Asked) -> models.Filter:
        return filters.narrowed(self._audience, [filters.holding(word)])

    async def _count(self, where: models.Filter) -> int:
        async with self._limit:
            counted = await self._cluster.read(
                lambda client: client.count(self._collection, count_filter=where, exact=True)
            )
        return int(counted.count)

    async def _containing(self, word: Asked) -> frozenset[str]:
        """Stored words that begin with the one asked for or, if there is none, have it inside."""
        found: set[str] = set()
        for token in word.terms:
            if len(token) >= 2:
                found |= await self._terms(token, is_prefix=True)
            if not found and len(token) >= LEAST_INSIDE:
                found |= await self._terms(token, is_prefix=False)
        return frozenset(found)

    async def _terms(self, part: str, *, is_prefix: bool) -> set[str]:
        where = filters.narrowed(self._audience, [filters.containing(part, is_prefix=is_prefix)])
        async with self._limit:
            points, _ = await self._cluster.read(
                lambda client: client.scroll(
                    self._collection,
                    scroll_filter=where,
                    limit=LOOKED_AT,
                    with_payload=["terms"],
                    consistency=self._consistency,
                )
            )
        terms = {str(term) for point in points for term in (point.payload or {}).get("terms", ())}
        return {term for term in terms if (term.startswith(part) if is_prefix else part in term)}

    async def _ranked(self, sparse: Sparse, scope: models.Filter, limit: int) -> list[Ranked]:
        query = models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))
        params = models.SearchParams(idf=models.IdfCorpusParams(corpus=self._audience))
        points = await self._query(query, WORDS, scope, limit + SPARE, params)
        best = levelled((point.score, int(point.id)) for point in points if point.score > 0)[:limit]
        return [Ranked(ChunkId(identity), rank, score) for rank, (score, identity) in enumerate(best, start=1)]

    async def _coverage(
        self,
        groups: Sequence[tuple[Asked, int]],
        parts: dict[str, frozenset[str]],
        places: Sequence[Ranked],
        chunks: int,
    ) -> dict[ChunkId, float]:
        """The share of the question that each chunk has, each word by its rarity: as in `index.text.bm25`."""
        weights = [idf(frequency, chunks) for _, frequency in groups]
        whole = sum(weights)
        covered = dict.fromkeys((place.chunk for place in places), 0.0)
        if not whole or not places:
            return covered
        ids: list[models.ExtendedPointId] = [place.chunk for place in places]
        named = models.HasIdCondition(has_id=ids)
        words = [
            Asked(word.text, tuple(sorted(parts[word.text])), ()) if word.text in parts else word for word, _ in groups
        ]
        requests = [
            models.QueryRequest(
                filter=models.Filter(must=[named, filters.holding(word)]), limit=len(places), with_payload=False
            )
            for word in words
            if word.terms or word.keys
        ]
        answers = await self._cluster.read(
            lambda client: client.query_batch_points(self._collection, requests, consistency=self._consistency)
        )
        weighed = [weight for word, weight in zip(words, weights, strict=True) if word.terms or word.keys]
        for weight, answer in zip(weighed, answers, strict=True):
            for point in answer.points:
                covered[ChunkId(int(point.id))] += weight / whole
        return covered

    async def nearest(self, vector: Vector, query: Query, *, limit: int) -> list[Ranked]:
        scope = self._demanded(query)
        dimension = self._label.fingerprint.dimension
        if scope is None or self._is_empty or not dimension:
            return []
        data = quantise(vector)
        if len(data) != dimension:
            message = f"{self._cluster.name}: the collection holds vectors of {dimension} numbers, not of {len(data)}"
            raise EngineError(f"{message} (run `sources refresh --full`)")
        params = models.SearchParams(hnsw_ef=LOOKED_AT_NEAR)
        points = await self._query([row(data)], DENSE, scope, limit + SPARE, params)
        near = [(cosine(float(point.score), len(data)), int(point.id)) for point in points]
        best = sorted(near, key=_by_score)[:limit]
        return [Ranked(ChunkId(identity), rank, score) for rank, (score, identity) in enumerate(best, start=1)]

    async def newest(self, *, limit: int) -> list[ChunkId]:
        if self._is_empty or limit < 1:
            return []
        asked, dated = limit + SPARE, list[models.Record]()
        while True:
            dated = await self._scrolled(self._scope, asked, models.OrderBy(key="last_ms", direction=_NEWEST_FIRST))
            is_all = len(dated) < asked
            order = first_of_each(dated if is_all else whole_times(dated))
            if is_all or len(order) >= limit or asked >= MOST_LISTED:
                break
            asked = min(4 * asked, MOST_LISTED)  # documents of many chunks stand in front
        if is_all and len(order) < limit:
            undated = filters.narrowed(self._scope, [filters.without("last_ms")])
            order += first_of_each(await self._scrolled(undated, MOST_LISTED))
        return order[:limit]

    async def _scrolled(
        self, scope: models.Filter, limit: int, order: models.OrderBy | None = None
    ) -> list[models.Record]:
        found, _ = await self._cluster.read(
            lambda client: client.scroll(
                self._collection,
                scroll_filter=scope,
                limit=limit,
                order_by=order,
                with_payload=["document", "ordinal", "last_ms"],
                consistency=self._consistency,
            )
        )
        return found

    async def _query(
        self,
        query: models.SparseVector | list[list[int]],
        using: str,
        scope: models.Filter,
        limit: int,
        params: models.SearchParams | None = None,
    ) -> list[models.ScoredPoint]:
        async def ask(client: AsyncQdrantClient) -> models.QueryResponse:
            return await client.query_points(
                self._collection,
                query=query,  # type: ignore[arg-type]
                using=using,
                query_filter=scope,
                search_params=params,
                limit=limit,
                with_payload=False,
                consistency=self._consistency,
            )

        return (await self._cluster.read(ask)).points

    async def candidates(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, Candidate]:
        return await _retrieved(self._cluster, chunks, COMPARED, candidate)

    async def stored(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        return await retrieve(self._cluster, chunks)

    async def notes(self) -> list[str]:
        if self._is_empty:
            return []
        where = filters.narrowed(self._audience, [filters.pending()])
        found = await self._cluster.read(
            lambda client: client.facet(self._collection, "pending", facet_filter=where, limit=1_000, exact=True)
        )
        waiting = sum(int(hit.value) * hit.count for hit in found.hits)
        return [waiting_for_vectors(waiting)] if waiting else []

    @property
    def _collection(self) -> str:
        return self._cluster.settings.collection

    @property
    def _consistency(self) -> models.ReadConsistency | None:
        return consistency_of(self._cluster)


async def retrieve(cluster: Cluster, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
    """Those of the chunks that are there."""
    return await _retrieved(cluster, chunks, SHOWN, stored_chunk)


async def _retrieved(
    cluster: Cluster,
    chunks: Sequence[ChunkId],
    fields: Sequence[str],
    made: Callable[[int, Mapping[str, Any]], Record],
) -> dict[ChunkId, Record]:
    """What is made of these fields of the chunks that are there."""
    if not chunks:
        return {}
    found = await cluster.read(
        lambda client: client.retrieve(
            cluster.settings.collection, list(chunks), with_payload=list(fields), consistency=consistency_of(cluster)
        )
    )
    try:
        return {ChunkId(int(one.id)): made(int(one.id), one.payload or {}) for one in found}
    except ValueError as error:
        raise EngineError(f"{cluster.name}: {error} (run `sources migrate --to qdrant` on the writer)") from error


def consistency_of(cluster: Cluster) -> models.ReadConsistency | None:
    """What reads ask for; None where one replica is all there is or all that is wanted."""
    wanted = cluster.settings.read_consistency
    return None if wanted == "one" or cluster.settings.replicas == 1 else models.ReadConsistencyType(wanted)


def levelled(scored: Iterable[tuple[float, int]]) -> list[tuple[float, int]]:
    """Best first; scores that are one but for `SINGLE` fall by id. What is told of a score are four digits."""
    found: list[tuple[float, int]] = []
    level = 0.0
    for score, identity in sorted(scored, key=_by_score):
        if not found or score < level * (1.0 - SINGLE):
            level = score
        found.append((level, identity))
    return [(float(f"{level:.4g}"), identity) for level, identity in sorted(found, key=_by_score)]


def whole_times(found: Sequence[models.Record]) -> list[models.Record]:
    """Without those of the last time, of which more may follow; all of them where there is no other."""
    last = (found[-1].payload or {}).get("last_ms")
    return [one for one in found if (one.payload or {}).get("last_ms") != last] or list(found)


def first_of_each(found: Iterable[models.Record]) -> list[ChunkId]:
    """The first chunk of each document, newest document first; those of one time, or none, by document."""
    best: dict[str, tuple[int, int, int]] = {}  # time, place in the document, chunk
    for one in found:
        payload = one.payload or {}
        name = str(payload.get("document"))
        place = (int(payload.get("last_ms") or 0), int(payload.get("ordinal") or 0), int(one.id))
        if name not in best or place[1] < best[name][1]:
            best[name] = place
    return [ChunkId(best[name][2]) for name in sorted(best, key=lambda name: (-best[name][0], name))]


def _by_score(scored: tuple[float, int]) -> tuple[float, int]:
    return -scored[0], scored[1]
