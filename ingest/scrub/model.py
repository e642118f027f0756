"""What a scrubbing rule is, and what it reports.

A rule is data: a name, the kind that its marker shows, why it exists, a pattern, a validator, the literals that
must be present before the pattern is tried, and examples. Examples are templates (see `ingest.scrub.samples`): a
credential in them is made at run time, so that no file holds one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.scrub.keywords import KeyName

Spans = tuple[tuple[int, int], ...]
"""Start and end of each secret, in code points; empty means that the match is none."""

Validator = Callable[[re.Match[str], str], Spans | None]
"""Gets the match and the text as written (the match of a folded rule is over the lower-cased copy).

None means that what stands before the match makes it none, empty spans that its value is no credential: beside a find
that became a marker such a value may look otherwise, and is looked at once more.
"""

NOTHING: Spans = ()


class Finding(NamedTuple):
    """Where a credential stands, never what it is. Offsets are code points of the text that was given."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Gate:
    """Literals of which one has to be in the lower-cased text before a rule is tried."""

    literals: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Also wants one of these, anywhere: no match goes without."""

    def __post_init__(self) -> None:
        if not self.literals:
            raise ValueError("a gate without literals never opens: name one")
        if odd := [literal for literal in self.literals if not literal or literal != literal.lower()]:
            raise ValueError(f"not in lower case, as the text is: {odd}")


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
    """The pattern begins with one of its gate's literals, so that it is tried only where those stand. To search through
    the whole text is for what begins with a sign, or where the gate is a word beside."""
    is_nested: bool = False
    """Inside of what the pattern has read and the validator refused there may be another match."""
    is_closed: bool = True
    """Where it found something it finds nothing more once that is a marker: it takes whole runs, up to a border."""
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


def gate(literals: str, *with_blanks: str, also: tuple[str, ...] = ()) -> Gate:
    """`literals` separated by blanks, and those that hold one."""
    return Gate((*literals.split(), *with_blanks), also)
