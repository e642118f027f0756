"""`sources evaluate`: the figures of known questions, equal to those of the scorer that the sets come with."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.errors import QueryError
from index.evaluate import Level, Place, Score, as_text, means, question_of, score
from index.text.query import parse
from tests.cli.conftest import Community

SCORER = Path(__file__).parents[3] / "shared" / "eval" / "score.py"

lines = st.tuples(st.integers(1, 12), st.integers(0, 6)).map(lambda pair: [pair[0], pair[0] + pair[1]])
paths = st.sampled_from(["a/b.md", "./a/b.md", "a/é.md", "a/e\u0301.md", "c.sh"])
names = st.sampled_from(["Keys", "KEYS!", "Rotation of keys", "", "S-x"])
document_targets = st.one_of(
    st.fixed_dictionaries({"path": paths}),
    st.fixed_dictionaries({"path": paths, "heading": names, "lines": lines}),
    st.fixed_dictionaries({"path": paths, "heading": names}),
    st.fixed_dictionaries({"path": paths, "section": names, "paragraph": names, "lines": lines}),
    st.fixed_dictionaries({"path": paths, "section": names, "paragraph": names}),
)
document_hits = st.fixed_dictionaries(
    {"path": paths, "headings": st.lists(names, max_size=2)},
    optional={"lines": lines, "section": names, "paragraph": names},
)
events = st.lists(st.sampled_from([f"$e{number}" for number in range(12)]), min_size=1, max_size=4, unique=True)
document_questions = st.fixed_dictionaries(
    {"relevant": st.lists(document_targets, min_size=1, max_size=4)},
    optional={
        "any": st.booleans(),
        "source": st.lists(st.fixed_dictionaries({"path": paths, "lines": lines}), max_size=2),
    },
)
chat_questions = st.fixed_dictionaries(
    {"relevant": events.map(lambda ids: [{"room": "r", "events": ids}])},
    optional={"source": events.map(lambda ids: [{"room": "r", "events": ids}])},
)
cases = st.one_of(
    st.tuples(document_questions, st.lists(document_hits, max_size=15)),
    st.tuples(chat_questions, st.lists(events.map(lambda ids: {"room": "r", "events": ids}), max_size=15)),
)


def place(hit: dict[str, Any]) -> Place:
    if "events" in hit:
        return Place(events=frozenset(hit["events"]))
    at = tuple(hit["lines"]) if hit.get("lines") else None
    return Place(hit["path"], at, tuple(hit["headings"]), hit.get("section"), hit.get("paragraph"))


def ours(raw: dict[str, Any], hits: list[dict[str, Any]], level: str) -> Score:
    question = question_of({"id": "q", "query": "x", "kind": "k", **raw}, "line 1")
    return score(question, [place(hit) for hit in hits], level=Level(level))


def load_scorer() -> Any:
    """The scorer where it is there; else None: examples worked by hand stand below."""
    if not SCORER.exists():
        return None
    spec = importlib.util.spec_from_file_location("score", SCORER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


THEIRS = load_scorer()


@given(cases, st.sampled_from(["exact", "path"]))
def test_the_figures_are_those_of_the_scorer_of_the_sets(
    case: tuple[dict[str, Any], list[dict[str, Any]]], level: str
) -> None:
    raw, hits = case
    found = ours(raw, hits, level)
    assert all(0 <= figure <= 1 for figure in (found.mrr, found.ndcg, found.recall))
    if THEIRS is not None:
        mrr, ndcg, recall, _ = THEIRS.one(raw, hits, level, 10, keep_source=False)
        assert (found.mrr, found.ndcg, found.recall) == pytest.approx((mrr, ndcg, recall))


DOCUMENT = {"path": "a.md", "heading": "Keys", "lines": [10, 20]}


@pytest.mark.parametrize(
    ("raw", "hits", "figures"),
    [
        # the second hit overlaps three lines; the first one two
        ({"relevant": [DOCUMENT]}, [("a.md", [1, 11]), ("a.md", [1, 12])], (0.5, 0.63093, 1.0)),
        # two targets, one met
        ({"relevant": [DOCUMENT, {"path": "b.md"}]}, [("b.md", [1, 2])], (1.0, 0.61315, 0.5)),
        # one of two is enough
        ({"relevant": [DOCUMENT, {"path": "b.md"}], "any": True}, [("b.md", [1, 2])], (1.0, 1.0, 1.0)),
        # a hit on the source of the question leaves the ranking
        (
            {"relevant": [DOCUMENT], "source": [{"path": "s.md", "lines": [1, 9]}]},
            [("s.md", [9, 30]), ("a.md", [10, 20])],
            (1.0, 1.0, 1.0),
        ),
        # unless it meets a target as well
        (
            {"relevant": [DOCUMENT], "source": [{"path": "a.md", "lines": [1, 10]}]},
            [("a.md", [10, 20])],
            (1.0, 1.0, 1.0),
        ),
        # beyond the tenth place nothing counts
        ({"relevant": [DOCUMENT]}, [("x.md", [1, 2])] * 10 + [("a.md", [10, 20])], (0.0, 0.0, 0.0)),
    ],
)
def test_examples_worked_by_hand(
    raw: dict[str, Any], hits: list[tuple[str, list[int]]], figures: tuple[float, float, float]
) -> None:
    found = ours(raw, [{"path": path, "headings": [], "lines": at} for path, at in hits], "exact")
    assert (found.mrr, found.ndcg, found.recall) == pytest.approx(figures, abs=1e-5)


def test_a_mean_is_of_its_kind_and_all_is_of_all() -> None:
    target = {"relevant": [{"path": "a.md"}]}
    one, two = (question_of({"id": kind, "query": "x", "kind": kind, **target}, "") for kind in ("b", "a"))
    found = means([one, two, two], [Score(1, 1, 1), Score(0, 0, 0), Score(0.5, 0, 0)])
    assert {kind: (count, mean.mrr) for kind, (count, mean) in found.items()} == {
        "a": (2, 0.25),
        "b": (1, 1.0),
        "all": (3, 0.5),
    }
    assert list(means([one], [Score(1, 1, 1)])) == ["b"]


@given(st.text(min_size=1, max_size=2_000).filter(lambda text: any(c.isalnum() for c in text[:50])))
def test_a_question_of_a_set_is_words_and_can_be_asked(text: str) -> None:
    try:
        parse(as_text(f"word {text}"), now_ms=0)
    except QueryError as error:
        assert "bytes" not in str(error)  # an operator with a bad value may be refused, length never


def questions_file(community: Community, *rows: object) -> str:
    path = community.folder / "queries.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


KEYS = {
    "id": "1",
    "query": "how is the signing key rotated",
    "kind": "faq",
    "relevant": [{"path": "handbook/ops/keys.md", "lines": [8, 10]}],
}
REPORTS = {"id": "2", "query": "who sends reports", "kind": "script", "relevant": [{"path": "handbook/bin/send"}]}


def with_vectors(community: Community) -> None:
    text = community.config_file.read_text().replace('"off"', '"hashing"')
    community.config_file.write_text(text)
    assert community.sources("refresh").return_value == 0


def test_the_three_rankings_stand_side_by_side(indexed: Community) -> None:
    with_vectors(indexed)
    result = indexed.sources("evaluate", questions_file(indexed, KEYS, REPORTS))
    head, names, *rows = result.stdout.splitlines()
    assert head == "level exact, k 10"
    assert names.split("  ")[0] == "kind"
    assert all(
        f"{name} {mode}" in names for name in ("MRR", "nDCG", "recall") for mode in ("lexical", "vector", "hybrid")
    )
    assert [row.split()[:3] for row in rows] == [["faq", "1", "1.000"], ["script", "1", "1.000"], ["all", "2", "1.000"]]
    told = json.loads(
        indexed.sources("evaluate", "--json", "--level", "path", str(indexed.folder / "queries.jsonl")).stdout
    )
    assert list(told["modes"]) == ["lexical", "vector", "hybrid"]
    assert told["modes"]["lexical"]["all"] == {"n": 2, "mrr": 1.0, "ndcg": 1.0, "recall": 1.0}


def test_without_vectors_words_alone_are_measured_and_that_is_said(indexed: Community) -> None:
    result = indexed.sources("evaluate", questions_file(indexed, KEYS))
    assert "by words alone" in result.stdout
    assert "MRR vector" not in result.stdout


def test_results_are_saved_as_the_scorer_reads_them(indexed: Community) -> None:
    with_vectors(indexed)
    target = indexed.folder / "out.jsonl"
    assert indexed.sources("evaluate", questions_file(indexed, KEYS), "--save", str(target)).return_value == 0
    names = {path.name for path in indexed.folder.glob("out*")}
    assert names == {"out.jsonl", "out-lexical.jsonl", "out-vector.jsonl", "out-hybrid.jsonl"}
    assert target.read_bytes() == (indexed.folder / "out-hybrid.jsonl").read_bytes()
    [row] = [json.loads(line) for line in target.read_text().splitlines()]
    assert row["id"] == "1"
    assert row["hits"][0]["path"] == "handbook/ops/keys.md"
    assert ours(KEYS, row["hits"], "exact").mrr == 1.0


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("nonsense", "line 1: is no JSON object"),
        ({**KEYS, "id": ""}, "id: is missing"),
        ({**KEYS, "relevant": []}, "names no target"),
        ({**KEYS, "relevant": [{"lines": [1, 2]}]}, r"relevant\[1\]: path: is missing"),
        ({**KEYS, "relevant": [{"path": "a", "lines": [2, 1]}]}, "no pair of line numbers"),
        ({**KEYS, "relevant": [{"events": []}]}, "no list of event ids"),
        ({**KEYS, "relevant": [{"path": "a"}, {"events": ["$e"]}]}, "mixes chat and documents"),
    ],
)
def test_a_bad_line_is_named(indexed: Community, row: object, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        indexed.sources("evaluate", questions_file(indexed, row))
    with pytest.raises(QueryError, match="stands in an earlier line"):
        indexed.sources("evaluate", questions_file(indexed, KEYS, KEYS))
    with pytest.raises(QueryError, match="cannot be read"):
        indexed.sources("evaluate", str(indexed.folder / "none.jsonl"))
