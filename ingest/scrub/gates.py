"""Which rules are worth trying on a text: a scan each for words, literals and long runs. Most messages open nothing."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ingest.scrub.literals import Literals
from ingest.scrub.model import RUNS, Gate

LETTERS: Final = bytes(code if chr(code) in "abcdefghijklmnopqrstuvwxyz" else 32 for code in range(256))
RUN_SIGNS: Final = bytes(code if chr(code) in "abcdefghijklmnopqrstuvwxyz0123456789_-" else 32 for code in range(256))
"""They blank what is no part of a word, or of a run: to translate and split bytes is the fastest scan there is."""
ESCAPES: Final = re.compile(r"\\[nrtu]|%[0-9a-f]{2}|\\x[0-9a-f]{2}")
LONG: Final = re.compile(rb" [^ ]{%d,}" % RUNS[1]).findall
HEADED: Final = re.compile(rb"[a-z0-9]{3,}+").findall
SHORT: Final = 2
"""Shorter literals stand everywhere: a substring test is cheaper than their places."""


def has_one_of(literals: Iterable[str], text: str) -> bool:
    return any(literal in text for literal in literals)


Places = dict[str, list[int]]
"""Each literal that is there, with its places."""


class Gates:
    """The gates of a list of rules; answers with places in that list."""

    def __init__(self, gates: Sequence[Gate], words: Iterable[str] = (), literals: Iterable[str] = ()) -> None:
        """`words` and `literals` are further ones that somebody else wants to know of."""
        self.gates = tuple(gates)
        self.words: dict[bytes, tuple[str, list[int]]] = {word.encode(): (word, []) for word in words}
        self.parts: dict[str, list[int]] = {}
        heads: dict[bytes, list[int]] = {}
        for at, gate in enumerate(gates):
            for word in gate.words:
                self.words.setdefault(word.encode(), (word, []))[1].append(at)
            for head in gate.heads:
                heads.setdefault(head.encode(), []).append(at)
            for part in gate.parts:
                self.parts.setdefault(part, []).append(at)
        self.known = frozenset(self.words)
        self.heads: dict[bytes, list[tuple[bytes, list[int]]]] = {}
        for start, rules in heads.items():
            self.heads.setdefault(start[:2], []).append((start, rules))
        self.unscanned = tuple((part, rules) for part, rules in self.parts.items() if len(part) < SHORT)
        for part, _ in self.unscanned:
            del self.parts[part]
        self.literals = Literals({*self.parts, *literals})
        self.literals_of = [
            (
                tuple(part for part in gate.parts if part in self.parts),
                (*gate.heads, *(part for part in gate.parts if part not in self.parts)),
            )
            for gate in gates
        ]
        """Those of each gate that are scanned for, and those that are not."""

    def open(self, low: str, places: Places) -> tuple[dict[int, list[str]], list[str]]:
        """The rules to try, in order, each with those of its words that are there; and all known words that are."""
        raw = low.encode("utf-8", "surrogatepass")
        known = self.known.intersection(raw.translate(LETTERS).split())
        if "\\" in low or "%" in low:  # escaped line ends and percent escapes are no part of a word that follows them
            raw = ESCAPES.sub(" ", low).encode("utf-8", "surrogatepass")
            known |= self.known.intersection(raw.translate(LETTERS).split())
        opened: dict[int, list[str]] = {}
        words = []
        for name in known:
            word, rules = self.words[name]
            words.append(word)
            for at in rules:
                if at in opened:
                    opened[at].append(word)
                else:
                    opened[at] = [word]
        for part, rules in self.unscanned:
            if part in low:
                for at in rules:
                    opened.setdefault(at, [])
        for part in places:
            for at in self.parts.get(part, ()):
                opened.setdefault(at, [])
        runs = LONG(b" " + raw.translate(RUN_SIGNS))
        longest = 0
        if runs:
            longest = max(map(len, runs)) - 1
            for run in HEADED(b"".join(runs)):
                for head, rules in self.heads.get(run[:2], ()):
                    if run.startswith(head):
                        for at in rules:
                            opened.setdefault(at, [])
        tried = {}
        for at in sorted(opened):
            gate = self.gates[at]
            if gate.run <= longest and (not gate.also or has_one_of(gate.also, low)):
                tried[at] = opened[at]
        return tried, words

    def places(self, at: int, low: str, words: Sequence[str], places: Places) -> list[int]:
        """Where the literals of one gate stand, in order. `words` are those of its words that are to be looked for."""
        scanned, others = self.literals_of[at]
        found = []
        for literal in scanned:
            if literal in places:
                found += places[literal]
        for literal in (*words, *others):
            place = low.find(literal)
            while place >= 0:
                found.append(place)
                place = low.find(literal, place + 1)
        found.sort()
        return found
