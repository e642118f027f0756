"""Tallies are what the texts say, whatever becomes of those; older files get theirs by and by, and lack nothing."""

from pathlib import Path
from random import Random

import pytest

from index.engines.sqlite.engine import SqliteEngine
from index.errors import StoreError
from index.model import EVERYTHING, Filters, Query, Term
from index.store import documents, tallies
from index.store.store import Store, open_store
from index.text.fold import tokens
from index.text.searchable import searchable
from index.text.tally import _OF_WORDS, Tallies, number_of, tally_of, tally_of_words
from tests.contract.conftest import KEYS, Bench
from tests.contract.test_common_words import COMMON, TIGHT
from tests.contract.test_engine import page
from tests.store.test_upgrade import unpacked


async def state(store: Store) -> tuple[int, int, int]:
    """Chunks, tallies, and how many of these are wrong."""
    [(chunks, made)] = await store.connection.execute_fetchall(
        "SELECT (SELECT count(*) FROM chunk), (SELECT count(*) FROM tally)"
    )
    return chunks, made, await tallies.out_of_step(store.connection)


async def ask(store: Store) -> object:
    """A question of common words, which are counted in tallies."""
    query = Query("the server has what", tuple(map(Term, ("server", "disk", "night", "raid"))))
    async with SqliteEngine(store, KEYS, TIGHT).view(EVERYTHING, Filters()) as view:
        return await view.lexical(query, limit=30)


async def fill(store: Store, count: int = 90) -> Bench:
    draw, bench = Random(4), Bench(store, None)
    await bench.put(*(page(f"p{number}", " ".join(draw.choices(COMMON, k=4))) for number in range(count)))
    return bench


async def test_each_change_of_a_text_changes_its_tally(tmp_path: Path) -> None:
    draw = Random(7)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        bench = await fill(store)
        for step in range(30):
            some = [page(f"p{draw.randrange(90)}", " ".join(draw.choices(COMMON, k=3))) for _ in range(3)]
            pages = {one.id: one for one in some}
            if step % 5 == 4:
                async with store.transaction():
                    await documents.remove(store.connection, pages)
            else:
                await bench.put(*pages.values())
            chunks, made, wrong = await state(store)
            assert chunks == made > 50
            assert wrong == 0


async def test_those_of_an_older_file_are_made_a_few_at_a_time_and_meanwhile_when_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "AT_ONCE", 40)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        bench = await fill(store)
        expected = await ask(store)
        async with store.transaction():
            await tallies.rewrite(store.connection)
        seen = []
        for _ in range(4):
            assert await ask(store) == expected
            seen.append(await state(store))
            async with store.transaction():
                pass
        assert seen == [(90, 40, 0), (90, 80, 0), (90, 90, 0), (90, 90, 0)]
        assert not await store.connection.execute_fetchall("SELECT 1 FROM meta WHERE name = ?", (tallies.BEHIND,))
        await bench.put(page("p1", "server"), page("new", "disk"))
        assert await state(store) == (91, 91, 0)


@pytest.mark.parametrize("name", ["forge_11", "chat_11"])
async def test_a_file_of_the_schema_before_gets_all_of_them(name: str, tmp_path: Path) -> None:
    file = unpacked(name, tmp_path / "index.sqlite")
    async with open_store(file, is_writer=True) as store:
        assert (await state(store))[1:] == (0, 0)
        for _ in range(2):
            async with store.transaction():
                pass
        chunks, made, wrong = await state(store)
        assert (chunks, wrong) == (made, 0) and chunks > 0


