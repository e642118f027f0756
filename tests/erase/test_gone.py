"""Deleted text is in no byte of the index file or its log, however it came in and whenever the run died."""

import asyncio
import random
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.store import codes, documents, driver, erase, fulltext, pages, segments, separators
from index.store.store import Store, open_store
from tests.erase.graveyard import Graveyard, finds, is_sound, page, put_texts, stale_terms


@pytest.fixture
def graveyard(tmp_path: Path) -> Graveyard:
    return Graveyard(tmp_path, random.Random(1))


@pytest.mark.parametrize("growing", [0.0, 1.0])
async def test_words_trigrams_and_vectors_of_what_was_removed_or_changed_are_gone(
    graveyard: Graveyard, growing: float
) -> None:
    graveyard.growing = growing
    async with graveyard.opened() as store:
        await graveyard.put(store, range(120))
        await graveyard.embed(store)
        assert (await store.wipe()).is_done
        for start in range(0, 120, 40):
            await graveyard.remove(store, range(start, start + 20))
            await graveyard.put(store, range(start + 20, start + 30))
            await graveyard.embed(store)
        assert graveyard.traces(), "nothing to wipe: this test proves nothing"
        assert await stale_terms(store), "no separator is stale: this test proves nothing"
        wiped = await store.wipe()
        assert (wiped.is_done, wiped.readers) == (True, ())
        assert wiped.separators > 0 or growing
        assert await stale_terms(store) == []
        assert graveyard.traces() == []
        assert await is_sound(store)
        assert not any([await finds(store, word) for word in graveyard.gone])
        assert all([await finds(store, word) for words in graveyard.live.values() for word in words])
    assert graveyard.traces() == []


async def test_the_bits_of_a_vector_go_with_it_and_no_centre_is_one_vector(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "CODES_FROM", 60)
    async with graveyard.opened() as store:
        await graveyard.put(store, range(100))
        await graveyard.embed(store)
        await graveyard.put(store, range(100, 110))
        await graveyard.embed(store)
        assert (await store.wipe()).is_done
        bits = await graveyard.codes(store)
        assert len(bits) == 110 and all(one in graveyard.bytes() for one in bits.values())
        [(centre,)] = await store.connection.execute_fetchall("SELECT centre FROM frame")
        assert bytes(centre) not in {one for found in graveyard.live_vectors.values() for one in found}
        await graveyard.remove(store, range(20, 60))
        left = await graveyard.codes(store)
        assert left == {number: one for number, one in bits.items() if not 20 <= number < 60}
        assert any(bits[number] in graveyard.bytes() for number in range(20, 60)), "nothing to wipe"
        assert (await store.wipe()).is_done
        assert graveyard.traces() == []
        assert not any(bits[number] in graveyard.bytes() for number in range(20, 60))
        await graveyard.remove(store, range(60, 110))
        assert await graveyard.codes(store) == {}, "too few are left for codes"
        await graveyard.put(store, range(5))
        assert (await store.wipe()).is_done
        assert graveyard.traces() == []
        assert not any(one in graveyard.bytes() for one in (*bits.values(), bytes(centre)))


async def churn(store: Store, draw: random.Random, transactions: int) -> tuple[dict[int, str], list[str]]:
    """Rows of many sizes come, grow and go: SQLite leaves copies of them in its pages, under `secure_delete` too.

    Gives what stays and what is gone.
    """
    await store.connection.execute("PRAGMA synchronous = OFF")
    await store.connection.execute("CREATE TABLE heap(at INTEGER PRIMARY KEY, word TEXT UNIQUE, filling TEXT)")
    rows: dict[int, str] = {}
    gone: list[str] = []
    for _ in range(transactions):
        async with store.transaction():
            for _ in range(50):
                at = draw.randrange(10**6)
                if draw.random() < 0.45 and rows:
                    at = draw.choice(list(rows))
                    gone.append(rows.pop(at))
                    await store.connection.execute("DELETE FROM heap WHERE at = ?", (at,))
                elif at not in rows:
                    rows[at] = "".join(draw.choices("abcdefghij", k=14))
                    filling = "-" * draw.choice((0, 20, 200, 900, 5_000))
                    await store.connection.execute("INSERT INTO heap VALUES (?, ?, ?)", (at, rows[at], filling))
    return rows, gone


