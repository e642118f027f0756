"""`What is X` is answered where X is the heading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.text.headword import Headword
from index.text.languages import chosen
from index.text.routing import ROUTES

LANGUAGES = chosen(("en", "cs", "de"))
DEFINITION = next(row for row in ROUTES if row.name == "definition")


def asked(text: str) -> Headword:
    return Headword(text, DEFINITION, LANGUAGES)


@pytest.mark.parametrize(
    ("question", "heading", "share"),
    [
        ("what is a shadow copy", "Shadow copy", 1.0),
        ("what are leases", "Lease", 1.0),
        ("what is a lease", "Lock and lease", 0.5),
        ("co je stínová kopie", "Stínové kopie", 1.0),
        ("was ist eine Sperre", "Sperren", 1.0),
        ("what is a shadow copy", "Copy", 0.0),
        ("what is", "What is", 0.0),
        ("what is ?", "", 0.0),
    ],
)
def test_every_word_asked_for_has_to_stand_in_the_heading(question: str, heading: str, share: float) -> None:
    assert asked(question).share(heading) == pytest.approx(share)


def test_the_heading_that_is_nothing_but_the_word_is_lifted_most() -> None:
    lifts = [asked("what is a lease").lift(heading) for heading in ("Lease", "Lock and lease", "When a lease was lost")]
    assert lifts[0] == DEFINITION.heading_factor > lifts[1] > lifts[2] == 1.0


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_lifts_beyond_the_factor_or_lowers(question: str, heading: str) -> None:
    assert 1.0 <= asked(question).lift(heading) <= DEFINITION.heading_factor
