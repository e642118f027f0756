"""However a file is made, no chunk of it is so large that a search feels it, and nothing of it is lost for that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import OVERSIZE, Corpus, Document, SourceId
from ingest.forge.documents import Skipped, document
from ingest.forge.packing import Packing
from ingest.forge.slicing import Line, slices

MAX_BYTES = Packing().max_bytes
LARGE = 400_000


def read(path: str, text: str) -> Document:
    made = document(
        source=SourceId("repo:a"),
        corpus=Corpus.FORGE,
        path=path,
        revision="r",
        data=text.encode(),
        scrub=lambda text: text,
    )
    assert isinstance(made, Document), made
    return made


def sizes(made: Document) -> list[int]:
    return [len(chunk.text.encode()) for chunk in made.chunks]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("log.txt", "word " * (LARGE // 5), id="a log on one line"),
        pytest.param("min.md", "var a=1;" * (LARGE // 8), id="a minified file"),
        pytest.param("x.conf.example", "key=value;" * (LARGE // 10), id="a template on one line"),
        pytest.param("x.sh", "# " + "say " * (LARGE // 4), id="a comment on one line"),
        pytest.param("zip.txt", "A" * LARGE, id="encoded data"),
        pytest.param("joined.txt", "e" + "\u0301" * (LARGE // 2), id="one letter with countless accents"),
        pytest.param("flags.txt", "\U0001f1e8\U0001f1ff" * (LARGE // 32), id="flags"),
        pytest.param("wide.txt", "日本語" * (LARGE // 9), id="no blanks at all"),
    ],
)
def test_an_endless_line_is_in_many_chunks_that_are_the_line_one_behind_the_other(path: str, text: str) -> None:
    made = read(path, text)
    assert max(sizes(made)) <= MAX_BYTES
    assert len(made.chunks) <= 2 * len(text.encode()) / MAX_BYTES + 1
    assert "".join(chunk.text for chunk in made.chunks).rstrip() == text.removeprefix("# ").rstrip()
    assert {chunk.lines for chunk in made.chunks} == {(1, 1)}
    assert all(OVERSIZE in chunk.flags for chunk in made.chunks)
    assert len({chunk.id for chunk in made.chunks}) == len(made.chunks)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param("```\n" + "a line of code\n" * 10_000 + "```", id="a fence"),
        pytest.param("```\n" + "unclosed\n" * 20_000 + "the end", id="an unclosed fence"),
        pytest.param("<div>\n" + "<p>x</p>\n" * 15_000 + "</div>", id="HTML"),
        pytest.param("- item\n" + "  that goes on\n" * 8_000 + "  to here", id="a list item"),
    ],
)
def test_a_huge_block_is_cut_between_lines_and_each_chunk_names_its_own(block: str) -> None:
    lines = f"# Title\n\n{block}".split("\n")
    made = read("a.md", "\n".join(lines))
    assert max(sizes(made)) <= MAX_BYTES
    assert len(made.chunks) > len(block) / MAX_BYTES
    past = 0
    for chunk in made.chunks:
        assert chunk.lines is not None and chunk.heading == ("Title",)
        first, last = chunk.lines
        assert not any(map(str.strip, lines[past : first - 1]))
        assert chunk.text == "\n".join(lines[first - 1 : last])
        past = last
    assert past == len(lines)


def test_the_head_of_a_table_is_not_repeated_where_it_is_longer_than_the_rows() -> None:
    """A page of 32 kB, 3,000 rows under a head of 20 kB, became 60 MB so: a megabyte goes beyond memory."""
    head = "|" + "h" * 40_000 + "|\n|---|\n"
    made = read("a.md", head + "|row|\n" * 2_000)
    assert max(sizes(made)) <= MAX_BYTES
    assert sum(sizes(made)) <= 2 * len(head) + 6 * 2_000
    assert sum(chunk.text.count("row") for chunk in made.chunks) == 2_000


def test_a_row_too_large_for_a_chunk_is_sliced_under_the_head_of_its_table() -> None:
    made = read("a.md", "|head|\n|---|\n|first|\n|" + "cell " * 20_000 + "|\n|last|\n")
    assert max(sizes(made)) <= MAX_BYTES
    assert "".join(chunk.text for chunk in made.chunks).count("cell ") == 20_000
    sliced = [chunk for chunk in made.chunks if chunk.lines == (4, 4)]
    assert len(sliced) > 2 and sliced[0].text.startswith("|head|\n|---|\n|cell")


def test_a_path_longer_than_any_file_system_has_is_no_document() -> None:
    path = "folder/" * 1_000 + "a.md"
    made = document(
        source=SourceId("repo:a"), corpus=Corpus.FORGE, path=path, revision="r", data=b"# A\n\ntext", scrub=str
    )
    assert isinstance(made, Skipped) and made.reason == "its path is longer than 4,096 bytes"
    assert isinstance(read(path[-4_000:], "# A\n\ntext"), Document)


TEXTS = st.text(st.sampled_from("ab \t\u0301ž日\U0001f468\u200d\U0001f1e8"), max_size=200)


@given(st.lists(TEXTS, min_size=1, max_size=20), st.integers(20, 90))
def test_slices_are_small_and_together_they_are_the_lines(texts: list[str], max_bytes: int) -> None:
    lines = [Line(number, text) for number, text in enumerate(texts, 1)]
    runs = list(slices(lines, max_bytes))
    assert all(sum(len(line.text.encode()) + 1 for line in run) <= max_bytes for run in runs)
    for number, text in lines:
        assert "".join(line.text for run in runs for line in run if line.number == number) == text
    for run in runs:
        assert len({line.number for line in run}) == len(run)
    order = [line.number for run in runs for line in run]
    assert order == sorted(order)


@given(st.text(st.sampled_from("ab \u0301ž日\U0001f468\u200d"), min_size=1, max_size=400))
def test_slices_hold_as_much_as_they_may_but_for_a_border(text: str) -> None:
    runs = list(slices([Line(1, text)], 100))
    assert len(runs) <= 4 * len(text.encode()) / 100 + 1


def test_an_overlong_line_begins_below_its_heading_and_what_follows_stands_below_its_end() -> None:
    texts = ["# Heading", "word " * 100, "below"]
    runs = list(slices([Line(number, text) for number, text in enumerate(texts, 1)], 100))
    assert [line.number for line in runs[0]] == [1, 2]
    assert [line.number for line in runs[-1]] == [2, 3]
    assert {len(run) for run in runs[1:-1]} == {1}
