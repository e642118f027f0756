"""Which rules are worth trying on a text, and where: one scan for all literals. Most messages open next to nothing."""

from collections.abc import Iterable, Sequence
from typing import Final

from ingest.scrub.literals import Literals
from ingest.scrub.model import Rule

SHORT: Final = 2
"""Shorter literals stand everywhere: a substring test is cheaper than their places."""

Opened = list[tuple[int, list[int]]]
"""Rules to try, by their place in the list and in its order, each with where its literals stand."""
Stems = list[tuple[int, str]]
"""Where key words begin, in order, with the key word."""


class Gates:
    """The gates of a list of rules, and the key words (stems) of names, which the same scan finds."""

    def __init__(self, rules: Sequence[Rule], stems: Iterable[str] = ()) -> None:
        opens: dict[str, list[int]] = {}
        for at, rule in enumerate(rules):
            for literal in rule.gate.literals:
                opens.setdefault(literal, []).append(at)
        self.short = tuple((literal, tuple(opens.pop(literal))) for literal in list(opens) if len(literal) < SHORT)
        self.stems = tuple(sorted(set(stems)))
        """They come first among the literals, so that a number tells them apart."""
        literals = (*self.stems, *sorted(set(opens).difference(self.stems)))
        self.literals = Literals(literals)
        self.opens = tuple(tuple(opens.get(literal, ())) for literal in literals)
        self.also = {at: rule.gate.also for at, rule in enumerate(rules) if rule.gate.also}

    def open(self, low: str) -> tuple[Opened, Stems]:
        """The rules to try on a folded text, in order, and its key words."""
        opened: dict[int, list[int]] = {}
        found: Stems = []
        stems, opens = self.stems, self.opens
        number_of_stems = len(stems)
        for number, start, _ in self.literals.find(low):
            if number < number_of_stems:
                found.append((start, stems[number]))
            for at in opens[number]:
                if at in opened:
                    opened[at].append(start)
                else:
                    opened[at] = [start]
        for literal, rules in self.short:
            if literal in low:
                for at in rules:
                    if at not in opened:
                        opened[at] = []
        if len(found) > 1:
            found.sort()
        for at in self.also.keys() & opened:
            if not any(literal in low for literal in self.also[at]):
                del opened[at]
        return sorted(opened.items()), found
