"""What a scrubbing rule is, and what it reports.

A rule is data: a name, the kind that its marker shows, why it exists, a pattern, a validator, the literals that
must be present before the pattern is tried, and examples. Examples are templates (see `ingest.scrub.samples`): a
credential in them is made at run time, so that no file holds one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

Spans = tuple[tuple[int, int], ...]
"""Start and end of each secret, in code points; empty means that the match is none."""

Validator = Callable[[re.Match[str], str], Spans]
"""Gets the match and the text as written (the match of a folded rule is over the lower-cased copy)."""

NOTHING: Spans = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a credential stands, never what it is. Offsets are code points of the text that was given."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Gate:
    """Literals of which one has to be in the lower-cased text before a rule is tried.

    `words` are whole runs of the letters a to z (cheap, however many there are); `parts` are looked for anywhere.
    """

    words: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()
    needs_run: bool = False
    """Also wants 16 letters, digits, `_` or `-` in a row somewhere, which most messages have not."""

    def __post_init__(self) -> None:
        if not self.words and not self.parts:
            raise ValueError("a gate without literals never opens: name a word or a part")
        if odd := [word for word in self.words if not re.fullmatch("[a-z]+", word)]:
            raise ValueError(f"not runs of a to z: {odd}")


def secret_group(match: re.Match[str], text: str) -> Spans:
    """The validator of a shape that is unmistakable: the group `s` is the secret."""
    return (match.span("s"),)


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    kind: str
    why: str
    pattern: re.Pattern[str]
    gate: Gate
    finds: tuple[str, ...]
    """Templates; what stands between ⟦ and ⟧ is to go."""
    leaves: tuple[str, ...]
    """Templates that the whole scrubber returns unchanged."""
    worst: str
    """Repeated to a megabyte, the input that costs this pattern most."""
    validate: Validator = field(default=secret_group)
    is_folded: bool = False
    """The pattern runs over the lower-cased copy, which is faster than ignoring case."""


def gate(words: str = "", *parts: str, needs_run: bool = False) -> Gate:
    """`words` separated by blanks."""
    return Gate(frozenset(words.split()), parts, needs_run)
