"""Chunks that may grow are indexed apart: nobody who asks can tell, and the large indexes keep still."""

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from index.engines.sqlite.common import Limits
from index.engines.sqlite.engine import SqliteEngine
from index.model import EVERYTHING, Document, Kind, Query, Ranked, SourceId, Term
from index.store import documents, fulltext, postings, soundness
from index.store.driver import Connection
from index.store.store import Store, open_store
from index.text.searchable import searchable
from tests.contract.conftest import KEYS
from tests.contract.test_engine import page, words
from tests.erase.graveyard import is_sound

ROOMS = [SourceId(f"repo:r{number}") for number in range(4)]
COMMON = ("server", "disk", "backup", "night", "raid")


async def put(store: Store, *pages: Document, may_grow: bool) -> None:
    async with store.transaction():
        for made in pages:
            key = await store.register(made.source, label=made.source.partition(":")[2], is_public=True)
            items = searchable(made, KEYS.document_keys)
            written = replace(made, may_grow=may_grow)
            await documents.put(store.connection, key, written, items, salt="s")


async def young(store: Store) -> list[str]:
    """The texts of the young chunks, by turn and key."""
    rows = await store.connection.execute_fetchall(
        "SELECT body FROM young LEFT JOIN chunk USING (chunk_key) ORDER BY turn, chunk_key"
    )
    return [str(row[0]) for row in rows]


async def large_tiers(store: Store) -> list[tuple[object, ...]]:
    """Every page of them."""
    pages = " UNION ALL ".join(f"SELECT '{table}', id, block FROM {table}_data" for table in fulltext.SETTLED)
    return [tuple(row) for row in await store.connection.execute_fetchall(pages)]


async def test_a_chunk_that_grows_again_and_again_leaves_the_large_indexes_as_they_are(store: Store) -> None:
    await put(store, *(page(f"p{number}", f"settled words {number}") for number in range(20)), may_grow=False)
    before = await large_tiers(store)
    for said in ("one", "one two", "one two three"):
        await put(store, page("window", said), may_grow=True)
    await put(store, page("window"), may_grow=True)
    await store.wipe()
    assert await large_tiers(store) == before
    assert await is_sound(store)


async def test_a_chunk_is_where_it_was_written_to_last_and_one_that_did_not_change_stays(store: Store) -> None:
    await put(store, page("a", "settled first"), page("b", "settled"), may_grow=False)
    await put(store, page("c", "grows"), may_grow=True)
    assert await young(store) == ["grows"]
    await put(store, page("a", "grows as well"), page("b", "settled"), may_grow=True)
    assert await young(store) == ["grows", "grows as well"]
    await put(store, page("c", "at rest"), page("a", "grows as well"), may_grow=False)
    assert await young(store) == ["grows as well"]
    async with store.transaction():
        await documents.remove(store.connection, [page("a").id])
    assert await young(store) == []
    assert await is_sound(store)


async def test_the_oldest_settle_where_there_are_too_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext, "MOST_YOUNG", 6)
    for number in range(6):
        await put(store, page(f"p{number}", f"text {number}"), may_grow=True)
    await put(store, page("p0", "text 0 again"), may_grow=True)
    assert len(await young(store)) == 6
    await put(store, page("p6", "text 6"), may_grow=True)
    assert await young(store) == ["text 5", "text 0 again", "text 6"]
    assert await is_sound(store)
    await put(store, *(page(f"q{number}", f"text {number}") for number in range(40)), may_grow=True)
    assert len(await young(store)) == 3
    assert await is_sound(store)


LIMITS = (Limits(), Limits(small=0, budget=40, refined=60, conjunctions=200, spread=4))
QUERIES = (
    words("w7 w9"),
    words("server disk backup night raid"),
    words("server w7", repos=frozenset({"r1", "r2"})),
    words("backup night", kinds=frozenset({Kind.README})),
    Query("", (Term("disk backup", is_phrase=True), Term("server"))),
    Query("", (Term("server"), Term("night", is_excluded=True))),
    words("erve ckup"),
    words("serv"),
)


async def grow(store: Store, draw: random.Random) -> None:
    """Windows in four rooms, that grow, change, close and go."""
    said: dict[int, str] = {}
    for _ in range(25):
        changed = []
        for number in draw.sample(range(60), 6):
            if number in said and draw.random() < 0.15:
                async with store.transaction():
                    await documents.remove(store.connection, [page(f"w{number}", source=ROOMS[number % 4]).id])
                del said[number]
                continue
            more = draw.choices(COMMON, k=draw.randint(0, 3)) + [f"w{draw.randrange(30)}" for _ in range(4)]
            said[number] = " ".join([said.get(number, ""), *more]).strip()
            kind = Kind.README if number % 3 else Kind.DOC
            changed.append(page(f"w{number}", said[number], source=ROOMS[number % 4], kind=kind))
        await put(store, *changed, may_grow=draw.random() < 0.7)
        if draw.random() < 0.2:
            await store.wipe()


