"""The five names that the rest of the program uses."""

from collections.abc import Sequence
from typing import Final

from ingest.scrub.engine import Scrubber
from ingest.scrub.model import Finding
from ingest.scrub.rules import RULES

SCRUB_VERSION: Final = 5
"""Raise it with every change that makes the rules find more: the index is then scrubbed again (docs/scrubbing.md)."""

_SCRUBBER: Final = Scrubber(RULES)


def scrub(text: str) -> str:
    """`text` with each credential replaced by a marker; all else stays as it is. Scrubbing twice changes nothing."""
    return _SCRUBBER.scrub(text)


def scrub_all(texts: Sequence[str]) -> list[str]:
    """Each of `texts` scrubbed, in order: the same as one by one, and faster."""
    return _SCRUBBER.scrub_all(texts)


def explain(text: str) -> list[Finding]:
    """What `scrub` would replace, in order and disjoint, never the secret itself."""
    return _SCRUBBER.explain(text)


def contains_secret(text: str) -> bool:
    return bool(_SCRUBBER.find(text))
