"""Chunks and their rows in the full-text indexes go together, although the latter are written at the end."""

import asyncio
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from index.model import Document
from index.store import documents, fulltext
from index.store.store import Store, open_store
from index.text.searchable import searchable
from tests.erase.graveyard import Graveyard, finds, is_sound, page
from tests.keys import as_written


async def put(store: Store, number: int, text: str, *, may_grow: bool = False) -> None:
    key = await store.register(page(number, "").source, label="docs", is_public=True)
    made = replace(page(number, text), may_grow=may_grow)
    await documents.put(store.connection, key, made, searchable(made, as_written), salt="s")


async def waiting(store: Store) -> int:
    rows = list(await store.connection.execute_fetchall("SELECT count(*) FROM unindexed"))
    return int(rows[0][0])


async def test_one_chunk_written_three_times_in_a_transaction_is_found_by_its_last_text_alone(store: Store) -> None:
    async with store.transaction():
        await put(store, 1, "before")
    async with store.transaction():
        await put(store, 1, "meanwhile")
        await documents.remove(store.connection, [page(1, "").id])
        await put(store, 1, "between")
        await put(store, 1, "finally")
        assert await waiting(store) == 1
    assert await waiting(store) == 0
    assert await is_sound(store)
    assert await finds(store, "finally")
    assert not any([await finds(store, word) for word in ("before", "meanwhile", "between")])


async def test_more_than_are_taken_in_at_once_are_all_taken_in(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext, "AT_ONCE", 7)
    async with store.transaction():
        for number in range(30):
            await put(store, number, f"word{number}")
    async with store.transaction():
        for number in range(0, 30, 2):
            await put(store, number, f"other{number}")
    assert await waiting(store) == 0
    assert await is_sound(store)
    assert all([await finds(store, f"word{number}") for number in range(1, 30, 2)])
    assert all([await finds(store, f"other{number}") for number in range(0, 30, 2)])


async def test_what_a_failed_transaction_wrote_is_waited_for_by_nobody(
    store: Store, document: Callable[..., Document]
) -> None:
    async with store.transaction():
        await put(store, 1, "stays")
    with pytest.raises(ZeroDivisionError):
        async with store.transaction():
            await put(store, 1, "changes")
            await put(store, 2, "comes")
            raise ZeroDivisionError
    assert await waiting(store) == 0
    assert await is_sound(store)
    assert await finds(store, "stays")


async def test_writing_both_anew_takes_in_what_waits_and_takes_it_in_once(store: Store) -> None:
    async with store.transaction():
        await put(store, 1, "first")
        await fulltext.rewrite(store.connection)
        await put(store, 2, "second")
    assert await is_sound(store)
    assert await finds(store, "first") and await finds(store, "second")


KILLED = """
import asyncio, os, sys
from pathlib import Path
from index.store.store import open_store
from tests.erase.graveyard import page
from index.store import documents, fulltext
from tests.store.test_fulltext import put

def die(statement):
    if statement.startswith(sys.argv[2]):
        os._exit(9)

async def main():
    async with open_store(Path(sys.argv[1]), is_writer=True) as store:
        await store.connection.execute("PRAGMA cache_size = 8")  # pages reach the log before the end
        await store.connection.set_trace_callback(die)
        async with store.transaction():
            await documents.remove(store.connection, [page(number, "").id for number in range(20)])
            for number in range(20, 300):
                await put(store, number, f"word{number} " * 30, may_grow=number % 2 == 0)
            fulltext.MOST_YOUNG = 100

asyncio.run(main())
"""
MOMENTS = (
    fulltext.TAKE_IN[0],
    fulltext.TAKE_IN[1],
    fulltext.TAKE_IN[-2],
    *fulltext.SETTLE[1:],
    "INSERT INTO young_grams(young_grams)",
)


@pytest.mark.parametrize("at", [*(statement.partition("?")[0] for statement in MOMENTS), "COMMIT"])
async def test_killed_while_the_indexes_are_written_rows_and_indexes_are_as_before(tmp_path: Path, at: str) -> None:
    graveyard = Graveyard(tmp_path, random.Random(1), growing=0.5)
    async with graveyard.opened() as store:
        await graveyard.put(store, range(60))
        await store.wipe()
    died = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, str(graveyard.file), at, cwd=Path(__file__).parents[2]
    )
    assert await died.wait() == 9
    assert graveyard.file.with_name("index.sqlite-wal").stat().st_size > 100_000, "nothing was half written"
    async with graveyard.opened() as store:
        rows = list(await store.connection.execute_fetchall("SELECT count(*) FROM chunk"))
        assert (rows[0][0], await waiting(store)) == (60, 0)
        assert await is_sound(store)
        assert all([await finds(store, word) for words in graveyard.live.values() for word in words])


async def test_chunks_that_another_program_wrote_are_taken_in_by_the_next_transaction(store: Store) -> None:
    async with store.transaction():
        await put(store, 1, "first")
    await store.connection.execute("UPDATE chunk SET body = 'other'")
    assert not await fulltext.is_in_step(store.connection, "words")
    async with open_store(Path(await _file(store)), is_writer=True) as again, again.transaction():
        pass
    assert await is_sound(store)
    assert await finds(store, "other") and not await finds(store, "first")


async def _file(store: Store) -> str:
    rows = list(await store.connection.execute_fetchall("PRAGMA database_list"))
    return str(rows[0][2])
