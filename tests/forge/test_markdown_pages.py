"""Markdown: what stands together stays together, and nothing is lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.forge.markdown import Page, page
from ingest.forge.packing import Packing, Piece
from ingest.forge.titles import clean_title

SMALL = Packing(target_tokens=40, ceiling_tokens=60, overlap_tokens=0)
OVERLAPPING = Packing(target_tokens=40, ceiling_tokens=60, overlap_tokens=12)
WORDS = "These are a few plain words that fill a line of text."


def cut(text: str, packing: Packing = SMALL) -> list[Piece]:
    return list(page(text, packing).pieces)


def paragraphs(count: int) -> str:
    return "\n\n".join(f"{number}. said: {WORDS}".replace(".", ":", 1) for number in range(count)) + "\n"


def test_a_section_is_a_piece_of_its_own_under_its_path_of_headings() -> None:
    found = cut("before\n\n# A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree\n\n## D\n\nfour\n")
    assert [(piece.heading, piece.first, piece.last) for piece in found] == [
        ((), 1, 1),
        (("A",), 3, 5),
        (("A", "B"), 7, 9),
        (("A", "B", "C"), 11, 13),
        (("A", "D"), 15, 17),
    ]


def test_a_heading_with_nothing_of_its_own_goes_with_what_follows() -> None:
    found = cut("# A\n\n## B\n\n### C\n\ntext\n\n## D\n")
    assert [(piece.heading, piece.first, piece.last) for piece in found] == [
        (("A", "B", "C"), 1, 7),
        (("A", "D"), 9, 9),
    ]


def test_small_sections_share_a_piece_only_when_asked_to() -> None:
    text = "# A\n\none\n\n## B\n\ntwo\n\n## C\n\nthree\n"
    assert len(cut(text)) == 3
    merged = cut(text, Packing(merge_below_tokens=20))
    assert [(piece.heading, piece.first, piece.last) for piece in merged] == [(("A",), 1, 11)]


def test_a_long_section_is_cut_between_paragraphs_and_stays_under_the_ceiling() -> None:
    found = cut("# A\n\n" + paragraphs(20))
    assert len(found) > 5
    assert {piece.heading for piece in found} == {("A",)}
    assert all(len(piece.text.encode()) <= 60 * 4 for piece in found)
    assert all(earlier.last < later.first for earlier, later in pairwise(found))


def test_whole_blocks_are_repeated_where_they_fit_but_never_over_a_heading() -> None:
    items = "\n".join(f"- item {number} of a long list" for number in range(40))
    found = cut(f"# A\n\n{items}\n\n# B\n\n{items}\n", OVERLAPPING)
    inside = [(one, other) for one, other in pairwise(found) if one.heading == other.heading]
    assert all(other.first <= one.last for one, other in inside)
    assert all(one.last < other.first for one, other in pairwise(found) if one.heading != other.heading)


@pytest.mark.parametrize(
    "fence",
    [
        "```\n# no heading\n\ntext\n```",
        "~~~ python\n# no heading\n\n```\n\ntext\n~~~",
        "````md\n```\n# no heading\n```\n\n# neither\n````",
        "- item\n\n  ```\n  # no heading\n\n  text\n  ```",
        "> ```\n> # no heading\n>\n> text\n> ```",
        "    # no heading\n\n    indented code",
    ],
)
def test_what_looks_like_a_heading_inside_a_fence_is_none(fence: str) -> None:
    for text in (fence, f"before\n\n{fence}\n\nafter\n"):
        found = cut(text)
        assert [piece.heading for piece in found] == [()]
        assert fence in found[0].text
        assert found[0].flags == ()


def test_a_fence_over_the_ceiling_is_kept_whole_and_flagged() -> None:
    fence = "```\n" + (WORDS + "\n\n") * 20 + "```"
    found = cut(f"# A\n\nbefore\n\n{fence}\n\nafter\n")
    assert [piece for piece in found if piece.flags] == [piece for piece in found if fence in piece.text]
    assert {flag for piece in found for flag in piece.flags} == {"oversize"}


def test_an_unclosed_fence_loses_nothing_and_is_flagged() -> None:
    found = cut("# A\n\n```\ncode\n\n## Heading\n\ntext after\n")
    assert [piece.flags for piece in found] == [("unclosed-fence",)]
    assert "## Heading\n\ntext after" in found[0].text


@pytest.mark.parametrize(
    "fence", ["```\ncode\n```", "~~~\n~~~", "````\n```\n`````", "- ```\n  code\n  ```", "> ```\n> a\n> ```"]
)
def test_a_closed_fence_is_not_flagged(fence: str) -> None:
    assert [piece.flags for piece in cut(fence)] == [()]


def test_a_table_too_big_is_cut_between_rows_with_its_head_repeated() -> None:
    head = "| number | words |\n| --- | --- |"
    rows = [f"| {number} | some words in a row |" for number in range(80)]
    text = "# Table\n\n" + "\n".join([head, *rows]) + "\n\nafter\n"
    found = cut(text)
    with_rows = [piece for piece in found if "some words" in piece.text]
    assert len(with_rows) > 5
    assert with_rows[0].text.startswith(f"# Table\n\n{head}\n| 0 |")
    assert all(piece.text.startswith(head) for piece in with_rows[1:])
    assert [row for piece in with_rows for row in piece.text.split("\n") if "some" in row] == rows
    lines = ["", *text.split("\n")]
    assert all(lines[piece.last] in piece.text and lines[piece.first] in piece.text for piece in with_rows)
    assert all(not piece.flags for piece in found)


def test_a_table_that_fits_is_whole() -> None:
    table = "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"
    found = cut(f"{paragraphs(3)}\n{table}\n\n{paragraphs(3)}")
    assert [table in piece.text for piece in found].count(True) == 1


def test_list_items_are_whole_with_all_that_is_in_them() -> None:
    item = f"- first\n\n  {WORDS}\n\n  ```\n  code\n  ```\n\n  - inner\n  - inner"
    found = cut("\n".join([item] * 6))
    assert len(found) > 1
    assert all(piece.text.startswith("- first") and piece.text.endswith("- inner") for piece in found)


def test_a_long_quote_is_cut_between_its_paragraphs() -> None:
    found = cut("\n>\n".join(f"> {WORDS} {WORDS}" for _ in range(6)))
    assert len(found) > 2
    assert all(piece.text.startswith(">") and not piece.flags for piece in found)


def test_what_is_indented_under_an_admonition_is_cut_like_markdown() -> None:
    inside = "\n\n".join(["    ## Inside", *[f"    {WORDS}"] * 6, "    ```\n    # code\n    ```"])
    found = cut(f"# A\n\n??? note\n\n{inside}\n\n# B\n\ntext\n")
    assert len(found) > 3
    assert {piece.heading for piece in found} == {("A",), ("B",)}
    assert all(not piece.flags for piece in found)


def test_definitions_of_links_are_not_lost() -> None:
    found = cut("# A\n\nsee [there][1]\n\n[1]: https://example.org/page\n")
    assert "https://example.org/page" in found[0].text


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("Plain", "Plain"),
        ("Use `sources` **now** and [here](x.md)", "Use sources now and here"),
        ("With an id {#with-id}", "With an id"),
        ("With an id {: #with-id .cls }", "With an id"),
        ("With a class {.cls}", "With a class"),
        ("Set {braces} in Vue", "Set {braces} in Vue"),
        ("Tom &amp; Jerry&nbsp;too", "Tom & Jerry too"),
        ('<a name="x"></a>Anchored', "Anchored"),
        ("New {{< badge >}}", "New"),
        ("Old <!-- hidden -->", "Old"),
        ("`<script setup>` {#script-setup}", "<script setup>"),
        ("C#", "C#"),
        ("![logo](a.png) House", "logo House"),
    ],
)
def test_titles_are_clean_text(markup: str, title: str) -> None:
    assert clean_title(markup) == title
    assert page(f"{markup}\n===\n\ntext", SMALL).title == title


def test_containers_shortcodes_and_comments_keep_their_text_and_break_no_section() -> None:
    text = "# A\n\n::: tip\nInside.\n\n## Still a heading\n:::\n\n{{< note >}}\nhi\n{{< /note >}}\n\n<!-- # none -->\n"
    assert [piece.heading for piece in cut(text)] == [("A",), ("A", "Still a heading")]
    assert "Inside." in cut(text)[0].text


def blocks() -> st.SearchStrategy[str]:
    word = st.sampled_from(["alpha", "beta", "žluť", "日本", "a_b", "`x`", "[l](u)", "\U0001f468\u200d\U0001f469"])
    line = st.lists(word, min_size=1, max_size=30).map(" ".join)
    heading = st.builds(lambda level, words: "#" * level + " " + words, st.integers(1, 6), line)
    fence = st.builds(lambda lines: "```\n" + "\n".join(lines) + "\n```", st.lists(line | st.just(""), max_size=8))
    table = st.builds(
        lambda count: "\n".join(["| a | b |", "|---|---|", *[f"| row {n} | x |" for n in range(count)]]),
        st.integers(0, 40),
    )
    items = st.lists(line, min_size=1, max_size=6).map(lambda lines: "\n".join(f"- {text}" for text in lines))
    quote = st.lists(line, min_size=1, max_size=4).map(lambda lines: "\n>\n".join(f"> {text}" for text in lines))
    rest = st.sampled_from(
        ["[a]: https://a.example", "***", "<div>\nx\n</div>", "::: tip", "!!! note\n\n    inside", "Setext\n---"]
    )
    return line | heading | fence | table | items | quote | rest


def pages() -> st.SearchStrategy[str]:
    return st.lists(blocks(), max_size=14).map("\n\n".join)


@given(pages())
def test_every_line_with_something_on_it_is_in_a_piece(text: str) -> None:
    covered = {line for piece in cut(text) for line in range(piece.first, piece.last + 1)}
    lines = text.split("\n")
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= covered
    for piece in cut(text):
        assert piece.text.endswith("\n".join(lines[piece.first - 1 : piece.last]))


@given(pages())
def test_no_piece_begins_or_ends_inside_a_fence_or_between_a_tables_head_and_rows(text: str) -> None:
    for piece in cut(text, OVERLAPPING):
        assert sum(line.startswith("```") for line in piece.text.split("\n")) % 2 == 0
        if "| row" in piece.text:
            assert "|---|---|" in piece.text


@given(pages())
def test_a_piece_over_the_ceiling_is_flagged_and_no_other(text: str) -> None:
    for piece in cut(text, OVERLAPPING):
        tokens = max(-(-len(piece.text.encode()) // 4), len(piece.text.split()))
        assert ("oversize" in piece.flags) == (tokens > OVERLAPPING.ceiling_tokens) or abs(tokens - 60) <= 1


@given(pages())
def test_the_same_page_gives_the_same_pieces(text: str) -> None:
    first: Page = page(text, OVERLAPPING)
    assert page(text, OVERLAPPING) == first