CHECKPOINT = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())"


async def checkpoint(graveyard: Graveyard, kind: str) -> bool:
    """By another program; whether all of the log is in the file now."""
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHECKPOINT, graveyard.file, f"PRAGMA wal_checkpoint({kind})", stdout=PIPE
    )
    is_busy, frames, copied = map(int, (await other.communicate())[0].split())
    return not is_busy and frames == copied


@pytest.mark.parametrize("kind", ["PASSIVE", "TRUNCATE"])
async def test_copies_are_gone_where_another_program_made_the_log_begin_anew(graveyard: Graveyard, kind: str) -> None:
    """One that copies the log to a backup does. Afterwards the log says little of what was written before."""
    async with graveyard.opened() as store:
        await graveyard.put(store, [1])
        assert (await store.wipe()).is_done, "from here on it is remembered what was written"
        rows, gone = await churn(store, graveyard.random, 15)  # before the log is long enough for us to copy it
        assert await checkpoint(graveyard, kind)
        async with store.transaction():
            await store.connection.execute("DELETE FROM heap WHERE at = ?", (min(rows),))
        assert [word for word in gone if word.encode() in graveyard.file.read_bytes()], "this test proves nothing"
        assert (await store.wipe()).is_done
        assert [word for word in gone if word.encode() in graveyard.file.read_bytes()] == []


async def test_they_are_gone_where_a_reader_let_us_copy_the_log_only_in_part_before(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with graveyard.opened() as store:
        await graveyard.put(store, [1])
        assert (await store.wipe()).is_done
        with closing(driver.connector(graveyard.file, is_writer=False)()) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM chunk").fetchone()
            await graveyard.put(store, [2])
            with monkeypatch.context() as patch:
                patch.setattr(erase, "LOG_BYTES", 1)
                await graveyard.put(store, [3])
            monkeypatch.setattr(erase, "LOG_BYTES", 2**40)
            rows, gone = await churn(store, graveyard.random, 45)
        assert await checkpoint(graveyard, "TRUNCATE")
        async with store.transaction():
            await store.connection.execute("DELETE FROM heap WHERE at = ?", (min(rows),))
        assert [word for word in gone if word.encode() in graveyard.file.read_bytes()], "this test proves nothing"
        assert (await store.wipe()).is_done
        assert [word for word in gone if word.encode() in graveyard.file.read_bytes()] == []


@pytest.mark.parametrize("log_bytes", [1, 100_000])
async def test_that_we_copy_the_log_ourselves_leaves_known_what_was_written(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch, log_bytes: int
) -> None:
    looked_at: list[Iterable[int] | None] = []

    def note(_file: Path, written: Iterable[int] | None, _page_bytes: int) -> int:
        looked_at.append(written)
        return 0

    monkeypatch.setattr(erase, "LOG_BYTES", log_bytes)
    monkeypatch.setattr(pages, "zero_gaps", note)
    for _ in range(2):
        async with graveyard.opened() as store:
            for _ in range(3):
                for number in range(8):
                    await graveyard.put(store, [number])
                assert (await store.wipe()).is_done
    assert looked_at.pop(0) is None, "the first run looks at everything"
    assert len(looked_at) == 5 and all(looked_at)


async def test_copies_in_unallocated_space_are_gone(graveyard: Graveyard) -> None:
    async with graveyard.opened() as store:
        rows, gone = await churn(store, graveyard.random, 60)
        await store.connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        left = [word for word in gone if word.encode() in graveyard.file.read_bytes()]
        assert left, "SQLite leaves no copies any more: this test proves nothing"
        assert (await store.wipe()).pages > 0
        assert [word for word in gone if word.encode() in graveyard.file.read_bytes()] == []
        assert await is_sound(store)
        async with store.transaction():  # what pages this connection remembers does not bring anything back
            await store.connection.execute("UPDATE heap SET filling = filling || '+'")
        kept = graveyard.file.read_bytes() + graveyard.file.with_name("index.sqlite-wal").read_bytes()
        assert [word for word in gone if word.encode() in kept] == []
        await store.wipe()
        assert [word for word in gone if word.encode() in graveyard.file.read_bytes()] == []
        assert [row[0] for row in await store.connection.execute_fetchall("SELECT word FROM heap ORDER BY at")] == [
            rows[at] for at in sorted(rows)
        ]


Step = tuple[str, list[int]]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "remove", "embed", "recode", "hide", "wipe", "crash", "wipe", "put", "merge"]),
        st.lists(st.integers(0, 30), min_size=1, max_size=8),
    ),
    max_size=14,
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, seed=st.integers(0, 10**6))
def test_after_any_history_what_is_gone_is_nowhere_and_what_stands_is_found(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], seed: int
) -> None:
    graveyard = Graveyard(tmp_path_factory.mktemp("history"), random.Random(seed), growing=0.5)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(erase, "LEAST_BULK", 6)
        patched.setattr(erase, "BULK_SHARE", 1 / 4)
        patched.setattr(codes, "CODES_FROM", 8)
        patched.setattr(fulltext, "MOST_YOUNG", 4)
        patched.setattr(segments, "LEAST_CHUNKS", 0)
        patched.setattr(segments, "MOST", 1)
        patched.setattr(segments, "PAGES_AT_ONCE", 1)
        asyncio.run(_live_through(graveyard, steps))


