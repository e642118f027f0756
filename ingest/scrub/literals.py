"""Where any of many literals stand: one scan for all of them, however many there are."""

import re
from collections.abc import Iterable
from typing import Final

from ahocorasick_rs import AhoCorasick, Implementation

SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Literals:
    """A set of literals to look for together (Aho-Corasick: linear in the text, whatever it is)."""

    def __init__(self, literals: Iterable[str]) -> None:
        self.literals = tuple(sorted(set(literals)))
        self.scan = AhoCorasick(self.literals, implementation=Implementation.DFA)

    def find(self, text: str) -> dict[str, list[int]]:
        """Each literal that is there with its places, in code points and in order."""
        try:
            hits = self.scan.find_matches_as_indexes(text, overlapping=True)
        except UnicodeEncodeError:  # a lone surrogate, which no literal has
            hits = self.scan.find_matches_as_indexes(SURROGATE.sub("\ufffd", text), overlapping=True)
        literals = self.literals
        places: dict[str, list[int]] = {}
        for number, start, _ in hits:
            literal = literals[number]
            if literal in places:
                places[literal].append(start)
            else:
                places[literal] = [start]
        return places
