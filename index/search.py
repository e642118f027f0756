"""From a question to hits: rankings of one engine, fused, routed and cited.

    texts -> queries -> [lexical, nearest] for each -> reciprocal rank fusion -> routing -> hits

Whatever goes wrong with vectors costs the vectors and nothing else: the answer is lexical and says why. Of the
candidates only what their order depends on is read, and whole chunks of those that are shown.
"""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec.structs import replace

from index.engines.base import Engine, View
from index.errors import EmbedderError
from index.model import EVERYTHING, Answer, Audience, ChunkId, Filters, Hit, Query, Snippet, Vector
from index.ordering import Asked, Placed, SearchSettings, certain, ordered
from index.store.reading import StoredChunk
from index.text.found import Finder
from index.text.query import parse_many
from index.text.routing import route
from index.text.snippet import best_message, snippet
from index.text.words import Keys

if TYPE_CHECKING:
    from index.embed.base import Embedder

__all__ = ["Mode", "SearchSettings", "Searcher"]


class Mode(StrEnum):
    """Which rankings take part. Anything but hybrid is for measuring, or for where there are no vectors."""

    HYBRID = "hybrid"
    LEXICAL = "lexical"
    VECTOR = "vector"


class Searcher:
    """Answers questions from one engine. `scrub` passes over what is sent to an embedder."""

    def __init__(
        self,
        engine: Engine,
        keys: Keys,
        embedder: "Embedder | None",
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
        if queries[0].is_listing:
            return await self._newest(queries[0], audience, limit=limit, skip=skip)
        notes = list(self._notes)
        vectors = [None] * len(queries) if mode is Mode.LEXICAL else await self._embed(queries, notes)
        *earlier, last = enumerate(zip(queries, vectors, strict=True), start=1)
        asked = []
        for number, (query, vector) in earlier:
            async with self._engine.view(audience, query.filters) as view:
                asked.append(await self._asked(view, number, query, vector, mode))
        number, (query, vector) = last
        async with self._engine.view(audience, query.filters) as view:
            asked.append(await self._asked(view, number, query, vector, mode))
            named = {ranked.chunk for one in asked for ranked in (*one.lexical, *one.nearest)}
            candidates = await view.candidates(sorted(named))
            order, waiting = await asyncio.gather(
                # Milliseconds, in which the loop of a bot would see to nothing else.
                asyncio.to_thread(ordered, asked, candidates, self._settings, self._keys.languages),
                self._waiting(view, mode),
            )
            notes += waiting
            page = order[skip : skip + limit]
            stored = await view.stored([placed.fused.chunk for placed in page])
        shown = [(placed, stored[placed.fused.chunk]) for placed in page if placed.fused.chunk in stored]
        hits = await asyncio.to_thread(self._hits, shown, asked)
        return Answer(
            hits=hits,
            is_certain=any(not hit.is_weak for hit in hits),
            notes=tuple(dict.fromkeys(notes)),
            more=max(0, len(order) - skip - len(page)),
        )

    async def _newest(self, query: Query, audience: Audience, *, limit: int, skip: int) -> Answer:
        """What operators alone leave; as far as is asked for, and further by as many places as a ranking has."""
        most = skip + max(limit, self._settings.candidates)
        async with self._engine.view(audience, query.filters) as view:
            order = await view.newest(limit=most)
            page = order[skip : skip + limit]
            stored = await view.stored(page)
        finder = Finder([query], self._keys)
        hits = tuple(_listed(stored[chunk], query.filters, finder) for chunk in page if chunk in stored)
        return Answer(hits, is_certain=bool(hits), notes=(), more=max(0, len(order) - skip - len(page)))

    async def stored(self, hits: Sequence[Hit]) -> dict[ChunkId, StoredChunk]:
        """The whole chunks behind hits, whose audience was decided when they were found; without those gone since."""
        async with self._engine.view(EVERYTHING, Filters()) as view:
            return await view.stored([hit.chunk for hit in hits])

    async def _embed(self, queries: Sequence[Query], notes: list[str]) -> list[Vector | None]:
        if self._embedder is None:
            return [None] * len(queries)
        from index.embed.base import Refusal, Role

        texts = [query.text if self._scrub is None else self._scrub(query.text) for query in queries]
        try:
            results = await self._embedder.embed(texts, Role.QUERY)
        except EmbedderError as error:
            notes.append(f"found by words alone: {error}")
            return [None] * len(queries)
        return [None if isinstance(result, Refusal) else result for result in results]

    async def _waiting(self, view: View, mode: Mode) -> list[str]:
        return [] if mode is Mode.LEXICAL or self._embedder is None else await view.notes()

    async def _asked(self, view: View, number: int, query: Query, vector: Vector | None, mode: Mode) -> Asked:
        limit = self._settings.candidates
        if vector is None or mode is Mode.VECTOR:
            lexical = [] if mode is Mode.VECTOR else await view.lexical(query, limit=limit)
            nearest = [] if vector is None else await view.nearest(vector, query, limit=limit)
        else:
            lexical, nearest = await asyncio.gather(
                view.lexical(query, limit=limit), view.nearest(vector, query, limit=limit)
            )
        return Asked(number, query, route(query.text, self._settings.routes), lexical, nearest)

    def _hits(self, page: Sequence[tuple[Placed, StoredChunk]], asked: Sequence[Asked]) -> tuple[Hit, ...]:
        finder = Finder([one.query for one in asked], self._keys)
        sure = certain(asked, self._settings)
        return tuple(_hit(placed, stored, finder, is_weak=placed.fused.chunk not in sure) for placed, stored in page)


def _hit(placed: Placed, stored: StoredChunk, finder: Finder, *, is_weak: bool) -> Hit:
    chunk = stored.chunk
    return replace(
        _cited(stored, snippet(chunk.text, finder), best_message(chunk.messages, chunk.text, finder)),
        score=placed.score,
        origins=tuple(replace(origin, ranking=origin.ranking.partition(" ")[0]) for origin in placed.fused.origins),
        boosts=placed.boosts,
        is_weak=is_weak,
        also_at=placed.also_at,
    )


def _listed(stored: StoredChunk, filters: Filters, finder: Finder) -> Hit:
    """Of a window the newest message that the filters mean, as far as they tell one from another."""
    text, messages = stored.chunk.text, stored.chunk.messages
    if not messages:
        return _cited(stored, snippet(text, finder), None)
    before_ms = math.inf if filters.before_ms is None else filters.before_ms
    meant = [
        place
        for place, message in enumerate(messages)
        if (not filters.senders or message.sender in filters.senders) and message.sent_ms < before_ms
    ]
    best = meant[-1] if meant else len(messages) - 1
    span = messages[best].span
    return _cited(stored, snippet(text[span.start : span.end], finder), best)


def _cited(stored: StoredChunk, piece: Snippet, best: int | None) -> Hit:
    chunk = stored.chunk
    return Hit(
        chunk=chunk.id,
        document=stored.document,
        source=stored.source,
        corpus=stored.corpus,
        kind=stored.kind,
        title=stored.title,
        score=0.0,
        origins=(),
        boosts=(),
        is_weak=False,
        snippet=piece,
        path=stored.path,
        room=stored.room,
        heading=chunk.heading,
        section=chunk.section,
        paragraph=chunk.paragraph,
        lines=chunk.lines,
        messages=chunk.messages,
        best_message=best,
        first_ms=stored.first_ms,
        last_ms=stored.last_ms,
        revision=stored.revision,
        payload=stored.payload,
        text=chunk.text,
    )
