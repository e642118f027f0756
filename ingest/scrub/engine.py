"""The pass over a text: which rules are tried, what they find, and how the finds become markers.

Linear in the length of the text: gates are one scan each, every pattern has bounded or possessive repeats and starts at
a literal, and rounds are few. A second round sees the text as it will be stored, so that scrubbing it again changes nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from ingest.scrub.model import Finding, Rule
from ingest.scrub.placeholders import MARKER, OPEN_MARK

ROUNDS: Final = 8
"""What one round uncovers for the next is nested; hostile nesting ends here, honest text needs one round and a look."""

RUNS: Final = re.compile("[a-z]+").findall
LONG_RUN: Final = re.compile(r"[a-z0-9_\-]{16}").search
ESCAPES: Final = re.compile(r"\\[nrtu]|%[0-9a-f]{2}|\\x[0-9a-f]{2}")
CONTINUED: Final = re.compile(
    r"""["'`][ \t]*+(?:[+.&][ \t]*+\\?(?:\r?\n[ \t]*+)?|\\?\r?\n[ \t]*+[+.&]?[ \t]*+)["'`](?P<s>[A-Za-z0-9_\-+/=.~]{8,}+)(?=["'`])"""
    r"""|\\\r?\n[ \t]*+["']?(?P<t>[A-Za-z0-9_\-+/=.~]{8,}+)"""
)
DIGIT: Final = re.compile(r"[0-9]")


def fold(text: str) -> str:
    """Lower case with every character in its place (a few capitals become two characters; those stay)."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


class Scrubber:
    """A set of rules, indexed by their gates. Earlier rules name what several find."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self.words: dict[str, int] = {}
        parts: dict[str, int] = {}
        for at, rule in enumerate(self.rules):
            for word in rule.gate.words:
                self.words[word] = self.words.get(word, 0) | 1 << at
            for part in rule.gate.parts:
                parts[part] = parts.get(part, 0) | 1 << at
        self.ascii_parts = tuple((part, mask) for part, mask in parts.items() if part.isascii())
        self.wide_parts = tuple((part, mask) for part, mask in parts.items() if not part.isascii())
        self.word_set = frozenset(self.words)
        self.run_mask = sum(1 << at for at, rule in enumerate(self.rules) if rule.gate.needs_run)

    def open_rules(self, low: str) -> Iterator[Rule]:
        mask = 0
        for part, bits in self.ascii_parts:
            if part in low:
                mask |= bits
        if not low.isascii():
            for part, bits in self.wide_parts:
                if part in low:
                    mask |= bits
        runs = set(RUNS(low))
        if "\\" in low or "%" in low:
            runs.update(RUNS(ESCAPES.sub(" ", low)))
        for word in self.word_set & runs:
            mask |= self.words[word]
        if mask & self.run_mask and not LONG_RUN(low):
            mask &= ~self.run_mask
        while mask:
            lowest = mask & -mask
            yield self.rules[lowest.bit_length() - 1]
            mask ^= lowest

    def find(self, text: str) -> list[Finding]:
        """Disjoint, in order."""
        low = fold(text)
        found = [finding for rule in self.open_rules(low) for finding in apply(rule, text, low)]
        if not found:
            return found
        if OPEN_MARK in text:
            found = outside_markers(found, text)
        return merge(found)

    def rounds(self, text: str) -> tuple[str, list[Finding]]:
        """The scrubbed text, and everything found in the coordinates of the text that was given."""
        total: list[Finding] = []
        for _ in range(ROUNDS):
            found = self.find(text)
            if not found:
                break
            shifts = Shifts(total)
            total = merge([*total, *map(shifts.back, found)])
            text = replace(text, found)
        return text, total


def apply(rule: Rule, text: str, low: str) -> Iterator[Finding]:
    subject = low if rule.is_folded else text
    search, validate, kind = rule.pattern.search, rule.validate, rule.kind
    at = 0
    while match := search(subject, at):
        spans = validate(match, text)
        at = match.start() + 1
        for start, end in spans:
            yield Finding(kind, start, end)
            if end > at:
                at = end
            while more := CONTINUED.match(text, end):
                group = "s" if more["s"] else "t"
                if not DIGIT.search(more[group]):
                    break
                start, end = more.span(group)
                yield Finding(kind, start, end)
                at = end


def merge(found: list[Finding]) -> list[Finding]:
    """Union of what overlaps, named by the find that came first; finds come in the order of the rules."""
    order = sorted(range(len(found)), key=lambda at: (found[at].start, -found[at].end))
    merged: list[tuple[int, Finding]] = []
    for at in order:
        finding = found[at]
        if merged and finding.start < merged[-1][1].end:
            first, last = merged[-1]
            kind = found[min(first, at)].kind
            merged[-1] = (min(first, at), Finding(kind, last.start, max(last.end, finding.end)))
        else:
            merged.append((at, finding))
    return [finding for _, finding in merged]


def outside_markers(found: list[Finding], text: str) -> list[Finding]:
    """A marker is never part of a secret: a find that touches one is cut at it."""
    marks = [match.span() for match in MARKER.finditer(text)]
    ends = [end for _, end in marks]
    kept = []
    for finding in found:
        start, end = finding.start, finding.end
        for mark_start, mark_end in marks[bisect_right(ends, start) :]:
            if mark_start >= end:
                break
            if start < mark_start:
                kept.append(Finding(finding.kind, start, mark_start))
            start = max(start, mark_end)
        if start < end:
            kept.append(Finding(finding.kind, start, end))
    return kept


def marker(kind: str) -> str:
    return f"{OPEN_MARK}{kind}›"


def replace(text: str, found: Sequence[Finding]) -> str:
    pieces, at = [], 0
    for finding in found:
        pieces += [text[at : finding.start], marker(finding.kind)]
        at = finding.end
    return "".join([*pieces, text[at:]])


class Shifts:
    """Leads from a text in which `before` have become markers back to the text before that."""

    def __init__(self, before: Sequence[Finding]) -> None:
        self.ends: list[int] = []
        self.shifts = [0]
        for finding in before:
            length = len(marker(finding.kind))
            self.ends.append(finding.start + self.shifts[-1] + length)
            self.shifts.append(self.shifts[-1] + length - (finding.end - finding.start))

    def back(self, finding: Finding) -> Finding:
        shift = self.shifts[bisect_right(self.ends, finding.start)]
        return Finding(finding.kind, finding.start - shift, finding.end - shift)