@pytest.mark.parametrize(
    "data", [b"", b"\1\0\0\0", b"\0" * 9, b"\2\0\0\0" + b"\0" * 8, b"\0" * 4 + b"\xff" * 8, b"\xff" * 12]
)
async def test_a_damaged_one_is_told_with_its_remedy_and_mended(data: bytes, tmp_path: Path) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(store)
        expected = await ask(store)
        await store.connection.execute("UPDATE tally SET data = ?", (data,))
        with pytest.raises(StoreError, match=r"damaged \(run `sources verify --repair`\)"):
            await ask(store)
        assert await tallies.out_of_step(store.connection) == 90
        async with store.transaction():
            await tallies.rewrite(store.connection)
        assert await ask(store) == expected
        assert await state(store) == (90, 90, 0)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tally SET data = CAST(data || x'ff' AS TEXT)",
        f"INSERT INTO meta(name, value) VALUES ('{tallies.BEHIND}', 'far')",
        "DELETE FROM tally",
        "UPDATE tally SET data = zeroblob(8)",
    ],
)
async def test_damage_prevents_neither_writing_nor_looking_for_it_nor_mending(damage: str, tmp_path: Path) -> None:
    """That of a text as well, which cannot be mended from here."""
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(store)
        text = "UPDATE chunk SET body = CAST(CAST(body AS BLOB) || x'ff20' AS TEXT) WHERE chunk_key = ?"
        [(last,)] = await store.connection.execute_fetchall("SELECT max(chunk_key) FROM chunk")
        await store.connection.execute(text, (last,))
        await store.connection.execute(damage)
        async with store.transaction():
            pass
        if await tallies.out_of_step(store.connection):
            async with store.transaction():
                await tallies.rewrite(store.connection)
        assert await state(store) == (90, 90, 0)


async def test_what_was_deleted_is_not_in_the_file_as_numbers_either(tmp_path: Path) -> None:
    file = tmp_path / "index.sqlite"
    secret = "xylophone quixotry marzipan zeppelin"
    numbers = b"".join(number_of(token).to_bytes(4, "little") for token in tokens(secret))
    async with open_store(file, is_writer=True) as store:
        bench = await fill(store, 400)
        await bench.put(page("p7", f"{secret} disk"), page("p8", f"raid {secret}"))
        await store.wipe()
        assert numbers in file.read_bytes()
        await bench.put(page("p7", "disk"))
        async with store.transaction():
            await documents.remove(store.connection, [page("p8", "").id])
        await store.wipe()
        assert numbers not in file.read_bytes()


async def test_one_that_is_missing_though_all_were_made_is_told_and_one_that_is_yet_to_be_made_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "AT_ONCE", 40)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(store)
        await store.connection.execute("DELETE FROM tally WHERE chunk_key = (SELECT max(chunk_key) FROM tally)")
        assert await state(store) == (90, 89, 1)
        async with store.transaction():
            await tallies.rewrite(store.connection)
        assert await state(store) == (90, 40, 0)
        await store.connection.execute("DELETE FROM tally WHERE chunk_key = (SELECT min(chunk_key) FROM tally)")
        assert await state(store) == (90, 39, 1)


def test_more_than_the_lengths_tell_of_is_no_row_of_tallies() -> None:
    made = tally_of("a title", "a text", "a b")
    with pytest.raises(ValueError, match="more than these"):
        Tallies.of([5], [len(made)], made + made)


def test_long_words_are_counted_and_not_remembered() -> None:
    word = "f00d" * 500
    assert tally_of("", word, "") == tally_of_words([], [word], [])
    assert not any(len(known) > 128 for known in _OF_WORDS)


def test_the_words_of_a_tally_are_those_that_the_index_stores() -> None:
    title, body = "Über DISKS", "naïve Straße\u0301 x_y 2024 λόγος Iİ"
    tallies = Tallies.of([5], [len(tally_of(title, body, "a b"))], tally_of(title, body, "a b"))
    columns = [list(next(iter(tallies.column(column)))) for column in (1, 2, 3)]
    assert columns == [list(map(number_of, of)) for of in (tokens(title), tokens(body), ["a", "b"])]
    assert tallies.sizes() == {5: len(tokens(title)) + len(tokens(body))}


def test_the_writer_makes_the_same_one_as_is_made_of_what_is_stored() -> None:
    made = page("p", "naïve SendAsync disks\nof a server")
    for item in searchable(made, KEYS.document_keys):
        assert item.tally == tally_of(item.title, item.chunk.text, item.keys)
