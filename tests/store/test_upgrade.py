"""Index files that former versions wrote are brought up to date, whole or not at all; a refresh goes on with them."""

import asyncio
import lzma
import sqlite3
from pathlib import Path

import pytest

from index.errors import ReindexNeededError, StoreError
from index.store import codes, erase, fulltext, pages, schema, store
from index.store.schema import STEPS
from index.store.store import open_store
from tests.cli.conftest import Community, community

__all__ = ["community"]

KEPT = Path(__file__).parent / "kept"
NAMES = sorted(path.name.partition(".")[0] for path in KEPT.glob("*.sqlite.xz"))


def unpacked(name: str, file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(lzma.decompress((KEPT / f"{name}.sqlite.xz").read_bytes()))
    return file


def asked(file: Path, question: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(file)
    try:
        return connection.execute(question).fetchall()
    finally:
        connection.close()


async def upgrade(file: Path) -> None:
    async with open_store(file, is_writer=True) as opened:
        await opened.wipe()


def test_the_last_schema_before_this_one_is_among_the_kept_files() -> None:
    assert {name.rpartition("_")[2] for name in NAMES} >= {"1", str(len(STEPS) - 1)}


@pytest.mark.parametrize("name", NAMES)
async def test_a_reader_asks_for_a_refresh_and_changes_nothing(name: str, tmp_path: Path) -> None:
    file = unpacked(name, tmp_path / "index.sqlite")
    before = file.read_bytes()
    with pytest.raises(StoreError, match=r"schema \d+ is older than \d+.*run `sources refresh` once"):
        async with open_store(file, is_writer=False):
            pass
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", NAMES)
async def test_a_writer_brings_it_up_to_date_with_all_that_is_in_it(name: str, tmp_path: Path) -> None:
    file = unpacked(name, tmp_path / "index.sqlite")
    texts = asked(file, "SELECT id, title, body, keys FROM chunk ORDER BY id")
    assert texts
    await upgrade(file)
    assert asked(file, "PRAGMA user_version") == [(len(STEPS),)]
    assert asked(file, "SELECT id, title, body, keys FROM chunk ORDER BY id") == texts
    assert asked(file, "PRAGMA integrity_check") == [("ok",)]
    async with open_store(tmp_path / "new" / "index.sqlite", is_writer=True):
        pass
    tables = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
    assert asked(file, tables) == asked(tmp_path / "new" / "index.sqlite", tables)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("_9")])
async def test_all_vectors_stand_by_chunk_and_get_codes_whether_they_were_in_cells_or_not(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = unpacked(name, tmp_path / "index.sqlite")
    vectors = asked(file, "SELECT chunk_key, part_key, data FROM vector ORDER BY 1, 2")
    assert len(vectors) == (0 if name.startswith("chat") else 4)
    await upgrade(file)
    assert asked(file, "SELECT chunk_key, part_key, data FROM vector") == vectors
    assert asked(file, "SELECT part_key FROM part WHERE has_vector ORDER BY 1") == sorted((row[1],) for row in vectors)
    assert asked(file, "SELECT sum(vectors) FROM code") == [(len(vectors) or None,)]
    monkeypatch.setattr(codes, "CODES_FROM", 4)
    async with open_store(file, is_writer=True) as opened:
        async with opened.transaction():
            pass
        assert await codes.counts(opened.connection) == (len(vectors), len(vectors))
        assert await codes.out_of_step(opened.connection) == 0


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("chat")])
async def test_what_was_taken_back_before_stays_gone_and_orders_stay_known(name: str, tmp_path: Path) -> None:
    file = unpacked(name, tmp_path / "index.sqlite")
    await upgrade(file)
    [(body,)] = asked(file, "SELECT body FROM chunk")
    assert "serviced in June" in str(body) and "Mira" in str(body)
    for fragment in (b"xyloph", b"phonic", b"quixot", b"xotry"):
        assert fragment not in file.read_bytes()
    [(removed,)] = asked(file, "SELECT removed FROM purge WHERE applied_ms IS NOT NULL")
    assert removed == 1


@pytest.mark.parametrize("name", NAMES)
async def test_copies_of_rows_that_the_steps_moved_go_with_the_wipe_that_follows(name: str, tmp_path: Path) -> None:
    file = unpacked(name, tmp_path / "index.sqlite")
    [(page_bytes,)] = asked(file, "PRAGMA page_size")
    await upgrade(file)
    with pages.in_use(file):
        assert pages.zero_gaps(file, None, int(str(page_bytes))) == 0


async def test_full_text_indexes_that_hold_what_was_deleted_plainly_are_still_written_anew(tmp_path: Path) -> None:
    file = unpacked("chat_10", tmp_path / "index.sqlite")
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = ?", (erase.A_REWRITE, erase.DEBT))
    connection.close()
    async with open_store(file, is_writer=True) as opened:
        assert await opened.value(erase.DEBT) == erase.A_REWRITE
        assert (await opened.wipe()).separators == len(fulltext.SETTLED)


@pytest.mark.parametrize("name", NAMES)
async def test_a_step_that_fails_leaves_the_former_schema_and_the_next_try_goes_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = unpacked(name, tmp_path / "index.sqlite")
    broken = (*STEPS[:-1], f"CREATE TABLE half(a TEXT);\n{STEPS[-1]}\nINSERT INTO no_such_table VALUES (1);\n")
    monkeypatch.setattr(store, "STEPS", broken)
    with pytest.raises(StoreError):
        await upgrade(file)
    monkeypatch.setattr(store, "STEPS", schema.STEPS)
    assert asked(file, "PRAGMA user_version") == [(len(STEPS) - 1,)]
    assert asked(file, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == [(0,)]
    await upgrade(file)
    assert asked(file, "PRAGMA user_version") == [(len(STEPS),)]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("forge")])
def test_a_refresh_goes_on_with_it_or_says_that_all_must_be_read_again(name: str, community: Community) -> None:
    unpacked(name, community.folder / "state" / "index.sqlite")
    text = community.config_file.read_text()
    community.config_file.write_text(text.replace('kind = "off"', 'kind = "hashing"'))
    try:
        done = community.sources("refresh", "--quiet").return_value
    except ReindexNeededError as error:
        assert "sources refresh --full" in str(error)
        done = community.sources("refresh", "--full", "--quiet").return_value
    assert done == 0
    assert "keys.md" in community.sources("search", "signing key").stdout
    assert community.sources("verify").return_value == 0
    assert asyncio.run(versions(community)) == len(STEPS)


async def versions(community: Community) -> int:
    async with open_store(community.folder / "state" / "index.sqlite", is_writer=False) as opened:
        fingerprint = await opened.fingerprint()
    assert fingerprint is not None
    return fingerprint.schema
