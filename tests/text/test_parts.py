"""Parts of a chunk: what each vector stands for."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import Chunk, ChunkId, Span
from index.text.parts import cut_parts, embedding_text

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


def pieces(text: str, target_bytes: int = 500) -> list[str]:
    return [text[span.start : span.end] for span in cut_parts(text, target_bytes)]


@given(
    st.text(max_size=400) | st.lists(st.sampled_from(["word ", "x.", "\n", "\n\n", "č", FAMILY])).map("".join),
    st.integers(1, 60),
)
def test_parts_follow_each_other_and_cover_the_text(text: str, target_bytes: int) -> None:
    assert "".join(pieces(text, target_bytes)) == (text if text.strip() else "")
    assert all(part.strip() for part in pieces(text, target_bytes))


def test_a_text_near_the_target_is_one_part() -> None:
    assert len(pieces("word " * 100)) == 1
    assert cut_parts(" \n ") == ()


def test_parts_are_about_equally_long() -> None:
    sizes = [len(part.encode()) for part in pieces("Some words in a sentence. " * 200)]
    assert 350 < min(sizes) <= max(sizes) < 650


def test_a_cut_falls_on_a_blank_line_before_a_line_end_before_a_sentence() -> None:
    filler = "one two three four. five six seven eight\n" * 6
    assert pieces(filler + "\n" + filler, 250) == [filler + "\n", filler]
    assert all(part.endswith("\n") for part in pieces(filler, 100))
    assert all(part.rstrip().endswith(".") for part in pieces("one two three four. " * 20, 100))


@pytest.mark.parametrize(
    "whole", [FAMILY, "e\u0301\u0323", "\U0001f1e8\U0001f1ff", "\U0001f44d\U0001f3fd", "\u1112\u1161\u11ab"]
)
def test_what_a_reader_sees_as_one_character_is_never_cut(whole: str) -> None:
    parts = pieces(whole * 600)
    assert len(parts) > 1
    assert all(part == whole * (len(part) // len(whole)) for part in parts)


@given(st.text(st.sampled_from("a\u0301\u200d\U0001f1e8\U0001f468\ufe0f\U0001f3fd"), min_size=50, max_size=300))
def test_no_part_begins_with_a_combining_or_joined_character(text: str) -> None:
    for part, before in zip(pieces(text, 20)[1:], pieces(text, 20), strict=False):
        assert not unicodedata.category(part[0]).startswith("M")
        assert before[-1] != "\u200d" != part[0]


def test_hostile_runs_take_no_quadratic_time() -> None:
    for text in ("\u0301" * 100_000, "\U0001f1e8" * 100_001, "a" * 300_000, "\n" * 300_000 + "a"):
        assert sum(span.end - span.start for span in cut_parts(text)) == len(text)


def test_what_is_embedded_names_title_and_headings_once() -> None:
    chunk = Chunk(ChunkId(1), 0, "## Wait\n\nOr do not.", heading=("Power", "Wait"))
    whole = Span(0, len(chunk.text))
    assert embedding_text("Power", chunk, whole) == "Power > Wait\n## Wait\n\nOr do not."
    assert embedding_text("The house", chunk, whole).startswith("The house > Power > Wait\n")
    assert embedding_text("", Chunk(ChunkId(1), 0, "text"), Span(0, 4)) == "text"
