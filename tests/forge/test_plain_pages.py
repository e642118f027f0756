"""Text, reStructuredText, AsciiDoc and templates: what is a heading, what stays together."""

from ingest.forge.packing import Packing, Piece
from ingest.forge.plain import template_page, text_page

SMALL = Packing(target_tokens=20, ceiling_tokens=30, overlap_tokens=0)


def headings(pieces: tuple[Piece, ...]) -> list[tuple[tuple[str, ...], int, int]]:
    return [(piece.heading, piece.first, piece.last) for piece in pieces]


def test_lines_with_rules_are_headings_whose_level_is_their_order_of_appearance() -> None:
    text = "=====\nHouse\n=====\n\nintro\n\nPower\n-----\ntext\n\nFuse\n~~~~\n\ntext\n\nWater\n-----\n\ntext\n"
    found = text_page(text, SMALL)
    assert found.title == "House"
    assert headings(found.pieces) == [
        (("House",), 1, 5),
        (("House", "Power"), 7, 9),
        (("House", "Power", "Fuse"), 11, 14),
        (("House", "Water"), 16, 19),
    ]


def test_a_rule_between_paragraphs_or_under_a_long_line_is_no_heading() -> None:
    assert headings(text_page("one\n\n-----\n\ntwo\n", SMALL).pieces) == [((), 1, 5)]
    assert text_page("a sentence that goes on and on and on\n---\n", SMALL).title is None


def test_headings_of_asciidoc_and_what_stands_between_its_fences() -> None:
    inside = "\n\n".join(["== none", *["some words of code"] * 12])
    text = f"= House\n\nintro\n\n== Power ==\n\n[source]\n----\n{inside}\n----\n\nafter\n"
    found = text_page(text, SMALL, is_asciidoc=True)
    assert found.title == "House"
    assert {piece.heading for piece in found.pieces} == {("House",), ("House", "Power")}
    assert [piece.flags for piece in found.pieces if f"----\n{inside}\n----" in piece.text] == [("oversize",)]


def test_an_unclosed_fence_of_asciidoc_loses_nothing() -> None:
    found = text_page("= House\n\n----\none\n\n== Power\n\ntwo\n", SMALL, is_asciidoc=True)
    assert "\n".join(piece.text for piece in found.pieces).split() == [
        "=",
        "House",
        "----",
        "one",
        "==",
        "Power",
        "two",
    ]


def test_paragraphs_are_packed_and_one_over_the_ceiling_is_cut_between_lines() -> None:
    lines = [f"line {number} of some output" for number in range(40)]
    found = text_page("before\n\n" + "\n".join(lines) + "\n\nafter\n", SMALL).pieces
    assert len(found) > 5
    assert [line for piece in found for line in piece.text.split("\n") if line.startswith("line")] == lines
    assert not any(piece.flags for piece in found)


def test_a_template_keeps_a_comment_with_the_setting_below_it() -> None:
    text = "# who gets messages\nDUTY=@@NAME@@\n\n# where it is\n=====\nLIB=/usr/lib\n"
    found = template_page(text, Packing(target_tokens=12, ceiling_tokens=14, overlap_tokens=0))
    assert headings(found.pieces) == [((), 1, 2), ((), 4, 6)]
    assert found.title is None
