"""Words and vectors are ranked at once, on two connections, and of one state of the file all the same."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from os.path import samestat
from pathlib import Path
from threading import Event

import pytest

from index.embed.base import Embedded, EmbedderIdentity, Role
from index.engines.base import View
from index.engines.sqlite.engine import SqliteEngine
from index.model import EVERYTHING, ChunkId, Document, Filters, Query, SourceId, Term
from index.search import Mode, Searcher, SearchSettings
from index.store import documents, vectors
from index.store.driver import File, connector
from index.store.store import Store, open_store
from index.text.searchable import searchable
from tests.contract.conftest import KEYS, Bench
from tests.contract.test_engine import page, unit

TAPE = Query("tape", (Term("tape"),))
WAY = unit(1, 0, 0, 0)
PAGES = 6


async def write(store: Store, first: int, past: int) -> None:
    bench = Bench(store, None)
    await bench.put(*(page(str(number), f"tape {number}") for number in range(first, past)))
    await bench.embed({f"tape {number}": unit(1, number % 7, number % 5, 1) for number in range(first, past)})


async def exchange(store: Store, old: Document, new: Document) -> None:
    """In one transaction."""
    async with store.transaction():
        await documents.remove(store.connection, [old.id])
        key = await store.register(new.source, label="docs", is_public=True)
        await documents.put(store.connection, key, new, searchable(new, KEYS.document_keys), salt="s")
        waiting = await vectors.pending(store.connection, after=0, limit=10)
        await vectors.save(store.connection, [(part, WAY) for part in waiting])


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Store, SqliteEngine]]:
    """A writer, and an engine that reads the same file."""
    file = folder / "index.sqlite"
    async with open_store(file, is_writer=True) as writing:
        await write(writing, 0, PAGES)
        async with open_store(file, is_writer=False) as reading:
            yield writing, SqliteEngine(reading, KEYS)


async def by_words(view: View) -> set[ChunkId]:
    return {one.chunk for one in await view.lexical(TAPE, limit=100)}


async def by_vectors(view: View) -> set[ChunkId]:
    return {one.chunk for one in await view.nearest(WAY, TAPE, limit=100)}


async def ask(engine: SqliteEngine) -> None:
    async with engine.view(EVERYTHING, Filters()) as view:
        assert len(await by_vectors(view)) == PAGES


@asynccontextmanager
async def busy(engine: SqliteEngine) -> AsyncIterator[None]:
    """The first connection has something else to do."""
    gate = Event()
    waiting = asyncio.create_task(engine.store.connection.run(lambda _: gate.wait(60)))
    try:
        yield
    finally:
        gate.set()
        await waiting


async def test_from_the_second_question_on_vectors_do_not_wait_for_words(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, engine):
        await ask(engine)
        async with engine.view(EVERYTHING, Filters()) as view, busy(engine):
            near = await asyncio.wait_for(by_vectors(view), 30)
        assert len(near) == PAGES


async def test_what_the_order_of_ranked_chunks_depends_on_is_read_with_their_rankings(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, engine):
        await ask(engine)
        async with engine.view(EVERYTHING, Filters()) as view:
            ranked = await by_words(view) | await by_vectors(view)
            async with busy(engine):
                candidates = await asyncio.wait_for(view.candidates(sorted(ranked)), 30)
        assert set(candidates) == ranked
        assert {one.text for one in candidates.values()} == {f"tape {number}" for number in range(PAGES)}


class Pointing:
    """An embedder that sends every question the same way."""

    identity = EmbedderIdentity("pointing", 4, "", "", 0)

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        return [WAY for _ in texts]

    async def close(self) -> None:
        pass


def connections(folder: Path) -> int:
    """How often this process has the index file open."""
    file = (folder / "index.sqlite").stat()
    opened = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            opened.append(link.stat())
    return sum(samestat(one, file) for one in opened)


async def test_questions_by_words_alone_open_no_second_connection_and_a_closed_index_leaves_none(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (_, engine):
        searcher = Searcher(engine, KEYS, Pointing(), SearchSettings())
        before = connections(tmp_path)
        for _ in range(3):
            assert (await searcher.search(["tape"], mode=Mode.LEXICAL)).hits
        assert connections(tmp_path) == before
        for _ in range(3):
            assert (await searcher.search(["tape"])).hits[0].origins[-1].ranking == "vec"
        assert connections(tmp_path) == before + 1
    assert connections(tmp_path) == 0


async def test_what_is_written_while_a_view_is_open_is_in_neither_of_its_rankings(tmp_path: Path) -> None:
    async with opened(tmp_path) as (writing, engine):
        await ask(engine)
        async with engine.view(EVERYTHING, Filters()) as view:
            await write(writing, PAGES, 2 * PAGES)
            near, said = await asyncio.gather(by_vectors(view), by_words(view))
            assert near == said
            assert len(near) == PAGES
        async with engine.view(EVERYTHING, Filters()) as view:
            near, said = await asyncio.gather(by_vectors(view), by_words(view))
            assert near == said
            assert len(near) == 2 * PAGES


async def test_a_source_that_was_hidden_or_came_since_the_last_question_is_hidden_or_there(tmp_path: Path) -> None:
    """By another process and by this one: sources are remembered from question to question."""
    other = page("other", "tape", source=SourceId("repo:other"))

    async def count(engine: SqliteEngine) -> int:
        async with engine.view(EVERYTHING, Filters()) as view:
            return len(await by_words(view))

    async with opened(tmp_path) as (writing, reading):
        for engine in (reading, SqliteEngine(writing, KEYS)):
            assert await count(engine) == await count(engine) == PAGES
            await Bench(writing, None).put(other)
            assert await count(engine) == await count(engine) == PAGES + 1
            await Bench(writing, None).hide(other.source)
            assert await count(engine) == await count(engine) == PAGES
            await Bench(writing, None).remove(other)
            await writing.hide(other.source, is_hidden=False)


async def test_while_somebody_writes_both_rankings_are_of_one_state(tmp_path: Path) -> None:
    """At every moment the file has as many pages, of which each has words and a vector; which they are changes."""
    async with opened(tmp_path) as (writing, engine):
        is_done = False

        async def replace() -> None:
            number = PAGES
            while not is_done:
                await exchange(writing, page(str(number - PAGES)), page(str(number), f"tape {number}"))
                number += 1

        replacing = asyncio.create_task(replace())  # on a thread of its own, at its own speed
        states = set[frozenset[ChunkId]]()
        try:
            while len(states) < 8:  # and as many questions as that takes
                async with engine.view(EVERYTHING, Filters()) as view:
                    near, said = await asyncio.gather(by_vectors(view), by_words(view))
                    candidates = await view.candidates(sorted(near))
                assert near == said == set(candidates)
                assert len(near) == PAGES
                states.add(frozenset(near))
        finally:
            is_done = True
            await replacing


async def test_a_file_in_the_place_of_another_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with opened(tmp_path) as (_, engine):
        async with opened(tmp_path / "other") as (writing, _):
            await write(writing, PAGES, 2 * PAGES)
        (tmp_path / "other" / "index.sqlite").replace(tmp_path / "index.sqlite")
        for _ in range(3):
            await ask(engine)


async def test_a_question_that_is_cancelled_leaves_no_transaction_open(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, engine):
        searcher = Searcher(engine, KEYS, Pointing(), SearchSettings())
        for _ in range(2):
            await searcher.search(["tape"])
        async with busy(engine):
            asking = asyncio.create_task(searcher.search(["tape"]))
            await asyncio.sleep(0.05)
            asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asking, 30)
        assert (await searcher.search(["tape"])).hits
        assert not engine.store.connection.in_transaction


async def test_where_no_second_connection_can_read_the_first_one_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_file(file: Path, *, is_writer: bool) -> File:
        return File(lambda: connector(file.with_name("nothing.sqlite"), is_writer=is_writer)(), 64)

    async with opened(tmp_path) as (_, engine):
        (tmp_path / "nothing.sqlite").write_bytes(b"of no use " * 100)
        monkeypatch.setattr("index.store.store.open_file", other_file)
        for _ in range(3):
            await ask(engine)
