"""What the index file promises: nothing half written, nothing left behind, nobody else's file taken."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from index.errors import ReindexNeededError, StoreError
from index.model import Cursor, Document, Fingerprint, SourceId, Vector
from index.store import documents, erase, vectors
from index.store.store import Store, open_store, statements
from index.text.searchable import searchable
from tests.keys import as_written

DOCS = SourceId("repo:docs")
FINGERPRINT = Fingerprint(
    schema=1, scrubber=1, chunker=1, words=1, languages=("en",), embedder="e5", dimension=384, query_prefix="",
    document_prefix="",
)  # fmt: skip


async def put(store: Store, document: Document, *, salt: str = "s") -> documents.Written:
    async with store.transaction():
        key = await store.register(document.source, label="docs", is_public=True)
        items = searchable(document, as_written)
        return await documents.put(store.connection, key, document, items, salt=salt)


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


async def rows(store: Store, statement: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await store.connection.execute_fetchall(statement)]


async def test_the_same_document_twice_changes_nothing(store: Store, document: Callable[..., Document]) -> None:
    page = document("a.md", "one two", "three")
    assert (await put(store, page)).chunks_added == 2
    before = await rows(store, "SELECT * FROM chunk")
    assert (await put(store, page)).total == 0
    assert await rows(store, "SELECT * FROM chunk") == before


async def test_only_the_changed_chunk_loses_its_vector(store: Store, document: Callable[..., Document]) -> None:
    await put(store, document("a.md", "one", "two"))
    waiting = await vectors.pending(store.connection, after=0, limit=10)
    async with store.transaction():
        vector = Vector(b"\x00\x00\x80\x3f" + bytes(28))
        assert await vectors.save(store.connection, [(part, vector) for part in waiting]) == 2
    written = await put(store, document("a.md", "one", "changed"))
    assert (written.chunks_changed, written.chunks_added, written.chunks_removed) == (1, 0, 0)
    assert [part.text for part in await vectors.pending(store.connection, after=0, limit=10)] == ["changed"]
    assert await rows(store, "SELECT count(*) FROM vector") == [(1,)]


async def test_a_vector_for_a_text_that_changed_meanwhile_is_not_kept(
    store: Store, document: Callable[..., Document]
) -> None:
    await put(store, document("a.md", "old"))
    waiting = await vectors.pending(store.connection, after=0, limit=10)
    await put(store, document("a.md", "new"))
    async with store.transaction():
        vector = Vector(b"\x00\x00\x80\x3f" + bytes(28))
        assert await vectors.save(store.connection, [(waiting[0], vector)]) == 0


async def test_a_moved_chunk_keeps_its_postings_and_gets_its_lines(
    store: Store, document: Callable[..., Document]
) -> None:
    page = document("a.md", "one")
    await put(store, page)
    moved = replace(page, chunks=(replace(page.chunks[0], lines=(7, 9)),))
    assert (await put(store, moved)).total == 0
    assert await rows(store, "SELECT first_line, last_line FROM chunk") == [(7, 9)]


async def test_removing_takes_every_row_with_it(store: Store, document: Callable[..., Document]) -> None:
    page = document("a.md", "one", "two", payload={"tags": ("x", "y"), "area": "z"})
    await put(store, page)
    async with store.transaction():
        assert (await documents.remove(store.connection, [page.id])).chunks_removed == 2
        assert (await documents.remove(store.connection, [page.id])).chunks_removed == 0
    for table in ("document", "document_label", "chunk", "chunk_sender", "part", "vector", "term"):
        assert await rows(store, f"SELECT count(*) FROM {table}") == [(0,)], table
    assert await rows(store, "SELECT chunks, words FROM source") == [(0, 0)]
    await store.connection.execute("INSERT INTO words(words, rank) VALUES ('integrity-check', 1)")


async def test_counts_of_a_source_follow_every_change(store: Store, document: Callable[..., Document]) -> None:
    for texts in (("one two", "three"), ("one two four", "three"), ("one",), ()):
        await put(store, document("a.md", *texts))
        stored = await rows(store, "SELECT chunks, words FROM source")
        counted = await rows(store, "SELECT count(*), coalesce(sum(size), 0) FROM chunk")
        assert stored == counted


async def test_a_transaction_that_fails_leaves_rows_and_cursor(store: Store, document: Callable[..., Document]) -> None:
    await put(store, document("a.md", "one"))
    async with store.transaction():
        await store.save_cursor(Cursor(DOCS, "first"))
    with pytest.raises(ZeroDivisionError):
        async with store.transaction():
            await documents.remove(store.connection, [document("a.md").id])
            await store.save_cursor(Cursor(DOCS, "second"))
            raise ZeroDivisionError
    assert await rows(store, "SELECT count(*) FROM chunk") == [(1,)]
    assert [source.position for source in await store.sources()] == ["first"]


async def test_a_full_disk_is_told_with_what_to_do(store: Store, document: Callable[..., Document]) -> None:
    await put(store, document("a.md", "before"))
    [(pages,)] = await rows(store, "PRAGMA page_count")
    await rows(store, f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match=r"nothing was written: database or disk is full \(make room on its disk\)$"):
        await put(store, document("b.md", *(f"word{n} " * 500 for n in range(50))))
    assert await rows(store, "SELECT path FROM document") == [("a.md",)]


async def test_deleted_text_is_in_no_byte_of_file_and_log(
    tmp_path: Path, store: Store, document: Callable[..., Document]
) -> None:
    page = document("a.md", "xylophonquartz zebracrossing " * 40)
    await put(store, page)
    async with store.transaction():
        await documents.remove(store.connection, [page.id])
    assert (await store.wipe()).is_done
    data = everything_in(tmp_path)
    for fragment in (b"xylophonq", b"zebracros"):
        assert fragment not in data


async def test_a_reader_in_the_middle_of_a_question_is_reported_and_not_waited_for_without_end(
    tmp_path: Path, store: Store, document: Callable[..., Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "TRIES", 1)
    await put(store, document("a.md", "one"))
    async with open_store(tmp_path / "index.sqlite", is_writer=False) as reader:
        await reader.connection.execute("BEGIN")
        await reader.connection.execute_fetchall("SELECT count(*) FROM chunk")
        await put(store, document("a.md", "two"))
        assert not (await store.wipe()).is_done
        await reader.connection.execute("COMMIT")
    assert (await store.wipe()).is_done


async def test_a_reader_can_not_write(tmp_path: Path, store: Store) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=False) as reader:
        with pytest.raises(StoreError, match="written"):
            async with reader.transaction():
                await reader.set_value("a", "b")


async def test_a_reader_of_nothing_is_told_to_refresh(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no index yet"):
        async with open_store(tmp_path / "none.sqlite", is_writer=False):
            pass
    assert not (tmp_path / "none.sqlite").exists()


async def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match="newer version"):
        async with open_store(path, is_writer=True):
            pass


async def test_a_file_that_is_no_index_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    path.write_bytes(b"not a database, and longer than a header of sixteen bytes" * 20)
    with pytest.raises(StoreError, match=r"index.sqlite: .*") as caught:
        async with open_store(path, is_writer=True):
            pass
    assert "\n" not in str(caught.value)


async def test_nobody_is_told_to_delete_an_index_that_only_cannot_be_opened(tmp_path: Path) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True):
        pass
    (tmp_path / "index.sqlite-wal").mkdir()
    with pytest.raises(StoreError, match=r"cannot be opened: .*\(run as the user that owns it and its folder\)$"):
        async with open_store(tmp_path / "index.sqlite", is_writer=False):
            pass


async def test_another_fingerprint_says_what_differs(store: Store) -> None:
    await store.check_fingerprint(FINGERPRINT)
    async with store.transaction():
        await store.save_fingerprint(FINGERPRINT)
    await store.check_fingerprint(FINGERPRINT)
    await store.check_fingerprint(replace(FINGERPRINT, scrubber=2))
    await store.check_fingerprint(replace(FINGERPRINT, schema=9))
    with pytest.raises(ReindexNeededError, match=r"reindex needed: dimension: 384 -> 768 .*--full"):
        await store.check_fingerprint(replace(FINGERPRINT, dimension=768))


def test_a_trigger_stays_one_statement() -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n SELECT 1;\n SELECT 2;\nEND;"
    script = f"CREATE TABLE a(b); -- c;\n{trigger}\nDROP TABLE a;"
    assert [text.split()[1] for text in statements(script)] == ["TABLE", "TRIGGER", "TABLE"]


async def test_an_index_without_vectors_takes_any_embedder(store: Store) -> None:
    async with store.transaction():
        await store.save_fingerprint(replace(FINGERPRINT, embedder="off", dimension=0))
    await store.check_fingerprint(FINGERPRINT)
