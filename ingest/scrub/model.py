"""What a scrubbing rule is, and what it reports.

A rule is data: a name, the kind that its marker shows, why it exists, a pattern, a validator, the literals that
must be present before the pattern is tried, and examples. Examples are templates (see `ingest.scrub.samples`): a
credential in them is made at run time, so that no file holds one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ingest.scrub.keywords import KeyName

Spans = tuple[tuple[int, int], ...]
"""Start and end of each secret, in code points; empty means that the match is none."""

Validator = Callable[[re.Match[str], str], Spans]
"""Gets the match and the text as written (the match of a folded rule is over the lower-cased copy)."""

NOTHING: Spans = ()
RUNS: Final = (0, 16, 24, 40)


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
    heads: tuple[str, ...] = ()
    """How a run of letters and digits begins, where nothing parts a prefix from what was drawn. In long runs only."""
    run: int = 0
    """Also wants so many letters, digits, `_` or `-` in a row (16, 24 or 40), which most messages have not."""
    also: tuple[str, ...] = ()
    """Also wants one of these, anywhere: no match goes without."""

    def __post_init__(self) -> None:
        if not (self.words or self.parts or self.heads):
            raise ValueError("a gate without literals never opens: name a word or a part")
        if self.run not in RUNS:
            raise ValueError(f"a run of {self.run} is not looked for")
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
    is_anchored: bool = False
    """The pattern begins with one of its gate's literals, so that it is tried only where those stand."""
    is_closed: bool = False
    """Finds whole runs with a border on both sides, so that what stands beside them means what it meant before."""
    is_folded: bool = False
    """The pattern runs over the lower-cased copy, which is faster than ignoring case."""


@dataclass(frozen=True, slots=True)
class NameRule:
    """A rule that goes by a name: what stands where its value would, and whether that is a credential.

    The kind is that of the name's slot: password, secret, token or key.
    """

    name: str
    why: str
    find: Callable[[KeyName, str, str], Spans]
    """Gets the name, the text and its lower-cased copy."""
    finds: tuple[str, ...]
    leaves: tuple[str, ...]
    worst: str
    is_forward: bool = True
    """Goes by what follows the name, and never past a marker."""


def gate(words: str = "", *parts: str, heads: str = "", run: int = 0, also: tuple[str, ...] = ()) -> Gate:
    """`words` and `heads` separated by blanks."""
    return Gate(frozenset(words.split()), parts, tuple(heads.split()), run, also)