async def _live_through(graveyard: Graveyard, steps: list[Step]) -> None:
    left = list(steps)
    while True:
        async with graveyard.opened() as store:
            await store.connection.execute("PRAGMA synchronous = OFF")
            while left:
                kind, numbers = left.pop(0)
                if kind == "crash":
                    break  # closed without a wipe, after whole transactions, one of which is undone
                await _take(graveyard, store, kind, numbers)
            else:
                assert (await store.wipe()).is_done
                await _check(graveyard, store)
                return


async def _take(graveyard: Graveyard, store: Store, kind: str, numbers: list[int]) -> None:
    match kind:
        case "put":
            await graveyard.put(store, numbers)
        case "remove":
            await graveyard.remove(store, numbers)
        case "embed":
            await graveyard.embed(store)
        case "recode":
            async with store.transaction():
                await codes.rewrite(store.connection)
        case "hide":
            async with store.transaction():
                await store.connection.execute("UPDATE source SET is_hidden = ?", (numbers[0] % 2,))
        case "merge" if numbers[0] < 8:  # and not to its end
            async with store.transaction():
                for table in await store.connection.run(segments.many):
                    await store.connection.run(partial(segments.merge_some, table=table))
        case "merge":
            await store.merge()
        case "wipe":
            assert (await store.wipe()).is_done
            await _check(graveyard, store)


async def _check(graveyard: Graveyard, store: Store) -> None:
    assert graveyard.traces() == []
    assert await stale_terms(store) == []
    assert await is_sound(store)
    assert await codes.out_of_step(store.connection) == 0
    for words in graveyard.live.values():
        assert await finds(store, words[0])


