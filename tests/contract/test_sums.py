"""The sums of a ranking are the same in dicts and in arrays, to the last bit; what is kept between questions holds."""

from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.engines.sqlite.arrays import ArraySums
from index.engines.sqlite.asked import Counts, Demands, Sought
from index.engines.sqlite.counting import Wanted
from index.engines.sqlite.engine import SqliteEngine
from index.engines.sqlite.statistics import Statistics
from index.engines.sqlite.sums import Sums
from index.engines.sqlite.words import WordRanking
from index.model import EVERYTHING, Filters, Query, Term
from index.store.scope import Scope
from index.store.store import Store, open_store
from index.text.bm25 import Feature
from index.text.fold import tokens, words
from index.text.tally import Tallies, tally_of
from tests.contract.conftest import KEYS, Bench
from tests.contract.test_common_words import COMMON, TIGHT
from tests.contract.test_engine import page

CHUNKS = 400
chunk_lists = st.lists(st.integers(1, CHUNKS), max_size=30)
listed = st.builds(lambda chunks: ",".join(map(str, sorted(chunks))), chunk_lists)
columns = st.fixed_dictionaries({"title": listed, "body": listed, "b": listed, "c": listed})
some_chunks = st.frozensets(st.integers(1, CHUNKS), max_size=200)


def ranked(sums: Sums, words: list[dict[str, str]], demands: Demands, scope: Scope, further: list[int]) -> object:
    """All that a ranking does with its sums, one after the other."""
    groups = []
    for word in words:
        times = {name: sums.times(one) for name, one in word.items()}
        counts = Counts({"a": times["title"]}, {"a": times["body"]}, {"b": times["b"], "c": times["c"]})
        groups.append(
            [Feature(sums.frequency(Sought("a", ("b", "c")), counts)), Feature(sums.present(demands.excluded[0]))]
        )
    features = [feature for group in groups for feature in group]
    found = sums.allowed(sums.ceilings(features, chunks=CHUNKS), demands, scope)
    found = sums.raised(found, sums.keys(",".join(map(str, further))), 0.7, None)
    found = sums.raised(found, further, 0.3, demands)
    order = list(sums.order(found))
    sizes = {key: 1 + key % 50 for key in order[::2]}
    return (
        [(key, sums.value(found, key)) for key in order],
        sums.number(found),
        sums.scores(features, order, sizes, chunks=CHUNKS, mean=21.5),
        sums.coverage(groups, order, chunks=CHUNKS),
    )


@settings(max_examples=20, deadline=None)
@given(
    st.lists(columns, min_size=1, max_size=4),
    some_chunks, some_chunks, st.lists(st.integers(1, CHUNKS), unique=True, max_size=40), st.integers(0, 2),
)  # fmt: skip
def test_arrays_and_dicts_give_the_same_numbers(
    words: list[dict[str, str]], demanded: frozenset[int], excluded: frozenset[int], further: list[int], kind: int
) -> None:
    scope = (Scope(None, None), Scope(None, ((5, 90), (200, 399))), Scope(None, None, keys=demanded))[kind]
    demands = Demands((), (demanded,) if len(demanded) > 100 else (), (), (excluded,))
    assert ranked(Sums(), words, demands, scope, further) == ranked(ArraySums(), words, demands, scope, further)


pieces = st.sampled_from(
    ["disk", "Disk", "DISKS", "disc", "a", "-", "Łódź", "straße", "\0", "\1", "no\1te", "日本", "x" * 40, "x" * 41,
     "z" * 70, "internationalize", "internationalizes", "internationalized", "\u2028", "naïve"]
)  # fmt: skip
written = st.lists(pieces, max_size=12).map(" ".join)
keys_of_words = st.lists(st.sampled_from(["en0disk", "de0disk", "cs0łódź", "日本"]), max_size=12).map(" ".join)
some_texts = st.dictionaries(st.integers(1, CHUNKS), st.tuples(written, written, keys_of_words), max_size=6)