async def rankings(store: Store) -> list[list[Ranked]]:
    found = []
    for limits in LIMITS:
        engine = SqliteEngine(store, KEYS, limits)
        for query in QUERIES:
            for audience in (EVERYTHING, replace(EVERYTHING, sources=frozenset(ROOMS[1:]))):
                async with engine.view(audience, query.filters) as view:
                    found.append(await view.lexical(query, limit=30))
    return found


def _numbers(listed: str) -> list[int]:
    return sorted(map(int, listed.split(","))) if listed else []


def counts(connection: Connection) -> list[object]:
    """What is read, also where a bound cuts it."""
    found: list[object] = []
    for ranges in (None, ((1 << 32, (3 << 32) - 1),)):
        for most in (1, 5, 17, 10**6):
            found.append(postings.frequency(connection, "server OR w7", ranges, at_most=most))
            found.append(_numbers(postings.having(connection, "server NOT night", ranges, limit=most)))
            found.append(postings.matching(connection, "ser", ranges, is_prefix=True, limit=most))
            found.append(postings.containing(connection, "erver", ranges, limit=most))
        listed = (postings.keyed(connection, "en0server", ranges), *postings.typed(connection, "server", ranges))
        assert all(listed[::2]), "no key and no word of a text was read: this proves nothing"
        found += map(_numbers, listed)
    many = tuple((key, key) for key in range(1 << 32, (1 << 32) + postings.MOST_RANGES + 1))
    found.append(_numbers(postings.having(connection, "server", many, limit=10**6)))
    return found


@pytest.mark.parametrize("seed", [1, 2])
async def test_all_is_ranked_and_counted_as_by_one_index_that_was_written_in_one_go(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "MOST_YOUNG", 24)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await grow(store, random.Random(seed))
        assert 5 < len(await young(store)) <= 24
        assert await is_sound(store)
        ranked, counted = await rankings(store), await store.connection.run(counts)
        async with store.transaction():
            await store.connection.execute("DELETE FROM young")
            await fulltext.rewrite(store.connection)
        assert await young(store) == []
        assert await rankings(store) == ranked
        assert await store.connection.run(counts) == counted
        assert sum(map(len, ranked)) > 200


async def test_writing_both_anew_leaves_each_chunk_in_its_tier(store: Store) -> None:
    await put(store, page("a", "settled"), may_grow=False)
    await put(store, page("b", "grows"), may_grow=True)
    async with store.transaction():
        await fulltext.rewrite(store.connection)
    assert await young(store) == ["grows"]
    assert await is_sound(store)


SPOILT = {
    "words of a young chunk in both tiers": "INSERT INTO words(rowid, title, body, keys) SELECT * FROM young_chunk",
    "trigrams of a young chunk in both tiers": "INSERT INTO grams(rowid, title, body) SELECT chunk_key, title, body"
    " FROM young_chunk",
    "a young chunk that is not listed": "DELETE FROM young",
    "a settled chunk that is listed": "INSERT INTO young SELECT min(chunk_key), 9 FROM chunk",
    "words that nobody says": "INSERT INTO young_words(rowid, body) VALUES (77, 'nothing')",
    "trigrams that nobody says": "INSERT INTO young_grams(rowid, body) VALUES (77, 'nothing')",
    "a chunk that is not there": "INSERT INTO young VALUES (77, 1)",
}


@pytest.mark.parametrize("how", SPOILT)
async def test_tiers_that_are_out_of_step_are_found_and_mended(store: Store, how: str) -> None:
    await put(store, page("a", "settled text"), may_grow=False)
    await put(store, page("b", "growing text"), may_grow=True)
    assert await soundness.faults(store.connection) == []
    await store.connection.execute(SPOILT[how])
    found = await soundness.faults(store.connection)
    assert found and all(fault.is_derived for fault in found)
    async with store.transaction():
        await soundness.repair(store.connection, found)
    assert await soundness.faults(store.connection) == []
    assert await is_sound(store)


async def test_comparing_writes_nothing(store: Store) -> None:
    await put(store, page("a", "settled text"), may_grow=False)
    await put(store, page("b", "growing text"), may_grow=True)
    before = await large_tiers(store)
    assert await fulltext.is_in_step(store.connection, "words") and await fulltext.is_in_step(store.connection, "grams")
    assert await large_tiers(store) == before
    assert not store.connection.in_transaction
