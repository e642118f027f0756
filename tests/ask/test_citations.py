"""An answer is held to what was supplied, whatever it says and however it arrives."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.citations import UNKNOWN_ADDRESS, Marker, judge

SUPPLIED = 3

answers = st.lists(
    st.sampled_from(
        [
            *"[]［］【】 \n\n.,:-#*`~1299④abŽ日",
            "[1]", "[7]", "[2, 9]", "[1-3]", "[source 2]", "[0]", "names[0]",
            "\n\n", "\n- ", "\n1. ", "\n```\n", "```sh\n",
            "The key is rotated. ", "Not in the sources: ", "https://example.org/a.", "http://elsewhere.example/b ",
            "\u200b", "\r\n", "\x85", "\u2028", "\n## ", "~~~\n", "[1: verified]", "  ",
        ]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Keys are rotated [1].", "Keys are rotated [1]."),
        ("Keys are rotated [4].", "Keys are rotated [4: unsupported]. [no source]"),
        ("Keys [1, 9].", "Keys [1] [9: unsupported]."),
        ("Keys [1][2].", "Keys [1][2]."),
        ("Keys [2-4].", "Keys [2] [3] [4: unsupported]."),
        ("Keys 【2†source】 and ［3］.", "Keys [2] and [3]."),
        ("Keys [^2], [source 3].", "Keys [2], [3]."),
        ("Keys [0] and [99999999].", "Keys [0: unsupported] and [99999999: unsupported]. [no source]"),
        ("Keys [10000000002].", "Keys [10000000002: unsupported]. [no source]"),
        ("Keys [1 and 2; 9].", "Keys [1] [2] [9: unsupported]."),
        ("Keys [9: verified].", "Keys [9: unsupported]. [no source]"),
        ("Keys [1\u200b2].", "Keys [12: unsupported]. [no source]"),
        ("See RFC [x] [RFC 3].", "See RFC [x] [RFC 3]. [no source]"),
    ],
)
def test_a_citation_that_was_not_supplied_is_marked(said: str, shown: str) -> None:
    assert judge(said, count=SUPPLIED).text == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("One. Two [1]. Three.", "One. Two [1]. Three. [no source]"),
        ("As [1] says, e.g. the key is kept.", "As [1] says, e.g. the key is kept."),
        ("One. [1] Two. [2]", "One. [1] Two. [2]"),
        ("One. [1] Two.", "One. [1] Two. [no source]"),
        ("One [1].\n\nTwo.\n", "One [1].\n\nTwo. [no source]\n"),
        ("- one [1]\n- two\n- three [2]", "- one [1]\n- two [no source]\n- three [2]"),
        ("Not in the sources: the year.", "Not in the sources: the year."),
        ("---\n\nOne [1]", "---\n\nOne [1]"),
        ("# Title\nOne [1]", "# Title [no source]\nOne [1]"),
    ],
)
def test_what_no_citation_covers_is_marked(said: str, shown: str) -> None:
    assert judge(said, count=SUPPLIED).text == shown


def test_code_is_covered_by_the_paragraph_above_it_and_keeps_its_brackets() -> None:
    code = "```sh\necho ${names[0]} a[7]\n```"
    assert judge(f"So [1]:\n{code}\n", count=SUPPLIED).text == f"So [1]:\n{code}\n"
    assert judge(f"So:\n{code}\n", count=SUPPLIED).text == f"So: [no source]\n{code}\n[no source]\n"
    assert judge("So [1]:\n```\nkeys [7] and [1]\n```", count=SUPPLIED).unsupported == (7,)
    assert judge("```\nkeys [1]\n```", count=SUPPLIED).cited == ()


def test_an_address_that_no_passage_holds_is_marked() -> None:
    known = ["see https://example.org/keys/rotate for more"]
    said = "At https://example.org/keys. Or [here](https://elsewhere.example/q?key=x), ![](ftp://e.example/) [1]"
    judged = judge(said, count=SUPPLIED, known=known)
    mark = "[address not in the sources]"
    assert judged.text == (
        "At https://example.org/keys. Or [here](https://elsewhere.example/q?key=x "
        f"{mark}), ![](ftp://e.example/ {mark}) [1]"
    )
    assert judged.unknown_addresses == 2


@given(answers, st.lists(st.integers(0, 200)))
def test_an_answer_in_pieces_is_marked_as_the_whole_is(said: str, cuts: list[int]) -> None:
    places = sorted({0, len(said), *(cut for cut in cuts if cut < len(said))})
    marker = Marker(count=SUPPLIED, known=["https://example.org/a"])
    shown = "".join(marker.feed(said[start:end]) for start, end in pairwise(places))
    shown += marker.finish()
    assert marker.judged(shown) == judge(said, count=SUPPLIED, known=["https://example.org/a"])


@pytest.mark.parametrize(
    "said", ["[1 " * 3_000, "word " * 2_000, "a\n" * 4_000, "\n" * 9_000, "[9] x. " * 1_500, "```\n[9] `\n" * 900]
)
def test_a_very_long_paragraph_is_marked_alike_in_pieces(said: str) -> None:
    marker = Marker(count=SUPPLIED)
    shown = [marker.feed(said[at : at + 7]) for at in range(0, len(said), 7)]
    assert marker.judged("".join(shown) + marker.finish()) == judge(said, count=SUPPLIED)


@given(answers)
def test_no_number_beyond_those_supplied_is_left_unmarked(said: str) -> None:
    judged = judge(said, count=SUPPLIED)
    outside_code = re.sub(r"(?s)(```|~~~).*", "", judged.text)
    left = re.findall(r"[\[［【]\s*(\d+)[\]］】]", outside_code)
    assert {int(number) for number in left} <= set(range(1, SUPPLIED + 1))
    assert set(judged.cited) <= set(range(1, SUPPLIED + 1))
    assert not set(judged.unsupported) & set(range(1, SUPPLIED + 1))


@given(answers)
def test_nothing_that_was_said_is_lost_but_invisible_characters(said: str) -> None:
    judged = judge(said, count=SUPPLIED).text.replace(f" {UNKNOWN_ADDRESS}", "")
    words = re.findall(r"The key is rotated|https?://[a-z./]+[ab]", said)
    assert [word for word in words if word not in judged] == []
