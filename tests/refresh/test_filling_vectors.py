"""Pending vectors: embedding and storing side by side, and what is left when either fails."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from index.embed.base import Embedded, EmbedderIdentity, Role
from index.embed.hashing import HashingEmbedder
from index.errors import EmbedderError
from index.model import Chunk, Corpus, Document, DocumentId, Kind, SourceId, chunk_id
from index.store import vectors
from index.store.codes import counts
from index.store.store import open_store
from ingest.vectors import BATCH, BATCH_CHARS, fill_pending
from ingest.writing import Writer
from tests.chat.host import fingerprint
from tests.keys import as_written

SOURCE = SourceId("notes:n")


class Watched:
    """Hashing, with a look at each call; what `before` raises ends it."""

    def __init__(self, before: "Callable[[int], object]", dimension: int = 8) -> None:
        self._hashing = HashingEmbedder(dimension)
        self._before = before
        self.calls = 0
        self.texts: list[int] = []  # of each call
        self.cancelled = False

    @property
    def identity(self) -> EmbedderIdentity:
        return self._hashing.identity

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        if len(texts) < 10:  # the probe for a model that drifted
            return await self._hashing.embed(texts, role)
        self.calls += 1
        self.texts.append(len(texts))
        try:
            waited = self._before(self.calls)
            if asyncio.iscoroutine(waited):
                await waited
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return await self._hashing.embed(texts, role)

    async def close(self) -> None:
        return None


async def put(writer: Writer, texts: Sequence[str]) -> None:
    """A page with a chunk of each text."""
    identity = DocumentId(f"{SOURCE} page.md")
    chunks = tuple(
        Chunk(id=chunk_id(identity, str(number)), ordinal=number, text=text) for number, text in enumerate(texts)
    )
    page = Document(
        id=identity, source=SOURCE, corpus=Corpus.NOTES, kind=Kind.NOTE, title="", revision="1", chunks=chunks,
        path="page.md",
    )  # fmt: skip
    async with writer.batch(SOURCE, label="n", is_public=True) as batch:
        await batch.put(page)


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    """Three batches of parts are pending."""
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        writer = Writer(store, replace(fingerprint(), languages=("de",)), as_written)
        await put(writer, [f"word{number} and some more" for number in range(3 * BATCH)])
        yield writer


async def test_one_batch_is_stored_while_the_next_is_embedded(writer: Writer) -> None:
    stored = asyncio.Event()

    def before(call: int) -> object:
        return asyncio.wait_for(stored.wait(), timeout=10) if call == 2 else None

    def progress(done: int, total: int) -> None:
        assert (embedder.calls, total) == (min(done // BATCH + 1, 3), 3 * BATCH)
        stored.set()

    embedder = Watched(before)
    report = await fill_pending(writer, embedder, progress=progress)
    assert (report.embedded, report.pending, report.fault) == (3 * BATCH, 0, None)
    assert await counts(writer.store.connection) == (3 * BATCH, 0)


async def test_a_dead_embedder_leaves_what_was_embedded_before_it_died(writer: Writer) -> None:
    def before(call: int) -> object:
        if call == 3:
            raise EmbedderError("gone (start it)")
        return None

    report = await fill_pending(writer, Watched(before))
    assert (report.embedded, report.pending, report.fault) == (2 * BATCH, BATCH, "gone (start it)")
    again = await fill_pending(writer, Watched(lambda call: None))
    assert (again.embedded, again.pending, again.fault) == (BATCH, 0, None)


async def test_when_storing_fails_nothing_goes_on_embedding(writer: Writer) -> None:
    def before(call: int) -> object:
        return asyncio.sleep(60) if call == 2 else None

    def progress(done: int, total: int) -> None:
        raise OSError("the terminal is gone")

    async def fill() -> None:
        await fill_pending(writer, embedder, progress=progress)

    embedder = Watched(before)
    with pytest.raises(OSError, match="the terminal is gone"):
        await fill()
    assert embedder.cancelled


@pytest.mark.parametrize("seconds,stored", [(0.001, [1, 3]), (1.0, [1, 2, 3])])
async def test_batches_that_come_quickly_are_stored_together_and_slow_ones_each_for_itself(
    writer: Writer, seconds: float, stored: list[int]
) -> None:
    heard: list[int] = []
    now_s = 0.0

    def before(call: int) -> None:
        nonlocal now_s
        now_s += seconds

    await fill_pending(
        writer, Watched(before), progress=lambda done, total: heard.append(done // BATCH), clock=lambda: now_s
    )
    assert heard == stored


async def filled(writer: Writer, embedder: Watched) -> list[int]:
    """How many are stored, after each time; the clock stands still, so that only their size ends a transaction."""
    heard: list[int] = []
    await fill_pending(writer, embedder, progress=lambda done, total: heard.append(done), clock=lambda: 0.0)
    return heard


async def test_no_more_are_held_than_fit_into_memory_however_quickly_they_come(writer: Writer) -> None:
    assert await filled(writer, Watched(lambda call: None)) == [BATCH, 3 * BATCH]  # the first is shown at once


async def test_vectors_of_many_dimensions_wait_for_fewer_others(writer: Writer) -> None:
    assert await filled(writer, Watched(lambda call: None, dimension=4_096)) == [BATCH, 2 * BATCH, 3 * BATCH]


async def test_long_texts_are_read_and_wait_in_smaller_batches(tmp_path: Path) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        writer = Writer(store, replace(fingerprint(), languages=("de",)), as_written)
        await put(writer, ["x" * (BATCH_CHARS // 20)] * 190)
        embedder = Watched(lambda call: None)
        assert await filled(writer, embedder) == [20, 100, 180, 190]
        assert embedder.texts == [20] * 9 + [10]
        assert await counts(store.connection) == (190, 0)


KILLED = """
import asyncio, os, sys
from msgspec.structs import replace
from pathlib import Path
from index.store.store import open_store
from ingest.vectors import fill_pending
from ingest.writing import Writer
from tests.chat.host import fingerprint
from tests.keys import as_written
from tests.refresh.test_filling_vectors import Watched

async def main():
    async with open_store(Path(sys.argv[1]), is_writer=True) as store:
        writer = Writer(store, replace(fingerprint(), languages=("de",)), as_written)
        await fill_pending(writer, Watched(lambda call: os._exit(9) if call == 3 else None))

asyncio.run(main())
"""


async def test_killed_it_loses_what_was_not_stored_yet_and_goes_on_with_that(writer: Writer, tmp_path: Path) -> None:
    died = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, str(tmp_path / "index.sqlite"), cwd=Path(__file__).parents[2]
    )
    assert await died.wait() == 9
    left = await vectors.pending_count(writer.store.connection)
    assert left in (BATCH, 2 * BATCH)
    report = await fill_pending(writer, Watched(lambda call: None))
    assert (report.embedded, report.pending) == (left, 0)
    assert await counts(writer.store.connection) == (3 * BATCH, 0)
