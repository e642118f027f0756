"""Hostile text costs no more than long text. Work is counted in calls; the time limit is only there for a pattern that hangs."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import sys
from types import FrameType

import pytest

from ingest.scrub import scrub
from ingest.scrub.engine import Scrubber
from ingest.scrub.model import NameRule, Rule
from ingest.scrub.rules import RULES

MEGABYTE = 1_000_000


def filled(piece: str, size: int) -> str:
    return piece * (size // len(piece))


def calls(scrubber: Scrubber, text: str) -> int:
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        scrubber.scrub(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.timeout(30)  # for each pair of places an eighth of a nanosecond, in which no pattern looks at one
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_half_a_megabyte_of_the_worst_prefix_is_done(rule: Rule | NameRule) -> None:
    Scrubber([rule]).scrub(filled(rule.worst, MEGABYTE // 2))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_twice_the_text_is_twice_the_work(rule: Rule | NameRule) -> None:
    scrubber = Scrubber([rule])
    small = calls(scrubber, filled(rule.worst, 4_000))
    large = calls(scrubber, filled(rule.worst, 16_000))
    assert large <= 5 * small + 200


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "piece",
    [
        "password ",
        "password=",
        "token: ",
        "://",
        "eyJ",
        "a",
        "-",
        "=",
        "'",
        "\\",
        "\\n",
        "‹redacted:",
        "‹redacted:x›",
        "key (",
        "<password>",
        "a@b:c",
        "\n> ",
        "password is ",
    ],
)
def test_all_rules_together_get_through_hostile_text(piece: str) -> None:
    scrub(filled(piece, MEGABYTE // 8))


@pytest.mark.timeout(120)
def test_a_key_word_and_a_megabyte_of_blanks() -> None:
    text = "password" + " " * MEGABYTE + "is required"
    assert scrub(text) == text
