"""Every rule finds what it says it finds and leaves what it says it leaves. The examples are made at run time."""

from pathlib import Path

import pytest

from ingest.scrub import contains_secret, explain, scrub
from ingest.scrub.engine import Scrubber, fold
from ingest.scrub.gates import Gates
from ingest.scrub.model import Gate, NameRule, Rule
from ingest.scrub.placeholders import MARKER
from ingest.scrub.rules import RULES
from ingest.scrub.samples import Sample, sample

SEEDS = 4


def examples(which: str) -> list[object]:
    return [
        pytest.param(rule, template, id=f"{rule.name}: {template[:60]}".encode("unicode_escape").decode())
        for rule in RULES
        for template in getattr(rule, which)
    ]


def without_markers(text: str) -> str:
    return MARKER.sub("\0", text)


def without_secrets(example: Sample) -> str:
    text = example.text
    for secret in sorted(example.secrets, key=len, reverse=True):
        text = text.replace(secret, "\0")
    return text


@pytest.mark.parametrize(("rule", "template"), examples("finds"))
def test_the_secret_of_a_positive_example_goes_and_nothing_else(rule: Rule | NameRule, template: str) -> None:
    for seed in range(SEEDS):
        example = sample(template, seed)
        assert example.secrets, "mark what is to go with ⟦ and ⟧"
        assert without_markers(scrub(example.text)) == without_secrets(example)


@pytest.mark.parametrize(("rule", "template"), examples("finds"))
def test_the_rule_alone_finds_its_positive_examples(rule: Rule | NameRule, template: str) -> None:
    alone = Scrubber([rule])
    for seed in range(SEEDS):
        assert alone.find(sample(template, seed).text), "the gate stayed shut, or the validator refused"


@pytest.mark.parametrize(("rule", "template"), examples("leaves"))
def test_a_negative_example_comes_back_byte_for_byte(rule: Rule | NameRule, template: str) -> None:
    for seed in range(SEEDS):
        text = sample(template, seed).text
        assert scrub(text) == text


@pytest.mark.parametrize("rule", [rule for rule in RULES if isinstance(rule, Rule)], ids=lambda rule: rule.name)
def test_every_positive_example_opens_its_gate(rule: Rule) -> None:
    for template in rule.finds:
        tried, _ = Gates([rule]).open(fold(sample(template).text))
        assert tried


def test_names_are_unique_and_every_rule_says_why() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert all(len(rule.why) > 20 and rule.leaves and rule.worst for rule in RULES)


def test_a_gate_without_literals_is_refused() -> None:
    with pytest.raises(ValueError, match="never opens"):
        Gate(())


def test_a_literal_in_capitals_is_refused_since_text_is_folded() -> None:
    with pytest.raises(ValueError, match="lower case"):
        Gate(("AKIA",))


def test_a_finding_names_kind_and_place_and_never_the_secret() -> None:
    example = sample("GITHUB_TOKEN=⟦{github:ghp_}⟧ and more")
    (found,) = explain(example.text)
    assert (found.kind, example.text[found.start : found.end]) == ("github-token", example.secrets[0])
    assert example.secrets[0] not in repr(found)
    assert contains_secret(example.text) and not contains_secret(scrub(example.text))


def test_the_files_of_this_package_hold_no_credential() -> None:
    import ingest.scrub

    folder = Path(ingest.scrub.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        kinds = {found.kind for found in explain(path.read_text(encoding="utf-8"))}
        assert not kinds & {"github-token", "gitlab-token", "aws-access-key", "jwt", "ai-api-key"}, path
