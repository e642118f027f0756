"""Questions are told from keywords and titles by their mark or their opening."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.text.question import is_question


@pytest.mark.parametrize(
    "text",
    [
        "how do I rotate logs",
        "disk full?",
        "Kde se nastavuje cesta",
        "proč to nejde",
        "Warum zwei Kopien",
        "备份在哪里？",
        'did they say "is it safe?"',
        "¿Dónde está?",
    ],
)
def test_a_question_opens_or_ends_as_one(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize(
    "text", ["", "?!", "log rotation", "whatever works", "fix what is broken", "zálohy disku", "-- ;"]
)
def test_keywords_and_titles_are_none(text: str) -> None:
    assert not is_question(text)


@given(st.text(max_size=80))
def test_any_text_is_one_or_the_other(text: str) -> None:
    assert is_question(f"{text}?")
