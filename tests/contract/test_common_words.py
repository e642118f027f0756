"""Questions of common words in a large index: what bounds their cost may not cost them the answer."""

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from index.engines.sqlite.common import Limits
from index.engines.sqlite.engine import SqliteEngine
from index.model import EVERYTHING, Audience, Filters, Kind, Query, Ranked, SourceId, Term
from index.store import postings, scope
from index.store.store import open_store
from tests.contract.conftest import KEYS, Bench
from tests.contract.test_engine import page, words

EXACT = Limits()
TIGHT = Limits(small=0, budget=40, refined=60, conjunctions=200, spread=4)
"""A budget that every word below goes beyond, in an index that counts as large."""
ALL = Filters()
COMMON = ("server", "disk", "backup", "night", "raid")
ROOMS = [SourceId(f"repo:r{number}") for number in range(5)]


async def fill(bench: Bench) -> None:
    draw = Random(4)
    pages = [
        page(
            f"p{number}",
            " ".join([*draw.choices(COMMON, k=draw.randint(1, 4)), *(f"w{draw.randrange(600)}" for _ in range(12))]),
            source=ROOMS[number % 5],
            kind=draw.choice([Kind.DOC, Kind.README]),
        )
        for number in range(400)
    ]
    await bench.put(*pages)
    await bench.put(page("best", "server disk backup night raid", source=ROOMS[3], kind=Kind.README))


async def ask(engine: SqliteEngine, text: str, audience: Audience = EVERYTHING, filters: Filters = ALL) -> list[Ranked]:
    async with engine.view(audience, filters) as view:
        return await view.lexical(replace(words(text), filters=filters), limit=10)


@pytest.mark.parametrize(
    ("text", "filters", "least"),
    [
        ("server disk backup night raid", ALL, 0.5),
        ("server disk backup", ALL, 0.5),
        ("w7 server disk", ALL, 0.9),
        ("w7 w9 backup night", ALL, 0.9),
        ("server disk", Filters(repos=frozenset({"r3"})), 0.6),
        ("server disk backup night", Filters(kinds=frozenset({Kind.README})), 0.6),
        ("server w7", Filters(repos=frozenset({"r1", "r2"}), kinds=frozenset({Kind.DOC})), 0.6),
    ],
)
async def test_a_bounded_ranking_keeps_most_of_the_exact_one(
    tmp_path: Path, text: str, filters: Filters, least: float
) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(Bench(store, None))
        exact = await ask(SqliteEngine(store, KEYS, EXACT), text, filters=filters)
        bounded = await ask(SqliteEngine(store, KEYS, TIGHT), text, filters=filters)
    assert len(bounded) == len(exact) == 10
    best = {ranked.chunk for ranked in exact}
    assert len(best & {ranked.chunk for ranked in bounded}) >= least * 10
    assert [ranked.score for ranked in bounded] == sorted((ranked.score for ranked in bounded), reverse=True)


async def test_in_a_narrow_scope_more_of_the_common_words_say_where_to_look(tmp_path: Path) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(Bench(store, None))
        text, inside = " ".join(COMMON), Filters(repos=frozenset({"r3"}))
        best = {ranked.chunk for ranked in await ask(SqliteEngine(store, KEYS, EXACT), text, filters=inside)}
        found = {}
        for looked_up in (1, len(COMMON)):
            limits = replace(TIGHT, refined=20, looked_up_inside=looked_up)
            ranking = await ask(SqliteEngine(store, KEYS, limits), text, filters=inside)
            found[looked_up] = {ranked.chunk for ranked in ranking}
    shares = {looked_up: len(one & best) for looked_up, one in found.items()}
    assert shares[1] < 5 <= shares[len(COMMON)]


async def test_two_words_side_by_side_count_for_more_in_a_narrow_scope_too(tmp_path: Path) -> None:
    rest = " ".join(["other"] * 10)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(Bench(store, None))
        await Bench(store, None).put(
            page("apart", f"seldom {rest} server", source=ROOMS[3]),
            page("row", f"seldom server {rest}", source=ROOMS[3]),
        )
        scores = {}
        for limits in (EXACT, TIGHT):
            found = await ask(
                SqliteEngine(store, KEYS, limits), "seldom server", filters=Filters(repos=frozenset({"r3"}))
            )
            best, second = [ranked.score for ranked in found[:2]]
            scores[limits] = best - second
    assert scores[TIGHT] == pytest.approx(scores[EXACT], rel=0.2)
    assert scores[TIGHT] > 1


@pytest.mark.parametrize("together", [6, 2])
async def test_the_chunk_with_all_of_the_common_words_comes_first(tmp_path: Path, together: int) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(Bench(store, None))
        exact = await ask(SqliteEngine(store, KEYS, EXACT), " ".join(COMMON))
        bounded = await ask(SqliteEngine(store, KEYS, replace(TIGHT, together=together)), " ".join(COMMON))
    assert bounded[0].chunk == exact[0].chunk
    assert bounded[0].coverage == pytest.approx(1.0)