@settings(max_examples=60, deadline=None)
@given(some_texts, st.frozensets(pieces, max_size=9), st.frozensets(st.sampled_from(["en0disk", "日本", "en0no"])))
def test_tallies_are_counted_the_same_in_arrays_and_as_the_index_would(
    texts: dict[int, tuple[str, str, str]], wanted: frozenset[str], keys: frozenset[str]
) -> None:
    typed = frozenset(token for text in wanted for token in tokens(text))
    made = {chunk: tally_of(*texts[chunk]) for chunk in sorted(texts)}
    tallies = Tallies.of(list(made), list(map(len, made.values())), b"".join(made.values()))
    assert tallies.sizes() == {chunk: len(words(f"{title} {body}")) for chunk, (title, body, _) in texts.items()}
    expected = {
        "title": {token: times(token, {chunk: tokens(text[0]) for chunk, text in texts.items()}) for token in typed},
        "body": {token: times(token, {chunk: tokens(text[1]) for chunk, text in texts.items()}) for token in typed},
        "keys": {key: times(key, {chunk: text[2].split() for chunk, text in texts.items()}) for key in keys},
    }
    for sums in (Sums(), ArraySums()):
        counts = sums.in_tallies(tallies, Wanted(typed, keys))
        for column, of_column in expected.items():
            assert {token: dict(found) for token, found in getattr(counts, column).items()} == of_column


@settings(max_examples=60, deadline=None)
@given(some_texts, st.lists(pieces, min_size=1, max_size=3).map(" ".join).filter(tokens))
def test_words_in_a_row_are_found_where_title_or_text_has_them(
    texts: dict[int, tuple[str, str, str]], phrase: str
) -> None:
    row = tokens(phrase)
    made = {chunk: tally_of(*texts[chunk]) for chunk in sorted(texts)}
    tallies = Tallies.of(list(made), list(map(len, made.values())), b"".join(made.values()))
    expected = [chunk for chunk in made if any(row in runs(tokens(text), len(row)) for text in texts[chunk][:2])]
    for sums in (Sums(), ArraySums()):
        assert list(sums.in_a_row(tallies, row)) == expected


def runs(listed: list[str], length: int) -> list[list[str]]:
    return [listed[start : start + length] for start in range(len(listed) - length + 1)]


def times(token: str, listed: dict[int, list[str]]) -> dict[int, int]:
    return {chunk: there.count(token) for chunk, there in listed.items() if token in there}


async def ranking(store: Store, query: Query, sums: Sums) -> object:
    scope = Scope(None, None)
    return await store.connection.run(
        lambda raw: WordRanking(raw, KEYS, scope, TIGHT, Statistics(), sums).ranked(query, limit=30)
    )


async def test_a_ranking_is_the_same_by_either_sums(tmp_path: Path) -> None:
    draw = Random(2)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        bodies = (" ".join([*draw.choices(COMMON, k=3), f"w{draw.randrange(20)}"]) for _ in range(90))
        await Bench(store, None).put(*(page(f"p{number}", body) for number, body in enumerate(bodies)))
        for _ in range(4):
            texts = draw.choices(["server", "disk", "backup", "night", "raid", "w7", "w12", "w3"], k=draw.randint(1, 6))
            query = Query(" ".join(texts), tuple(Term(text) for text in texts))
            async with SqliteEngine(store, KEYS, TIGHT).view(EVERYTHING, Filters()):
                in_dicts, in_arrays = [await ranking(store, query, sums) for sums in (Sums(), ArraySums())]
            assert in_dicts == in_arrays
            assert in_dicts


async def test_what_is_kept_between_questions_is_forgotten_when_the_file_changes(tmp_path: Path) -> None:
    query = Query("server disk", (Term("server"), Term("disk")))

    async def ask(engine: SqliteEngine) -> object:
        async with engine.view(EVERYTHING, Filters()) as view:
            return await view.lexical(query, limit=10)

    async with (
        open_store(tmp_path / "index.sqlite", is_writer=True) as writer,
        open_store(tmp_path / "index.sqlite", is_writer=False) as reader,
    ):
        bench = Bench(writer, None)
        engines = [SqliteEngine(writer, KEYS, TIGHT), SqliteEngine(reader, KEYS, TIGHT)]
        await bench.put(*(page(f"a{number}", "server disk night") for number in range(60)))
        before = [await ask(engine) for engine in engines]
        await bench.put(*(page(f"b{number}", "server backup") for number in range(60)), page("c", "disk"))
        after = [await ask(engine) for engine in engines]
        fresh = await ask(SqliteEngine(reader, KEYS, TIGHT))
    assert after == [fresh, fresh]
    assert before[0] == before[1] != fresh


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.engines.sqlite.statistics._MOST_COUNTS", 3)
    kept = Statistics()
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 1

    for text in ("a", "b", "c", "a", "d", "a", "b"):
        kept.count(text, None, 10, partial(count, text))
    assert asked == ["a", "b", "c", "d", "b"]
