"""A synthetic source: pages of ten passages each, written like any other source's."""

import time
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from msgspec import Struct

from index.model import Chunk, ChunkId, Corpus, Document, DocumentId, Kind, SourceId, Span, chunk_id
from index.text.parts import embedding_text
from ingest.report import Outcome, SourceReport
from ingest.writing import Writer

SOURCE: Final = SourceId("notes:measure")
_ON_A_PAGE: Final = 10
_PAGES_AT_ONCE: Final = 500


class Passages(Protocol):
    """`Texts`, or what was made by them before."""

    def passage(self, number: int) -> str: ...


class SyntheticWorker(Struct, frozen=True):
    """The `Worker` of a corpus of `size` chunks."""

    texts: Passages
    size: int

    @property
    def source(self) -> SourceId:
        return SOURCE

    def owns(self, source: SourceId) -> bool:
        return source == SOURCE

    async def refresh(self, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
        start = time.monotonic()
        reports = []
        pages = -(-self.size // _ON_A_PAGE)
        for first in range(0, pages, _PAGES_AT_ONCE):
            async with writer.batch(SOURCE, label="measure", is_public=False) as batch:
                for number in range(first, min(first + _PAGES_AT_ONCE, pages)):
                    await batch.put(page(self.texts, number, self.size))
            reports.append(batch.report(SOURCE, Outcome.UPDATED, skipped={}, seconds=0.0))
        return [
            SourceReport(
                SOURCE,
                Outcome.UPDATED,
                documents=sum(report.documents for report in reports),
                chunks_added=sum(report.chunks_added for report in reports),
                seconds=time.monotonic() - start,
            )
        ]


def page(texts: Passages, number: int, size: int) -> Document:
    """The `number`th page of a corpus of `size` chunks."""
    identity = _name(number)
    first = number * _ON_A_PAGE
    chunks = tuple(
        Chunk(id=chunk_id(identity, str(place)), ordinal=place, text=texts.passage(first + place))
        for place in range(min(_ON_A_PAGE, size - first))
    )
    return Document(
        id=identity, source=SOURCE, corpus=Corpus.NOTES, kind=Kind.NOTE, title="", revision="1", chunks=chunks,
        path=f"{number}.md",
    )  # fmt: skip


def embedded(texts: Passages, size: int) -> Iterator[tuple[ChunkId, str]]:
    """Each chunk with the text that its vector was made from."""
    for number in range(-(-size // _ON_A_PAGE)):
        document = page(texts, number, size)
        for chunk in document.chunks:
            yield chunk.id, embedding_text("", chunk, Span(0, len(chunk.text)))


def _name(number: int) -> DocumentId:
    return DocumentId(f"{SOURCE} {number}.md")
