"""Many segments of the full-text indexes become one, a part at a time, and nothing else changes."""

from functools import partial
from pathlib import Path

import pytest

from index.store import fulltext, segments
from index.store.store import Store, open_store
from tests.contract.conftest import Bench
from tests.contract.test_engine import page


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LEAST_CHUNKS", 100)
    monkeypatch.setattr(segments, "MOST", 2)
    monkeypatch.setattr(segments, "PAGES_AT_ONCE", 1)


async def fill(store: Store, first: int, past: int) -> None:
    """A transaction for each ten pages, and so a segment."""
    for start in range(first, past, 10):
        texts = ((number, f"disk{number} server {'raid ' * (number % 7)}") for number in range(start, start + 10))
        await Bench(store, None).put(*(page(f"p{number}", text) for number, text in texts))


async def segments_of(store: Store) -> list[int]:
    found = []
    for table in fulltext.SETTLED:
        rows = list(await store.connection.execute_fetchall(f"SELECT count(DISTINCT segid) FROM {table}_idx"))
        found.append(int(rows[0][0]))
    return found


async def found(store: Store, expression: str) -> list[int]:
    rows = await store.connection.execute_fetchall("SELECT rowid FROM words WHERE words MATCH ?", (expression,))
    return [int(row[0]) for row in rows]


async def test_many_segments_become_one_and_find_the_same(tmp_path: Path) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(store, 0, 130)
        assert min(await segments_of(store)) > 2
        before = [await found(store, expression) for expression in ("server", "raid", "disk77")]
        await store.merge()
        assert await segments_of(store) == [1, 1]
        assert [await found(store, expression) for expression in ("server", "raid", "disk77")] == before
        assert all([await fulltext.is_in_step(store.connection, index) for index in fulltext.INDEXES])


async def test_few_segments_or_a_small_index_stay_as_they_are(tmp_path: Path) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(store, 0, 90)
        before = await segments_of(store)
        assert min(before) > 2
        await store.merge()
        assert await segments_of(store) == before
        await fill(store, 90, 130)
        await store.merge()
        await fill(store, 130, 140)
        await store.merge()
        assert await segments_of(store) == [2, 2]


async def test_what_was_merged_stays_so_when_a_run_ends_amid_it(tmp_path: Path) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(store, 0, 130)
        before = await found(store, "server")
        async with store.transaction():
            assert await store.connection.run(partial(segments.merge_some, table="words"))
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        assert await found(store, "server") == before
        assert all([await fulltext.is_in_step(store.connection, index) for index in fulltext.INDEXES])
        await store.merge()
        assert await segments_of(store) == [1, 1]
        assert await found(store, "server") == before