@pytest.mark.parametrize("growing", [0.0, 1.0])
async def test_a_run_that_was_killed_before_its_wipe_is_made_up_for_by_the_next(
    graveyard: Graveyard, growing: float
) -> None:
    graveyard.growing = growing
    async with graveyard.opened() as store:
        await graveyard.put(store, range(120))
        await store.wipe()
    script = (
        "import asyncio, os, random, sys\n"
        "from pathlib import Path\n"
        "from index.store.store import open_store\n"
        "from index.store import documents\n"
        "from tests.erase.graveyard import page\n"
        "async def main():\n"
        "    async with open_store(Path(sys.argv[1]), is_writer=True) as store:\n"
        "        async with store.transaction():\n"
        "            await documents.remove(store.connection, [page(n, '').id for n in range(60)])\n"
        "        os._exit(9)\n"
        "asyncio.run(main())\n"
    )
    died = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(graveyard.file), cwd=Path(__file__).parents[2]
    )
    assert await died.wait() == 9
    for number in range(60):
        graveyard.gone += graveyard.live.pop(number)
    assert graveyard.traces()
    async with graveyard.opened() as store:
        assert await store.value(erase.DEBT) == "1"
        assert await stale_terms(store)
        assert (await store.wipe()).is_done
        await _check(graveyard, store)
        assert await store.value(erase.DEBT) == "0"


async def test_a_file_that_was_never_wiped_is_looked_at_as_a_whole(graveyard: Graveyard) -> None:
    async with graveyard.opened() as store:
        await graveyard.put(store, range(120))
        await graveyard.remove(store, range(30))
    with closing(driver.connector(graveyard.file, is_writer=True)()) as index:
        index.execute("DELETE FROM meta WHERE name = ?", (erase.DEBT,))
    async with graveyard.opened() as store:
        assert await stale_terms(store)
        await store.wipe()
        await _check(graveyard, store)


async def test_more_texts_than_are_remembered_are_wiped_all_the_same(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "MOST_TEXTS", 3)
    monkeypatch.setattr(erase, "MOST_PAGES", 2)
    monkeypatch.setattr(erase, "LOG_BYTES", 1)
    async with graveyard.opened() as store:
        await graveyard.put(store, range(120))
        await store.wipe()
        await graveyard.remove(store, range(60))
        await store.wipe()
        await _check(graveyard, store)


