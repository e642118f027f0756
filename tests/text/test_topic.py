"""The page whose title has the words of a question is what it is about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.text.languages import chosen
from index.text.topic import Topic

LANGUAGES = chosen(("en", "cs", "de"))


@pytest.mark.parametrize(
    ("question", "title", "share"),
    [
        ("restore a database", "Databases", 0.5),
        ("how to restore the databases", "Restoring databases", 1.0),
        ("obnovu databáze", "Obnova databáze", 1.0),
        ("restore restore database", "Database", 0.5),
        ("restore a database", "Notes", 0.0),
        ("of the", "Of the moon", 0.0),
        ("", "Restore", 0.0),
        ("restore", "", 0.0),
    ],
)
def test_each_telling_word_counts_once_in_any_of_its_forms(question: str, title: str, share: float) -> None:
    assert Topic(question, LANGUAGES).share(title) == pytest.approx(share)


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_share_is_a_share_of_any_text(question: str, title: str) -> None:
    assert 0.0 <= Topic(question, LANGUAGES).share(title) <= 1.0
