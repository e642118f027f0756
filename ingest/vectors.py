"""Pending vectors: what was indexed without one gets it, oldest first, batch by batch.

Batches are stored while the next one is embedded, so that neither waits for the other. Where they come quickly several
are stored together; a kill loses those of the last half second, the one that is embedded and the one that is stored. A
dead embedder ends the filling, not the refresh: the parts stay pending and the next run goes on.
"""

import asyncio
import time
from asyncio import Task
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from sys import getsizeof
from typing import Final

from index.embed.base import Embedded, Embedder, Refusal, Role
from index.errors import EmbedderError
from index.model import Chunk, ChunkId, Span
from index.store import vectors
from index.store.store import Store
from index.store.vectors import PendingPart
from index.text.parts import embedding_text
from ingest.drift import has_drifted
from ingest.report import VectorReport
from ingest.writing import Writer

_SINCE: Final = "pending_since_ms"
_ANSWERS_OTHERWISE: Final = (
    "the embedder answers otherwise than when the index was built, under the same name (run `sources refresh --full`)"
)
BATCH: int = 256
"""Parts per batch: enough to sort by length, few enough to lose."""
BATCH_CHARS: Final = 1 << 20
"""Code points of a batch, should its texts be long ones: several times those of an ordinary one."""
_STORED_AFTER_S: Final = 0.5
_MOST_HELD_BYTES: Final = 4 << 20
"""Of vectors that wait for others, and their texts: 1,800 or so of an ordinary model. Each transaction's end waits for
the disk."""


async def fill_pending(
    writer: Writer,
    embedder: Embedder | None,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
    clock: Callable[[], float] = time.monotonic,
) -> VectorReport:
    """Embed every pending part. `progress` hears how many of how many are done."""
    connection = writer.store.connection
    start = clock()
    total = await vectors.pending_count(connection)
    if embedder is None or total == 0:
        return VectorReport(pending=0 if embedder is None else total, seconds=clock() - start)
    try:
        if await has_drifted(writer, embedder):
            return VectorReport(pending=total, fault=_ANSWERS_OTHERWISE, seconds=clock() - start)
    except EmbedderError as error:
        return VectorReport(pending=total, fault=str(error), seconds=clock() - start)
    held: list[tuple[PendingPart, Embedded]] = []
    held_bytes = 0
    embedded = refused = 0
    fault: str | None = None
    stored_at = start - _STORED_AFTER_S

    async def store() -> None:
        nonlocal embedded, refused, stored_at, held_bytes
        stored_at = clock()
        done = [(part, result) for part, result in held if not isinstance(result, Refusal)]
        async with writer.transaction():
            for part, result in held:
                if isinstance(result, Refusal):
                    await vectors.refuse(connection, part, result.reason)
            embedded += await vectors.save(connection, done)
        refused += len(held) - len(done)
        held.clear()
        held_bytes = 0
        progress(embedded + refused, total)

    try:
        async with aclosing(_results(writer.store, embedder)) as made:
            async for batch, results in made:
                held += zip(batch, results, strict=True)
                held_bytes += sum(map(_size_bytes, batch, results))
                if held_bytes >= _MOST_HELD_BYTES or clock() - stored_at >= _STORED_AFTER_S:
                    await store()
    except EmbedderError as error:
        fault = str(error)
    if held:
        await store()
    return VectorReport(embedded, refused, await vectors.pending_count(connection), fault, clock() - start)


async def _results(
    store: Store, embedder: Embedder
) -> AsyncGenerator[tuple[Sequence[PendingPart], Sequence[Embedded]]]:
    """Batch by batch what the embedder says of pending parts. The next batch is with it while the caller has this one.

    EmbedderError comes after the batches before it were given.
    """
    batch = await _batch(store, after=0)
    embedding = _begin(embedder, batch)
    try:
        while batch:
            results = await embedding
            following = await _batch(store, after=batch[-1].part)
            if following:
                embedding = _begin(embedder, following)
            yield batch, results
            batch = following
    finally:
        embedding.cancel()
        await asyncio.gather(embedding, return_exceptions=True)


async def _batch(store: Store, *, after: int) -> list[PendingPart]:
    return await vectors.pending(store.connection, after=after, limit=BATCH, max_chars=BATCH_CHARS)


def _size_bytes(part: PendingPart, result: Embedded) -> int:
    """About what both take in memory."""
    vector_bytes = 0 if isinstance(result, Refusal) else len(result)
    return vector_bytes + getsizeof(part.text) + sum(map(getsizeof, part.heading))


def _begin(embedder: Embedder, batch: Sequence[PendingPart]) -> "Task[list[Embedded]]":
    return asyncio.create_task(embedder.embed([_text(part) for part in batch], Role.DOCUMENT))


async def note_pending(writer: Writer, now_ms: int) -> None:
    """Record since when there is always something pending, for `sources audit`. Writes when that changes, no more."""
    is_pending = await vectors.pending_count(writer.store.connection) > 0
    if is_pending == (await pending_since_ms(writer.store) is not None):
        return
    async with writer.transaction() as store:
        await store.set_value(_SINCE, str(now_ms) if is_pending else "")


async def pending_since_ms(store: Store) -> int | None:
    """None when nothing was pending at the end of the last refresh."""
    value = await store.value(_SINCE)
    return int(value) if value else None


def _text(part: PendingPart) -> str:
    chunk = Chunk(id=ChunkId(0), ordinal=0, text=part.text, heading=part.heading)
    return embedding_text(part.title, chunk, Span(0, len(part.text)))
