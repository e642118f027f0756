"""What a writer remembers of what it deleted and wrote, to know where to look, and that it forgets it with the wipe."""

import random
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import aiosqlite
import pytest
from msgspec.structs import replace

from index.store import documents, driver, erase, pages
from index.store.store import Store
from index.text.searchable import searchable
from tests.erase.graveyard import LETTERS, SOURCE, Graveyard, page, stale_terms
from tests.keys import as_written


@pytest.fixture
def graveyard(tmp_path: Path) -> Graveyard:
    return Graveyard(tmp_path, random.Random(1))


async def test_more_pages_than_are_remembered_are_all_looked_at(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[Iterable[int] | None] = []

    def note(_file: Path, written: Iterable[int] | None, _page_bytes: int) -> int:
        looked_at.append(written)
        return 0

    monkeypatch.setattr(pages, "zero_gaps", note)
    async with graveyard.opened() as store:
        await graveyard.put(store, range(3))
        assert (await store.wipe()).is_done
        await graveyard.put(store, range(3))
        assert (await store.wipe()).is_done
        monkeypatch.setattr(erase, "MOST_PAGES", 2)
        await graveyard.put(store, range(3))
        assert (await store.wipe()).is_done
    assert looked_at[1] and looked_at[2] is None


@pytest.mark.parametrize("column", ["title", "keys"])
async def test_words_that_only_a_title_or_keys_lost_are_gone(graveyard: Graveyard, column: str) -> None:
    async def put(store: Store, numbers: Iterable[int]) -> dict[int, list[str]]:
        """Pages whose texts are always the same, and in that column words of this call; returns the words of each."""
        drawn = {}
        async with store.transaction():
            key = await store.register(SOURCE, label="docs", is_public=True)
            for number in numbers:
                words = ["".join(graveyard.random.choices(LETTERS, k=11)) for _ in range(100)]
                made = page(number, f"the text of number {number}")
                items = [replace(one, **{column: " ".join(words)}) for one in searchable(made, as_written)]
                await documents.put(store.connection, key, made, items, salt="s")
                drawn[number] = words
        return drawn

    async with graveyard.opened() as store:
        drawn = await put(store, range(40))
        assert (await store.wipe()).is_done
        changed = await put(store, range(0, 40, 2))
        assert await stale_terms(store), "no separator is stale: this test proves nothing"
        assert (await store.wipe()).is_done
        assert await stale_terms(store) == []
        held = graveyard.bytes()
        assert [word for number in changed for word in drawn[number] if word.encode() in held] == []


async def test_a_log_that_another_program_began_after_ours_was_emptied_leaves_the_wipe_owed(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two steps of a wipe somebody else may write: what stands in that log is nobody's knowledge."""
    empty = erase._empty_log

    async def emptied_and_written(connection: aiosqlite.Connection) -> bool:
        assert await empty(connection)
        with closing(driver.connector(graveyard.file, is_writer=True)()) as other:
            other.execute("INSERT INTO meta(name, value) VALUES ('else', '1')")
        return True

    async with graveyard.opened() as store:
        await graveyard.put(store, range(20))
        assert (await store.wipe()).is_done
        await graveyard.remove(store, range(10))
        with monkeypatch.context() as patch:
            patch.setattr(erase, "_empty_log", emptied_and_written)
            assert not (await store.wipe()).is_done
        assert (await store.wipe()).is_done
        assert graveyard.traces() == [] and await stale_terms(store) == []


def test_nothing_is_remembered_of_what_was_wiped(tmp_path: Path) -> None:
    traces = erase.Traces(tmp_path / "index.sqlite", 4096, erase.NOTHING)
    traces.forget_text(0, "a title", "a secret")
    traces.forget_text(1, "a title", "another secret")
    assert (traces.texts, traces.deleted, traces.is_young_stale) == (["a title\na secret"], 1, True)
    traces.settle()
    assert (traces.texts, traces.deleted, traces.is_young_stale) == ([], 0, False)
    assert "secret" not in repr(vars(traces))
