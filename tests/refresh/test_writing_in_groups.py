"""Documents of one transaction are written some at once, beside the making of the next: nobody can tell afterwards."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from index.errors import StoreError
from index.model import Chunk, Corpus, Document, DocumentId, Kind, SourceId, chunk_id
from index.store import documents, fulltext
from index.store.driver import File
from index.store.store import Store, open_store
from index.text.searchable import searchable
from ingest import writing
from ingest.writing import Writer
from tests.chat.host import fingerprint
from tests.keys import as_written

SOURCE = SourceId("notes:n")
CHUNKS = 10
PAGES = 105
TAKEN_IN_FROM = 500
"""As many chunks as a group has, so that two groups are taken into the full-text indexes before the end."""


@pytest.fixture(autouse=True)
def taking_in_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_TAKEN_IN_FROM", TAKEN_IN_FROM)


def page(number: int, text: str = "page") -> Document:
    identity = DocumentId(f"{SOURCE} {number}.md")
    chunks = tuple(Chunk(chunk_id(identity, str(n)), n, f"{text} {number} part {n}") for n in range(CHUNKS))
    return Document(identity, SOURCE, Corpus.NOTES, Kind.NOTE, "", "1", chunks, path=f"{number}.md")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as opened:
        yield opened


def writer_of(store: Store) -> Writer:
    return Writer(store, fingerprint(), as_written)


async def write(store: Store, *pages: Document, fault: Exception | None = None) -> None:
    async with writer_of(store).batch(SOURCE, label="n", is_public=True) as batch:
        for made in pages:
            await batch.put(made)
        if fault is not None:
            raise fault


async def rows(store: Store) -> list[tuple[object, ...]]:
    for table in fulltext.SETTLED:
        assert await fulltext.is_in_step(store.connection, table)
    found = await store.connection.execute_fetchall(
        "SELECT chunk_key, chunk.id, document.id, body, keys, chunk.digest, part_key, part.digest"
        " FROM document JOIN chunk USING (document_key) JOIN part USING (chunk_key) ORDER BY chunk_key"
    )
    return [tuple(row) for row in found]


async def test_what_is_written_in_groups_is_what_is_written_one_by_one(store: Store, tmp_path: Path) -> None:
    pages = [page(number) for number in range(PAGES)]
    edited = [page(number, "edited") if number % 7 else page(number) for number in range(5, PAGES)]
    async with open_store(tmp_path / "other.sqlite", is_writer=True) as other:
        salt = writer_of(other).salt
        for some in (pages, edited):
            await write(store, *some)
            async with other.transaction():
                key = await other.register(SOURCE, label="n", is_public=True)
                for made in some:
                    await documents.put(other.connection, key, made, searchable(made, as_written), salt=salt)
            assert await rows(store) == await rows(other) != []


async def test_of_a_document_that_comes_twice_the_last_one_counts_and_of_put_and_remove_the_last(store: Store) -> None:
    async with writer_of(store).batch(SOURCE, label="n", is_public=True) as batch:
        await batch.put(page(1, "first"))
        await batch.put(page(2))
        await batch.put(page(1, "second"))
        await batch.remove([page(2).id, page(3).id])
        await batch.put(page(3))
        assert await batch.document_ids(SOURCE) == [page(1).id, page(3).id]
    assert {str(row[3]).split()[0] for row in await rows(store)} == {"second", "page"}
    assert (batch.documents, batch.documents_removed, batch.written.chunks_added) == (4, 1, 3 * CHUNKS)
    assert batch.written.chunks_changed == CHUNKS


@pytest.mark.parametrize("place", [0, 60, PAGES - 1])
async def test_a_fault_in_a_group_is_that_of_the_batch_and_leaves_nothing(store: Store, place: int) -> None:
    pages = [page(number) for number in range(PAGES)]
    twin = pages[place].chunks[0]
    pages[place] = replace(pages[place], chunks=(*pages[place].chunks, replace(twin, ordinal=CHUNKS)))
    with pytest.raises(StoreError, match="nothing was written: UNIQUE"):
        await write(store, *pages)
    assert await rows(store) == []
    await write(store, page(1))
    assert len(await rows(store)) == CHUNKS


async def test_a_fault_of_the_caller_undoes_also_what_was_taken_into_the_full_text_indexes(store: Store) -> None:
    with pytest.raises(ValueError):
        await write(store, *(page(number) for number in range(PAGES)), fault=ValueError())
    assert await rows(store) == []


@pytest.mark.parametrize("done", [1, 50, 51, 100])
async def test_nothing_that_was_begun_outlives_a_batch_whose_time_is_over(store: Store, done: int) -> None:
    await write(store, *(page(number) for number in range(PAGES)))
    before = await rows(store)

    async def run_out_of_time() -> None:
        async with writer_of(store).batch(SOURCE, label="n", is_public=True) as batch:
            for number in range(PAGES):
                await batch.put(page(number, "edited"))
                if number + 1 == done:
                    task.cancel()

    task = asyncio.create_task(run_out_of_time())
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(10):  # what would go on has its turns
        await store.connection.execute_fetchall("SELECT 1")
    assert not store.connection.in_transaction
    assert await rows(store) == before
    [(is_secure,)] = await store.connection.execute_fetchall("SELECT v FROM words_config WHERE k = 'secure-delete'")
    assert is_secure == 1, "so much was deleted that a rewriting was to follow, but all of it was undone"
    await write(store, page(1, "edited"))
    assert len(await rows(store)) == len(before)


async def test_large_chunks_count_as_several_so_that_fewer_of_them_wait(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_all, groups = documents.put_all, []

    async def noted(connection: File, source_key: int, group: Any, **how: Any) -> documents.Written:
        groups.append(len(group))
        return await put_all(connection, source_key, group, **how)

    monkeypatch.setattr(documents, "put_all", noted)
    await write(store, *(page(number, "x" * 30_000) for number in range(10)))
    assert groups == [5, 5], "500 ordinary ones are written at once, and each of these 10 in a page counts as 12"


async def test_the_next_are_made_while_texts_are_taken_in_but_not_more_than_fit_into_memory(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_in, begun, goes_on = fulltext.take_in, asyncio.Event(), asyncio.Event()
    ahead = 80 * CHUNKS

    async def slowly(connection: File) -> None:
        begun.set()
        await goes_on.wait()
        await taken_in(connection)

    monkeypatch.setattr(fulltext, "take_in", slowly)
    monkeypatch.setattr(writing, "_CHUNKS_AHEAD", ahead)
    put = 0

    async def write_all() -> None:
        nonlocal put
        async with writer_of(store).batch(SOURCE, label="n", is_public=True) as batch:
            for number in range(2 * PAGES):
                await batch.put(page(number))
                put += 1

    task = asyncio.create_task(write_all())
    await asyncio.wait_for(begun.wait(), timeout=10)
    for _ in range(2 * PAGES):
        await asyncio.sleep(0)
    assert put == (TAKEN_IN_FROM + ahead) // CHUNKS - 1, "the last one waits"
    goes_on.set()
    await task
    assert len(await rows(store)) == 2 * PAGES * CHUNKS
