"""A store in a real file, and documents to put into it."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from index.model import Chunk, Corpus, Document, DocumentId, Kind, SourceId, chunk_id
from index.store.store import Store, open_store

DOCS = SourceId("repo:docs")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as opened:
        yield opened


@pytest.fixture
def document() -> Callable[..., Document]:
    def make(path: str, *texts: str, source: SourceId = DOCS, title: str = "Title", **fields: object) -> Document:
        identity = DocumentId(f"{source} {path}")
        chunks = tuple(
            Chunk(id=chunk_id(identity, str(number)), ordinal=number, text=text, lines=(number + 1, number + 1))
            for number, text in enumerate(texts)
        )
        made = {"corpus": Corpus.FORGE, "kind": Kind.DOC, "revision": "r1", "path": path, **fields}
        return Document(id=identity, source=source, title=title, chunks=chunks, **made)  # type: ignore[arg-type]

    return make
