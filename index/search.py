"""From a question to hits: rankings of one engine, fused, routed and cited.

    texts -> queries -> [lexical, nearest] for each -> reciprocal rank fusion -> routing -> hits

Whatever goes wrong with vectors costs the vectors and nothing else: the answer is lexical and says why. Heuristics
(routing, the limit on hits of one document) reorder; only the audience and the reader's filters remove.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from math import sqrt
from typing import Final

from index.embed.base import Embedder, Refusal, Role
from index.engines.base import Engine
from index.errors import EmbedderError
from index.model import EVERYTHING, Answer, Audience, ChunkId, Corpus, Filters, Hit, Query, Ranked, Vector
from index.store.reading import StoredChunk
from index.text.conversation import Stretch, lift_neighbours
from index.text.found import Finder
from index.text.fuse import Fused, WeightedRanking, fuse
from index.text.headword import Headword
from index.text.query import parse_many
from index.text.question import is_question
from index.text.routing import ROUTES, Route, Target, boosts, route
from index.text.snippet import best_message, snippet
from index.text.words import Keys

LEXICAL: Final = "bm25"
NEAREST: Final = "vec"
_TRUSTED_PLACES: Final = 3


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How hits are ranked; the figures behind the defaults are in docs/quality.md.

    `vector_weight` is what vectors count at most: all of it in documents for a question, `statement_share` of it for a
    text that is no question and whose words are found; in chat as much as words leave uncovered, squared.

    A hit is weak when its cosine is below `floor` (None where the model was not calibrated: then nearness alone never
    makes a hit certain) and the words of the question that it has are less than `least_coverage` of it, by rarity.
    """

    candidates: int = 100
    vector_weight: Mapping[Corpus, float] = field(
        default_factory=lambda: {Corpus.CHAT: 0.2, Corpus.FORGE: 1.0, Corpus.NOTES: 1.0}
    )
    statement_share: float = 0.2
    floor: float | None = None
    least_coverage: float = 0.34
    most_of_one_document: int = 3
    routes: tuple[Route, ...] = ROUTES


class Mode(StrEnum):
    """Which rankings take part. Anything but hybrid is for measuring, or for where there are no vectors."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class _Asked:
    """One text of a search with its rankings. `routes` are those whose shape it has."""

    number: int
    query: Query
    routes: tuple[Route, ...]
    lexical: list[Ranked]
    nearest: list[Ranked]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A chunk on its way to become a hit. `also_at` are other places of the same text."""

    fused: Fused
    stored: StoredChunk
    boosts: tuple[tuple[str, float], ...]
    score: float
    also_at: tuple[str, ...] = ()


