"""What strangers wrote is shown as text: it cannot drive a terminal, hide or turn itself round."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.text.clean import inert, inert_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[?1000hclick", "click"),
        ("\x1b]52;c;ZXZpbA==\x07paste", "paste"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("\x9b31mred", " 31mred"),
        ("\x1bP1$r\x1b\\dcs", "dcs"),
        ("a\x1b]0;never closed", "a ]0;never closed"),
        ("a\x1b\x1b[31m[32mb", "a [32mb"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("in\u202evoice\u202c", "invoice"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("tag\U000e0041\U000e0042", "tag"),
        ("half \ud83d", "half \ufffd"),
        ("\x00nul\x08", " nul "),
        ("tab\tstays\n", "tab\tstays\n"),
        ("rodina 👨‍👩‍👧 zůstane", "rodina 👨‍👩‍👧 zůstane"),
    ],
)
def test_what_drives_a_display_is_taken_out(text: str, shown: str) -> None:
    assert inert(text) == shown


SPOILED = st.text(
    st.one_of(st.characters(), st.sampled_from("\x1b\x9b\x9d\x07[]\\;?mhP0123\x00\x85\u202e\u2066\u200b\ud800\r\n")),
    max_size=200,
)


@given(SPOILED)
def test_nothing_of_the_kind_is_left_and_a_second_pass_changes_nothing(text: str) -> None:
    shown = inert(text)
    assert inert(shown) == shown
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t" for letter in shown)
    assert not any(
        unicodedata.bidirectional(letter) in ("LRO", "RLO", "LRE", "RLE", "PDF", "LRI", "RLI") for letter in shown
    )
    line = inert_line(text)
    assert inert_line(line) == line
    assert "\n" not in line and "\t" not in line


@given(
    st.text(
        st.characters(
            categories=["L", "N", "P", "S", "M"], exclude_characters="\u034f\u115f\u1160\u3164\uffa0\u17b4\u17b5"
        )
    )
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert inert(text) == text


def test_a_long_hostile_text_takes_linear_time() -> None:
    assert inert("\x1b]" * 200_000) == " ]" * 200_000
