"""docs/scrubbing.md is made from the rules, and says what is true of them."""

from pathlib import Path

from ingest.scrub import SCRUB_VERSION, scrub
from ingest.scrub.describe import page
from ingest.scrub.rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "scrubbing.md"


def test_the_page_is_what_the_rules_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m ingest.scrub.describe > docs/scrubbing.md"


def test_every_rule_is_on_the_page_and_no_credential_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"#### {rule.name}\n" in text for rule in RULES)
    assert f"(now {SCRUB_VERSION})" in text
    assert len(scrub(text)) > 0.97 * len(text)