async def test_an_index_of_an_unknown_version_is_written_anew(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(separators, "_VERSIONS", frozenset())
    async with graveyard.opened() as store:
        await graveyard.put(store, range(120))
        await store.wipe()
        await graveyard.remove(store, range(60))
        assert await stale_terms(store)
        await store.wipe()
        await _check(graveyard, store)


async def test_texts_that_changed_while_deleting_was_plain_are_deleted_securely_later(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FTS5 spoils pages, or leaves words in them, over the marks of such changes: all of it is written anew before."""
    monkeypatch.setattr(erase, "LEAST_BULK", 6)
    async with graveyard.opened() as store:
        for _ in range(3):
            for _ in range(10):
                await graveyard.put(store, [0], lengths=(150,))
            await store.wipe()
            await graveyard.put(store, [0, 1], lengths=(5, 150))
            await store.wipe()
            await _check(graveyard, store)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 5), st.none() | st.text("ab", min_size=1, max_size=6), st.booleans()), max_size=6
        ),
        max_size=8,
    ),
    st.booleans(),
)
def test_both_full_text_indexes_hold_what_the_texts_hold(
    tmp_path_factory: pytest.TempPathFactory, changes: list[list[tuple[int, str | None, bool]]], is_bulk: bool
) -> None:
    """Documents put, changed and removed (None) in any order, several in one transaction, and one several times."""
    graveyard = Graveyard(tmp_path_factory.mktemp("texts"), random.Random(1))

    async def live_through() -> None:
        async with graveyard.opened() as store:
            await store.connection.execute("PRAGMA synchronous = OFF")
            for change in changes:
                await put_texts(store, change)
                assert await is_sound(store)
            assert (await store.wipe()).is_done
            assert await is_sound(store)
            assert await stale_terms(store) == []

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(erase, "LEAST_BULK", 2 if is_bulk else 10**6)
        patched.setattr(erase, "BULK_SHARE", 0.0)
        patched.setattr(fulltext, "MOST_YOUNG", 2)
        asyncio.run(live_through())


async def test_very_many_are_deleted_plainly_and_gone_after_the_wipe_even_of_the_next_run(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "LEAST_BULK", 10)
    async with graveyard.opened() as store:
        await graveyard.put(store, range(120))
        await store.wipe()
        await graveyard.remove(store, range(5))
        assert await store.value(erase.DEBT) == erase.A_LOOK
        with pytest.raises(ZeroDivisionError):
            async with store.transaction():
                for number in range(40, 60):
                    await documents.remove(store.connection, [page(number, "").id])
                    await store.ease_deleting()
                raise ZeroDivisionError
        await graveyard.remove(store, range(5, 40))
        assert await store.value(erase.DEBT) == erase.A_REWRITE
    async with graveyard.opened() as store:
        await graveyard.remove(store, range(60, 70))
        await store.wipe()
        await _check(graveyard, store)
        await graveyard.remove(store, range(70, 75))  # securely again
        await store.wipe()
        await _check(graveyard, store)


async def test_a_reader_that_does_not_let_go_is_named_and_no_success_is_claimed(
    graveyard: Graveyard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run does the work."""
    monkeypatch.setattr(erase, "TRIES", 1)
    async with graveyard.opened() as store:
        await graveyard.put(store, range(20))
        await store.wipe()
        script = (
            "import sqlite3, sys\n"
            "index = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True, isolation_level=None)\n"
            "index.execute('BEGIN')\n"
            "index.execute('SELECT count(*) FROM meta').fetchall()\n"
            "print('reading', flush=True)\n"
            "sys.stdin.read()\n"
        )
        reader = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, str(graveyard.file), stdin=PIPE, stdout=PIPE
        )
        assert reader.stdin is not None and reader.stdout is not None
        try:
            assert await reader.stdout.readline() == b"reading\n"
            await graveyard.remove(store, range(10))
            wiped = await store.wipe()
            assert not wiped.is_done
            assert wiped.readers == (reader.pid,)
            assert await store.value(erase.DEBT) == "1"
        finally:
            reader.stdin.close()
            await reader.wait()
        assert (await store.wipe()).is_done
        await _check(graveyard, store)


@pytest.mark.parametrize("is_writer", [True, False])
async def test_what_is_sorted_is_written_into_no_temporary_file(graveyard: Graveyard, is_writer: bool) -> None:
    """2 is memory, unless this SQLite was built to use files whatever it is told (0)."""
    async with graveyard.opened() as store:
        await graveyard.put(store, range(3))
    with closing(driver.connector(graveyard.file, is_writer=is_writer)()) as connection:
        assert connection.execute("PRAGMA temp_store").fetchone() == (2,)
        assert ("TEMP_STORE=0",) not in connection.execute("PRAGMA compile_options").fetchall()
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_nothing_to_wipe_costs_nothing(graveyard: Graveyard) -> None:
    async with graveyard.opened() as store:
        await graveyard.put(store, range(3))
        assert (await store.wipe()).is_done
        before = graveyard.file.read_bytes()
        assert (await store.wipe()).is_done
        assert graveyard.file.read_bytes() == before


async def test_readers_see_the_same_before_during_and_after_a_wipe(graveyard: Graveyard) -> None:
    async with graveyard.opened() as store:
        await graveyard.put(store, range(60))
        async with open_store(graveyard.file, is_writer=False) as reader:
            for start in (0, 20):
                await graveyard.remove(store, range(start, start + 20))
                answers = await asyncio.gather(
                    store.wipe(), *(reader.connection.execute_fetchall("SELECT count(*) FROM chunk") for _ in range(50))
                )
                assert {int(next(iter(rows))[0]) for rows in answers[1:]} == {40 - start}  # type: ignore[call-overload]
            assert await is_sound(store)
