"""The labelled cases beside the repository, where they are; otherwise the rules' own examples in their place."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest.scrub import scrub
from ingest.scrub.placeholders import MARKER
from ingest.scrub.rules import RULES
from ingest.scrub.samples import sample

SHARED = Path(os.environ.get("SOURCES_SHARED", Path(__file__).parents[3] / "shared"))
CASES = SHARED / "eval" / "scrub" / "cases.jsonl"
PIECE = 6


@dataclass(frozen=True, slots=True)
class Case:
    text: str
    secrets: tuple[str, ...]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    if CASES.exists():
        lines = CASES.read_text(encoding="utf-8").split("\n")
        items = [json.loads(line) for line in lines if line.strip()]
        return [Case(item["text"], tuple(item["secrets"])) for item in items]
    templates = [template for rule in RULES for template in (*rule.finds, *rule.leaves)]
    return [Case(example.text, example.secrets) for template in templates for example in [sample(template)]]


def pieces_left(case: Case, answer: str) -> bool:
    bare = MARKER.sub("\0", answer)
    rest = case.text
    for secret in case.secrets:
        rest = rest.replace(secret, "\0")
    return any(
        bare.count(piece) > rest.count(piece)
        for secret in case.secrets
        for at in range(max(1, len(secret) - PIECE + 1))
        for piece in [secret[at : at + PIECE]]
        if piece in bare
    )


def test_recall_is_at_least_99_in_a_hundred(cases: list[Case]) -> None:
    planted = [case for case in cases if case.secrets]
    leaks = [case for case in planted if pieces_left(case, scrub(case.text))]
    assert len(leaks) <= 0.01 * len(planted)


def test_at_most_one_harmless_text_in_two_hundred_changes(cases: list[Case]) -> None:
    harmless = [case for case in cases if not case.secrets]
    changed = [case for case in harmless if scrub(case.text) != case.text]
    assert len(changed) <= 0.005 * len(harmless)


def test_what_is_scrubbed_has_a_marker_and_stays_as_it_is(cases: list[Case]) -> None:
    for case in cases:
        answer = scrub(case.text)
        assert scrub(answer) == answer
        assert not case.secrets or MARKER.search(answer)
