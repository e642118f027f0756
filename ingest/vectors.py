"""Pending vectors: what was indexed without one gets it, oldest first, batch by batch.

A batch is committed before the next is embedded, so a kill loses one batch at most. A dead embedder ends the filling,
not the refresh: the parts stay pending and the next run goes on.
"""

import time
from collections.abc import Callable

from index.embed.base import Embedder, Refusal, Role
from index.errors import EmbedderError
from index.model import Chunk, ChunkId, Span, Vector
from index.store import vectors
from index.store.vectors import PendingPart
from index.text.parts import embedding_text
from ingest.report import VectorReport
from ingest.writing import Writer

BATCH: int = 256
"""Parts per batch: enough to sort by length, few enough to lose."""


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
    cells = await vectors.cells(connection)
    embedded = refused = after = 0
    fault: str | None = None
    while batch := await vectors.pending(connection, after=after, limit=BATCH):
        after = batch[-1].part
        texts = [_text(part) for part in batch]
        try:
            results = await embedder.embed(texts, Role.DOCUMENT)
        except EmbedderError as error:
            fault = str(error)
            break
        done: list[tuple[PendingPart, Vector]] = []
        async with writer.transaction():
            for part, result in zip(batch, results, strict=True):
                if isinstance(result, Refusal):
                    await vectors.refuse(connection, part, result.reason)
                    refused += 1
                else:
                    done.append((part, result))
            embedded += await vectors.save(connection, done, cells)
        progress(embedded + refused, total)
    if embedded:
        async with writer.transaction():
            await vectors.divide(connection)
    return VectorReport(embedded, refused, await vectors.pending_count(connection), fault, clock() - start)


def _text(part: PendingPart) -> str:
    chunk = Chunk(id=ChunkId(0), ordinal=0, text=part.text, heading=part.heading)
    return embedding_text(part.title, chunk, Span(0, len(part.text)))