@pytest.mark.parametrize("filters", [ALL, Filters(kinds=frozenset({Kind.README}))])
async def test_a_rare_word_of_one_chunk_costs_none_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filters: Filters
) -> None:
    monkeypatch.setattr(scope, "NARROW", 5)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(Bench(store, None))
        await Bench(store, None).put(page("rare", "zebra"))
        exact = await ask(SqliteEngine(store, KEYS, EXACT), "server zebra disk", filters=filters)
        bounded = await ask(SqliteEngine(store, KEYS, TIGHT), "server zebra disk", filters=filters)
    assert len(bounded) == len(exact) == 10
    assert filters != ALL or bounded[0].chunk == exact[0].chunk


@pytest.mark.parametrize(
    ("text", "excluded", "filters"),
    [
        ("disk server", "", Filters(kinds=frozenset({Kind.NOTE}))),
        ("disk server", "", Filters(after_ms=0)),
        ("disk server", "night", ALL),
    ],
)
async def test_what_a_filter_leaves_is_found_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, excluded: str, filters: Filters
) -> None:
    """All words are common, what is left is too much to be looked at one by one, and other things come before it."""
    monkeypatch.setattr(scope, "NARROW", 5)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        bench = Bench(store, None)
        await bench.put(*(page(f"a{number}", "server disk night") for number in range(300)))
        wanted = [page(f"z{number}", "server disk", kind=Kind.NOTE, last_ms=1) for number in range(20)]
        await bench.put(*wanted)
        query = replace(words(text), filters=filters)
        query = replace(query, terms=(*query.terms, *(Term(word, is_excluded=True) for word in excluded.split())))
        async with SqliteEngine(store, KEYS, TIGHT).view(EVERYTHING, query.filters) as view:
            found = await view.lexical(query, limit=30)
    assert {ranked.chunk for ranked in found} == {chunk.id for one in wanted for chunk in one.chunks}


async def test_a_filter_that_leaves_scattered_chunks_leaves_the_same_however_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = Filters(kinds=frozenset({Kind.README}))
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(Bench(store, None))
        engine = SqliteEngine(store, KEYS, TIGHT)
        few = await ask(engine, "server disk backup night", filters=filters)
        monkeypatch.setattr(postings, "MOST_RANGES", 2)
        monkeypatch.setattr(scope, "MOST_TESTS", 2)
        many = await ask(engine, "server disk backup night", filters=filters)
    assert many == few
    assert few


async def test_an_excluded_word_is_excluded_however_common_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "MOST_MATCHES", 3)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        bench = Bench(store, None)
        await bench.put(*(page(f"p{number}", "server night") for number in range(9)), page("q", "server"))
        query = Query("server", (Term("server"), Term("night", is_excluded=True)))
        async with SqliteEngine(store, KEYS).view(EVERYTHING, query.filters) as view:
            assert len(await view.lexical(query, limit=10)) == 1


async def test_hidden_rooms_between_those_of_the_audience_move_no_sample(tmp_path: Path) -> None:
    rooms = [SourceId(f"repo:s{number}") for number in range(24)]
    rankings = []
    for is_hidden_there in (False, True):
        draw = Random(4)
        async with open_store(tmp_path / f"{is_hidden_there}.sqlite", is_writer=True) as store:
            bench = Bench(store, None)
            for number, room in enumerate(rooms):
                if is_hidden_there and number % 3:
                    await bench.put(page("h", "server disk", source=SourceId(f"repo:hidden{number}")))
                texts = (
                    " ".join([*draw.choices(COMMON, k=draw.randint(1, 4)), f"w{draw.randrange(60)}", "a b c"])
                    for _ in range(2 * number + 1)
                )
                await bench.put(*(page(f"p{at}", text, source=room) for at, text in enumerate(texts)))
            engine = SqliteEngine(store, KEYS, TIGHT)
            asked = ("server disk backup w7", "server disk backup night")
            rankings += [await ask(engine, text, Audience(frozenset(rooms))) for text in asked]
    assert rankings[:2] == rankings[2:]
    assert all(rankings)


async def test_common_words_of_hidden_rooms_move_nothing_in_a_bounded_ranking_either(tmp_path: Path) -> None:
    shown = Audience(frozenset(ROOMS))
    rankings = []
    for number in range(2):
        async with open_store(tmp_path / f"{number}.sqlite", is_writer=True) as store:
            bench = Bench(store, None)
            await fill(bench)
            if number:
                hidden = SourceId("repo:hidden")
                await bench.put(*(page(f"h{n}", "server disk server night", source=hidden) for n in range(100)))
            rankings.append(await ask(SqliteEngine(store, KEYS, TIGHT), "server disk backup w7", shown))
    assert rankings[0] == rankings[1]
    assert rankings[0]
