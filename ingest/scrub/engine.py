"""The pass over a text: which rules are tried, what they find, and how the finds become markers.

Linear in the length of the text: gates are one scan each, every pattern has bounded or possessive repeats and starts at
a literal, and rounds are few. A second round sees the text as it will be stored, so that scrubbing it again changes
nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ingest.scrub.gates import Gates, Opened, Stems
from ingest.scrub.keywords import KeyName, key_names
from ingest.scrub.model import Finding, NameRule, Rule
from ingest.scrub.names import Slot
from ingest.scrub.placeholders import MARKER, OPEN_MARK
from ingest.scrub.words import STEM_WORDS, STEMS

ROUNDS: Final = 8
"""What one round uncovers for the next is nested; hostile nesting ends here, honest text needs one round and a look."""

LONGEST_REREAD: Final = 512
KINDS: Final = {slot: slot.name.lower().rpartition("_")[2] for slot in Slot}
CONTINUED: Final = re.compile(
    r"""["'`][ \t]*+(?:[+.&][ \t]*+\\?(?:\r?\n[ \t]*+)?|\\?\r?\n[ \t]*+[+.&]?[ \t]*+)["'`]"""
    r"""(?P<s>[A-Za-z0-9_\-+/=.~]{8,}+)(?=["'`])"""
    r"""|(?:[\u200b-\u200d\u2060\ufeff]++|\\\r?\n[ \t]*+)["']?(?P<t>[A-Za-z0-9_\-+/=.~]{8,}+)"""
)
CONTINUING: Final = ("'", '"', "`", "\\", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff")
HOLE: Final = "\0"
HIDDEN: Final = re.compile("<\0+>")
MARKED: Final = "<" + HOLE
BEGIN: Final = "-----BEGIN "
FAR_SIGHTED: Final = ("phrase", "mnemonic")
"""After these a value is looked for in the rest of the line, not only where the next one begins."""
VALUE_NEXT: Final = re.compile(
    r"(?:[\s\"'`=:>\\,(|\u200b-\u200d\u2060\ufeff]|&quot;|(?:Bearer|Basic|value)(?=[\s=])){1,12}"
)
VALUE_GOES_ON: Final = re.compile(r"[^\s\"'`<>&,;)\]}\\|]")
ANOTHER: Final = re.compile(r"[0-9\"'`„“”«‚‘!@#$%^&*+=~?]|[A-Za-z]-[A-Za-z]")
"""Without one of these after it, what a sentence told is all that it tells."""
JOINING: Final = ("_", "*", "-")
SKIPPED: Final = ("'", '"', "`", ".")
QUALIFIED: Final = (" ", "\u00a0", "-")
QUALIFYING: Final = 80
FAR: Final = 512
OPENING: Final = 3
"""Quotes or bold signs that open what was told."""
DIGIT: Final = re.compile(r"[0-9]")


def fold(text: str) -> str:
    """Lower case with every character in its place (a few capitals become two characters; those stay)."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


@dataclass(slots=True)
class Look:
    """What one pass found, and what the next one may go by."""

    found: list[Finding]
    is_settled: bool
    """Nothing more can be found: no name may take another value, and only closed rules had a match, and took it."""
    tried: frozenset[int] | None
    """The rules that are worth another try; None are all of them."""


Seen = tuple[str, str, Opened, Stems]
"""A text with its markers hidden, the same folded, the rules that are worth trying, and the key words."""


class Scrubber:
    """A set of rules. Earlier rules name what several find."""

    def __init__(self, rules: Sequence[Rule | NameRule]) -> None:
        self.rules = tuple(rule for rule in rules if isinstance(rule, Rule))
        self.name_rules = tuple(rule for rule in rules if isinstance(rule, NameRule))
        self.gates = Gates(self.rules, STEM_WORDS | STEMS if self.name_rules else ())

    def find(self, text: str) -> list[Finding]:
        """Disjoint, in order."""
        return self.look(self.see(text)).found

    def see(self, text: str) -> Seen:
        """What there is to try. Cheapest for many texts in a row, whose literals are found by the same few tables."""
        text = hide_markers(text)
        low = fold(text)
        return text, low, *self.gates.open(low)

    def look(self, seen: Seen, earlier: Look | None = None) -> Look:
        """One pass. After an earlier one only those rules are tried again that may find more beside what went."""
        text, low, opened, stems = seen
        found: list[Finding] = []
        again: dict[int, list[int]] = {}
        is_settled = True
        for at, places in opened:
            if earlier and earlier.tried is not None and at not in earlier.tried:
                continue
            rule = self.rules[at]
            before = len(found)
            refused = apply_at(rule, places, text, low, found) if rule.is_anchored else apply(rule, text, low, found)
            has_found = len(found) > before
            if refused or not (rule.is_closed and has_found):
                again[at] = refused
                is_settled = is_settled and not (has_found and not rule.is_closed)
        is_all = True
        named: set[int] = set()
        if stems and (names := key_names(text, low, stems)):
            known = {finding.start: finding.end for finding in found}
            beside, named, is_all = self.find_by_names(names, known, text, low)
            found += beside
        if not found:
            return Look(found, is_settled=True, tried=frozenset())
        if HOLE in text:
            found = outside_markers(found, text)
        found = merge(found)
        if is_glued(found, named, stems, text):
            return Look(found, is_settled=False, tried=None)
        is_settled = is_settled and is_all and all_inside(found, again.values())
        return Look(found, is_settled=is_settled, tried=frozenset(again))

    def find_by_names(
        self, names: list[KeyName], known: dict[int, int], text: str, low: str
    ) -> tuple[list[Finding], set[int], bool]:
        """What stands beside the names, where their values begin, and whether that is all there will be.

        The first rule that finds something beside a name has found it; a name inside a value is none. `known` is what
        other rules found: a value that is one of them, up to its end, need not be judged.
        """
        found: list[Finding] = []
        places: set[int] = set()
        is_all = True
        at = 0
        for key in names:
            if key.start < at:
                continue
            sign = VALUE_NEXT.match(text, key.end)
            place = sign.end() if sign else -1
            places.add(place)
            is_far_sighted = key.name.lower().endswith(FAR_SIGHTED)
            is_known = place in known and not VALUE_GOES_ON.match(text, known[place])
            if is_known and is_far_sighted:
                is_all = False
                continue
            is_taken = (
                is_known
                or (text.startswith(MARKED, place) and not is_far_sighted)
                or text.startswith(BEGIN, place)  # a block of armour, which has a rule of its own
            )
            for rule in self.name_rules:
                if is_taken and rule.is_forward:
                    continue
                spans = rule.find(key, text, low)
                for start, end in spans:
                    found += with_rest(KINDS[key.slot], start, end, text)
                    at = max(at, found[-1].end)
                    is_taken = is_taken or (
                        rule.is_forward
                        and not is_far_sighted
                        and (start == place or is_alone(text, key.end, start, found[-1].end))
                    )
                if spans and not is_taken:
                    break
            is_all = is_all and is_taken
        return found, places, is_all

    def scrub(self, text: str) -> str:
        return self.settle(text, self.see(text))

    def scrub_all(self, texts: Sequence[str]) -> list[str]:
        """Each text scrubbed, in order; for many small ones a tenth faster than one by one."""
        seen = [self.see(text) for text in texts]
        return [self.settle(text, first) for text, first in zip(texts, seen, strict=True)]

    def settle(self, text: str, seen: Seen) -> str:
        """Rounds, until nothing more is found."""
        look = self.look(seen)
        for _ in range(ROUNDS):
            if look.found:
                text = replace(text, look.found)
            if look.is_settled:
                break
            look = self.look(self.see(text), look)
        return text

    def explain(self, text: str) -> list[Finding]:
        """Everything that `scrub` replaces, in the coordinates of the text that was given."""
        total: list[Finding] = []
        look = None
        for _ in range(ROUNDS):
            look = self.look(self.see(text), look)
            if look.found:
                text = replace(text, look.found)
                total = merge([*total, *map(Shifts(total).back, look.found)]) if total else look.found
            if look.is_settled:
                break
        return total


def apply(rule: Rule, text: str, low: str, found: list[Finding]) -> list[int]:
    """Adds what the rule finds; says where it had a match that it refused."""
    subject = low if rule.is_folded else text
    search, validate = rule.pattern.search, rule.validate
    refused: list[int] = []
    match = search(subject)
    while match:
        spans = validate(match, text)
        if spans:
            at = match.start() + 1
            for start, end in spans:
                found += with_rest(rule.kind, start, end, text)
                at = max(at, found[-1].end)
        else:
            if spans is not None:
                refused.append(match.start())
            at = after_refusal(match)
        match = search(subject, at)
    return refused


def apply_at(rule: Rule, places: list[int], text: str, low: str, found: list[Finding]) -> list[int]:
    """The same for a rule that begins at one of `places`. What a match has read is not read again."""
    subject = low if rule.is_folded else text
    read = rule.pattern.match
    refused: list[int] = []
    at = 0
    if len(places) > 1:
        places.sort()
    for place in places:
        if place >= at and (match := read(subject, place)):
            spans = rule.validate(match, text)
            if spans:
                at = match.end()
                for start, end in spans:
                    found += with_rest(rule.kind, start, end, text)
            else:
                if spans is not None:
                    refused.append(place)
                at = after_refusal(match) if rule.is_nested else match.end()
    return refused


def is_alone(text: str, name_end: int, start: int, end: int) -> bool:
    """Nothing between a name and what was told of it, or after that, that could be told of it as well."""
    return not ANOTHER.search(text, name_end, start - OPENING) and not ANOTHER.search(text, end, end + FAR)


def is_glued(found: list[Finding], named: set[int], stems: Stems, text: str) -> bool:
    """Something joined to a find: once a marker parts them, it may turn out to begin or to end there.

    `named` are places after a name and its sign, which join nothing. A key word is joined by the words before it.
    """
    ends = [finding.end for finding in found]
    for place, _ in stems:
        if text[place - 1 : place] in QUALIFIED and (last := bisect_right(ends, place)):
            end = ends[last - 1]
            if place - end <= QUALIFYING and "\n" not in text[end:place]:
                return True
    for _, start, end in found:
        before, after = text[start - 1 : start], text[end : end + 1]
        if before.isalnum() or before in JOINING or (before == "=" and start not in named):
            return True
        if after in SKIPPED:
            after = text[end + 1 : end + 2]
        if after.isalnum() or after in JOINING:
            return True
    return False


def all_inside(found: list[Finding], places: Iterable[list[int]]) -> bool:
    """Whether all `places` lie inside of what was found, and so go with it. Finds are disjoint and in order."""
    starts: list[int] = []
    for some in places:
        for place in some:
            starts = starts or [finding.start for finding in found]
            at = bisect_right(starts, place) - 1
            if at < 0 or place >= found[at].end:
                return False
    return True


def after_refusal(match: re.Match[str]) -> int:
    """Where to go on: right after the beginning, unless so much was read that reading it again would not be linear."""
    start, end = match.span()
    return start + 1 if end - start < LONGEST_REREAD else end


def with_rest(kind: str, start: int, end: int, text: str) -> list[Finding]:
    """The find, and the further pieces of a string that goes on in the next line."""
    found = [Finding(kind, start, end)]
    while text[end : end + 1] in CONTINUING and (more := CONTINUED.match(text, end)):
        group = "s" if more["s"] else "t"
        if not DIGIT.search(more[group]):
            break
        start, end = more.span(group)
        found.append(Finding(kind, start, end))
    return found


def merge(found: list[Finding]) -> list[Finding]:
    """Union of what overlaps, named by the find that came first; finds come in the order of the rules."""
    if len(found) < 2:
        return found
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


def hide_markers(text: str) -> str:
    """Markers emptied, their length kept: the words in them are nobody's key words. No value goes across a `<`."""
    if OPEN_MARK not in text:
        return text
    return MARKER.sub(lambda match: f"<{HOLE * (len(match[0]) - 2)}>", text)


def outside_markers(found: list[Finding], text: str) -> list[Finding]:
    """A marker is never part of a secret: a find that touches one is cut at it."""
    marks = [match.span() for match in HIDDEN.finditer(text)]
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
