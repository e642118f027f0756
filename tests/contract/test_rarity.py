"""How rare a word is, judged by a sample: from all parts of the index, and counted wherever there is any doubt."""

from pathlib import Path

import pytest

from index.engines.sqlite import rarity
from index.engines.sqlite.asked import Sought
from index.engines.sqlite.rarity import Rarity
from index.engines.sqlite.statistics import Sample, Statistics
from index.store import postings
from index.store.fulltext import take_in
from index.store.store import open_store
from index.text.tally import Tallies, tally_of
from tests.contract.conftest import Bench
from tests.contract.test_engine import page

EVERYWHERE, BURST, SELDOM = (Sought(None, (f"en0{word}",)) for word in ("raid", "burst", "seldom"))


def sample_of(keys: list[str]) -> Sample:
    """Of chunks that stand under these keys, in order."""
    tallies = [tally_of("a title", "and a text", of_chunk) for of_chunk in keys]
    return Sample(Tallies.of(range(len(keys)), list(map(len, tallies)), b"".join(tallies)))


def test_a_sample_says_the_same_to_the_first_question_and_to_later_ones() -> None:
    keys = [" ".join(key for key, each in (("a", 1), ("b", 3), ("c", 7)) if not number % each) for number in range(42)]
    sample = sample_of(keys)
    asked: list[list[int]] = []
    for _ in range(3):
        sample.prepare({"b", "c", "d"})
        asked.append([sample.having_any(group) for group in (("b",), ("b", "c"), ("d",), ())])
    sample.prepare({"a"})
    assert sample.having_any(("a", "d")) == 42
    assert asked == [[14, 18, 0, 0]] * 3
    assert sample.having_any(("b", "c")) == 18


def test_what_stands_in_a_few_parts_of_the_index_is_not_everywhere() -> None:
    burst = sample_of(["x" if number < 60 else "y" for number in range(160)])
    burst.prepare({"x", "y"})
    assert not burst.is_everywhere(("x",), 0.1)
    assert burst.is_everywhere(("y",), 0.1)
    assert not burst.is_everywhere(("z",), 0.0)
    assert not sample_of([]).is_everywhere(("x",), 0.0)


async def test_a_word_is_counted_unless_most_parts_have_far_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rarity, "COUNTED_FIRST", 3)
    counted = []
    frequency = postings.frequency

    def spied(*args: object, at_most: int) -> int:
        counted.append(at_most)
        return frequency(*args, at_most=at_most)  # type: ignore[arg-type]

    monkeypatch.setattr(postings, "frequency", spied)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        texts = [f"raid {'burst' if number < 40 else ''} {'seldom' if number < 2 else ''}" for number in range(100)]
        await Bench(store, None).put(*(page(f"p{number:03}", text) for number, text in enumerate(texts)))

        def ask(sought: Sought, statistics: Statistics | None = None) -> tuple[int, list[int]]:
            counted.clear()
            judged = Rarity(store.connection._conn, None, statistics or Statistics())
            judged.expect([sought])
            return judged.counted(sought, 100, at_most=20), counted.copy()

        assert ask(EVERYWHERE) == (20, [3])
        assert ask(BURST) == (20, [3, 20])
        assert ask(SELDOM) == (2, [3])
        known = Statistics()
        assert ask(BURST, known) == (20, [3, 20])
        assert ask(EVERYWHERE, known) == (20, [])
        assert ask(SELDOM, known) == (2, [3])


async def test_what_stands_nowhere_is_left_out_until_it_stands_somewhere(tmp_path: Path) -> None:
    words = (Sought("raid", ("en0raid", "cs0raid", "de0raid")), Sought(None, ("cs0seldom", "de0seldom")))
    async with (
        open_store(tmp_path / "index.sqlite", is_writer=True) as writer,
        open_store(tmp_path / "index.sqlite", is_writer=False) as reader,
    ):
        statistics = Statistics()

        def ask() -> tuple[Sought, ...]:
            statistics.check(reader.connection._conn)
            return Rarity(reader.connection._conn, None, statistics).standing({"raid": words})["raid"]

        await Bench(writer, None).put(page("a", "raid"))
        assert ask() == (Sought("raid", ("en0raid",)), words[1])
        await writer.connection.execute("BEGIN")
        await writer.connection.execute("UPDATE chunk SET keys = keys || ' cs0raid de0seldom'")
        await take_in(writer.connection)
        await writer.connection.end("COMMIT")
        assert ask() == (Sought("raid", ("en0raid", "cs0raid")), Sought(None, ("de0seldom",)))
