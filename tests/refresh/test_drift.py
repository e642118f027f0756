"""Vectors of two models never meet, also when both go by one name."""

from collections.abc import Sequence
from pathlib import Path

from index.embed.base import Embedded, Embedder, Role
from index.embed.hashing import HashingEmbedder
from index.model import Chunk, Corpus, Document, DocumentId, Fingerprint, Kind, SourceId, chunk_id
from index.store.store import open_store
from index.store.vectors import DRIFTED
from ingest.refresh import Plan, refresh
from ingest.report import Outcome, Report, SourceReport
from ingest.writing import Writer
from tests.keys import as_written

SOURCE = SourceId("repo:docs")
FINGERPRINT = Fingerprint(
    schema=1, scrubber=1, chunker=1, words=1, languages=("en",), embedder="hashing-16", dimension=16, query_prefix="",
    document_prefix="",
)  # fmt: skip


class Updated(HashingEmbedder):
    """Another model under the same name."""

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        return await super().embed([f"updated {text[::-1]}" for text in texts], role)


class Pages:
    """A source of as many pages as it is told."""

    source = SOURCE

    def __init__(self, count: int) -> None:
        self.count = count

    def owns(self, source: SourceId) -> bool:
        return source == SOURCE

    async def refresh(self, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
        async with writer.batch(SOURCE, label="docs", is_public=True) as batch:
            for number in range(self.count):
                identity = DocumentId(f"{SOURCE} {number}")
                chunk = Chunk(id=chunk_id(identity, ""), ordinal=0, text=f"page number {number} of many words")
                await batch.put(
                    Document(
                        id=identity,
                        source=SOURCE,
                        corpus=Corpus.FORGE,
                        kind=Kind.DOC,
                        title="",
                        revision="1",
                        chunks=(chunk,),
                        path=str(number),
                    )
                )
        return [batch.report(SOURCE, Outcome.UPDATED, skipped={}, seconds=0.0)]


async def run(folder: Path, pages: int, embedder: Embedder, *, is_full: bool = False) -> Report:
    async with open_store(folder / "index.sqlite", is_writer=True) as store:
        plan = Plan([Pages(pages)], parallel=1, is_full=is_full)
        return await refresh(store, plan, fingerprint=FINGERPRINT, document_keys=as_written, embedder=embedder)


async def drifted(folder: Path) -> bool:
    async with open_store(folder / "index.sqlite", is_writer=False) as store:
        return bool(await store.value(DRIFTED))


async def test_a_model_that_answers_otherwise_adds_nothing_until_a_full_run(tmp_path: Path) -> None:
    assert (await run(tmp_path, 2, HashingEmbedder(16))).vectors.embedded == 2
    report = await run(tmp_path, 3, Updated(16))
    assert (report.vectors.embedded, report.vectors.pending) == (0, 1)
    assert "answers otherwise" in (report.vectors.fault or "")
    assert await drifted(tmp_path)
    assert (await run(tmp_path, 3, Updated(16), is_full=True)).vectors.embedded == 3
    assert not await drifted(tmp_path)
    assert (await run(tmp_path, 4, Updated(16))).vectors.embedded == 1


async def test_a_model_that_answers_as_before_goes_on(tmp_path: Path) -> None:
    await run(tmp_path, 2, HashingEmbedder(16))
    await run(tmp_path, 3, Updated(16))
    assert (await run(tmp_path, 3, HashingEmbedder(16))).vectors.embedded == 1
    assert not await drifted(tmp_path)