class Searcher:
    """Answers questions from one engine. `scrub` passes over what is sent to an embedder."""

    def __init__(
        self,
        engine: Engine,
        keys: Keys,
        embedder: Embedder | None,
        settings: SearchSettings,
        *,
        scrub: Callable[[str], str] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self._engine = engine
        self._keys = keys
        self._embedder = embedder
        self._settings = settings
        self._scrub = scrub
        self._notes = notes

    @property
    def has_vectors(self) -> bool:
        """Whether questions are embedded; an index that has none yet gives no nearest chunks all the same."""
        return self._embedder is not None

    async def search(
        self,
        texts: Sequence[str],
        *,
        audience: Audience = EVERYTHING,
        limit: int = 10,
        skip: int = 0,
        mode: Mode = Mode.HYBRID,
        now_ms: int | None = None,
    ) -> Answer:
        """The best `limit` hits after the first `skip`. Raises `QueryError` for a text that cannot be asked."""
        queries = parse_many(texts, now_ms=time.time_ns() // 1_000_000 if now_ms is None else now_ms)
        notes = list(self._notes)
        vectors = [None] * len(queries) if mode is Mode.LEXICAL else await self._embed(queries, notes)
        asked = [
            await self._rank(number, query, vector, audience, mode)
            for number, (query, vector) in enumerate(zip(queries, vectors, strict=True), start=1)
        ]
        async with self._engine.view(audience, Filters()) as view:
            stored = await view.stored(sorted({place.chunk for one in asked for place in (*one.lexical, *one.nearest)}))
            if mode is not Mode.LEXICAL and self._embedder is not None:
                notes += await view.notes()
        # Milliseconds, in which the loop of a bot would see to nothing else.
        hits, more = await asyncio.to_thread(self._page, asked, stored, limit, skip)
        return Answer(
            hits=hits,
            is_certain=any(not hit.is_weak for hit in hits),
            notes=tuple(dict.fromkeys(notes)),
            more=more,
        )

    async def stored(self, hits: Sequence[Hit]) -> dict[ChunkId, StoredChunk]:
        """The whole chunks behind hits, whose audience was decided when they were found; without those gone since."""
        async with self._engine.view(EVERYTHING, Filters()) as view:
            return await view.stored([hit.chunk for hit in hits])

    async def _embed(self, queries: Sequence[Query], notes: list[str]) -> list[Vector | None]:
        if self._embedder is None:
            return [None] * len(queries)
        texts = [query.text if self._scrub is None else self._scrub(query.text) for query in queries]
        try:
            results = await self._embedder.embed(texts, Role.QUERY)
        except EmbedderError as error:
            notes.append(f"found by words alone: {error}")
            return [None] * len(queries)
        return [None if isinstance(result, Refusal) else result for result in results]

    async def _rank(self, number: int, query: Query, vector: Vector | None, audience: Audience, mode: Mode) -> _Asked:
        limit = self._settings.candidates
        async with self._engine.view(audience, query.filters) as view:
            lexical = [] if mode is Mode.VECTOR else await view.lexical(query, limit=limit)
            nearest = [] if vector is None else await view.nearest(vector, query, limit=limit)
        return _Asked(number, query, route(query.text, self._settings.routes), lexical, nearest)

    def _page(
        self, asked: Sequence[_Asked], stored: Mapping[ChunkId, StoredChunk], limit: int, skip: int
    ) -> tuple[tuple[Hit, ...], int]:
        """The hits, and how many there are beyond them."""
        ordered = _spread(_without_copies(self._candidates(asked, stored)), self._settings.most_of_one_document)
        page = ordered[skip : skip + limit]
        finder = Finder([one.query for one in asked], self._keys)
        hits = tuple(self._hit(candidate, asked, finder) for candidate in page)
        return hits, max(0, len(ordered) - skip - len(page))

    def _candidates(self, asked: Sequence[_Asked], stored: Mapping[ChunkId, StoredChunk]) -> list[_Candidate]:
        """Everything that any ranking named, fused and routed, best first."""
        stretches = _stretches(stored)
        asked = [replace(one, lexical=lift_neighbours(one.lexical, stretches)) for one in asked]
        rankings = [ranking for one in asked for ranking in self._weighted(one, stored)]
        routes = tuple(dict.fromkeys(row for one in asked for row in one.routes))
        headwords = [
            Headword(one.query.text, row, self._keys.languages)
            for one in asked
            for row in one.routes
            if row.heading_factor != 1.0
        ]
        found = []
        for fused in fuse(rankings):
            chunk = stored.get(fused.chunk)
            if chunk is None:
                continue
            lifted = boosts(Target(chunk.kind, chunk.chunk.section), routes) + _of_heading(chunk, headwords)
            score = fused.score
            for _, factor in lifted:
                score *= factor
            found.append(_Candidate(fused, chunk, lifted, score))
        # Sorting is stable: what routing leaves equal stays in the order of the fusion, which is total.
        found.sort(key=lambda candidate: -candidate.score)
        return found

    def _weighted(self, one: _Asked, stored: Mapping[ChunkId, StoredChunk]) -> list[WeightedRanking]:
        """The lexical ranking, and the other one in a part for each corpus, since it is trusted differently there."""
        by_corpus: dict[Corpus, list[Ranked]] = {}
        for ranked in one.nearest:
            if ranked.chunk in stored:
                by_corpus.setdefault(stored[ranked.chunk].corpus, []).append(ranked)
        trust = _trust(one.lexical)
        return [
            WeightedRanking(LEXICAL, one.number, one.lexical, trust, _trust_by_rank(one.lexical)),
            *(
                WeightedRanking(f"{NEAREST} {corpus}", one.number, places, self._vector_weight(corpus, one, trust))
                for corpus, places in by_corpus.items()
            ),
        ]

    def _vector_weight(self, corpus: Corpus, one: _Asked, trust: float) -> float:
        """What talk is about is in its words; only where those are missing do the vectors of windows know better."""
        weight = self._settings.vector_weight[corpus]
        if corpus is Corpus.CHAT:
            return weight * (1.0 - trust) ** 2
        if one.routes or is_question(one.query.text) or trust < self._settings.least_coverage:
            return weight
        return weight * self._settings.statement_share

    def _hit(self, candidate: _Candidate, asked: Sequence[_Asked], finder: Finder) -> Hit:
        stored, fused = candidate.stored, candidate.fused
        chunk = stored.chunk
        origins = tuple(replace(origin, ranking=origin.ranking.partition(" ")[0]) for origin in fused.origins)
        return Hit(
            chunk=chunk.id,
            document=stored.document,
            source=stored.source,
            corpus=stored.corpus,
            kind=stored.kind,
            title=stored.title,
            score=candidate.score,
            origins=origins,
            boosts=candidate.boosts,
            is_weak=self._is_weak(chunk.id, asked),
            snippet=snippet(chunk.text, finder),
            path=stored.path,
            room=stored.room,
            heading=chunk.heading,
            section=chunk.section,
            paragraph=chunk.paragraph,
            lines=chunk.lines,
            messages=chunk.messages,
            best_message=best_message(chunk.messages, chunk.text, finder),
            first_ms=stored.first_ms,
            last_ms=stored.last_ms,
            revision=stored.revision,
            payload=stored.payload,
            also_at=candidate.also_at,
        )

    def _is_weak(self, chunk: ChunkId, asked: Sequence[_Asked]) -> bool:
        """Neither near enough to any text, nor with enough of its words: see `SearchSettings`."""
        floor, least = self._settings.floor, self._settings.least_coverage
        for one in asked:
            if any(ranked.chunk == chunk and ranked.coverage >= least for ranked in one.lexical):
                return False
            if floor is not None and any(ranked.chunk == chunk and ranked.score >= floor for ranked in one.nearest):
                return False
        return True


def _stretches(stored: Mapping[ChunkId, StoredChunk]) -> dict[ChunkId, Stretch]:
    """The windows of chat among the chunks, with where and when they were said."""
    return {
        identity: Stretch(one.room, one.first_ms, one.last_ms)
        for identity, one in stored.items()
        if one.room is not None and one.first_ms is not None and one.last_ms is not None
    }


def _of_heading(stored: StoredChunk, headwords: Sequence[Headword]) -> tuple[tuple[str, float], ...]:
    """The lift of a hit whose heading is what some text asks for: the largest, once."""
    if stored.corpus is Corpus.CHAT or not headwords:
        return ()
    heading = stored.chunk.heading[-1] if stored.chunk.heading else stored.title
    factor, name = max((headword.lift(heading), headword.route.name) for headword in headwords)
    return ((f"{name} heading", factor),) if factor > 1.0 else ()


def _trust(lexical: Sequence[Ranked]) -> float:
    """What the lexical ranking of a text counts: the share of the question that its best places have.

    A question in other words, or in another language, meets chunks by its small words alone; their order says little.
    """
    return max((ranked.coverage for ranked in lexical[:_TRUSTED_PLACES]), default=0.0)


def _trust_by_rank(lexical: Sequence[Ranked]) -> tuple[float, ...]:
    """What each lexical place counts: the root of its score's share of the best score."""
    return tuple(sqrt(max(ranked.score, 0.0) / lexical[0].score) for ranked in lexical if lexical[0].score > 0)


def _without_copies(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Equal texts are one hit, the best, that names the other places: mirrors, forks, files that were copied."""
    first: dict[bytes, int] = {}
    kept: list[_Candidate] = []
    for candidate in candidates:
        stored = candidate.stored
        if stored.corpus is Corpus.CHAT:
            kept.append(candidate)
            continue
        digest = blake2b(stored.chunk.text.encode(), digest_size=16).digest()
        place = first.get(digest)
        if place is None or kept[place].stored.document == stored.document:
            first.setdefault(digest, len(kept))
            kept.append(candidate)
        else:
            other = f"{stored.source.partition(':')[2]} {stored.path}"
            kept[place] = replace(kept[place], also_at=(*kept[place].also_at, other))
    return kept


def _spread(candidates: Sequence[_Candidate], most: int) -> list[_Candidate]:
    """Of one document `most` hits keep their place; further ones come after everything else, in their order."""
    seen: Counter[str] = Counter()
    ahead: list[_Candidate] = []
    behind: list[_Candidate] = []
    for candidate in candidates:
        seen[candidate.stored.document] += 1
        (ahead if seen[candidate.stored.document] <= most else behind).append(candidate)
    return [*ahead, *behind]
