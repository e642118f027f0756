"""Where any of many literals stand: one scan for all of them, however many there are."""

import re
from collections.abc import Sequence
from typing import Final

from ahocorasick_rs import AhoCorasick, Implementation

SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Literals:
    """Literals to look for together (Aho-Corasick: linear in the text, whatever it is)."""

    def __init__(self, literals: Sequence[str]) -> None:
        self.scan = AhoCorasick(literals, implementation=Implementation.ContiguousNFA)

    def find(self, text: str) -> list[tuple[int, int, int]]:
        """Each literal that is there, overlapping or not: its number, start and end in code points, by their ends."""
        try:
            return self.scan.find_matches_as_indexes(text, overlapping=True)
        except UnicodeEncodeError:  # a lone surrogate, which no literal has
            return self.scan.find_matches_as_indexes(SURROGATE.sub("\ufffd", text), overlapping=True)
