"""Which rules are worth trying on a text. One scan for words, one for long runs; most messages open nothing."""

import re
from collections.abc import Sequence
from typing import Final

from ingest.scrub.model import RUNS, Gate

BLANKED: Final = bytes(code if chr(code) in "abcdefghijklmnopqrstuvwxyz" else 32 for code in range(256))
ESCAPES: Final = re.compile(r"\\[nrtu]|%[0-9a-f]{2}|\\x[0-9a-f]{2}")
LONG: Final = re.compile(rf"[a-z0-9_\-]{{{RUNS[1]},}}+").findall
HEADED: Final = re.compile("[a-z0-9]{3,}+").findall
IN_RUN: Final = re.compile(r"[a-z0-9_\-]+")


def letter_runs(low: str) -> set[bytes]:
    """The runs of a to z. An escaped line end or percent escape before a word is no part of it."""
    words = set(low.encode("utf-8", "surrogatepass").translate(BLANKED).split())
    if "\\" in low or "%" in low:
        words.update(ESCAPES.sub(" ", low).encode("utf-8", "surrogatepass").translate(BLANKED).split())
    return words


class Gates:
    """The gates of a list of rules; answers with places in that list."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self.words: dict[bytes, int] = {}
        self.heads: dict[str, int] = {}
        self.runs = dict.fromkeys(RUNS, 0)
        parts: dict[tuple[int, str], int] = {}
        for at, gate in enumerate(gates):
            bit = 1 << at
            self.runs[gate.run] |= bit
            for word in gate.words:
                self.words[word.encode()] = self.words.get(word.encode(), 0) | bit
            for head in gate.heads:
                self.heads[head] = self.heads.get(head, 0) | bit
            for part in gate.parts:
                parts[gate.run, part] = parts.get((gate.run, part), 0) | bit
        self.literals = [
            (frozenset(word.encode() for word in gate.words), (*gate.heads, *gate.parts)) for gate in gates
        ]
        self.word_set = frozenset(self.words)
        self.head_starts = {head[:2] for head in self.heads}
        self.head_lengths = tuple(sorted({len(head) for head in self.heads}))
        group = {run: [(part, mask) for (need, part), mask in parts.items() if need == run] for run in RUNS}
        self.parts = tuple((part, mask) for part, mask in group[0] if part.isascii())
        self.wide = tuple((part, mask) for part, mask in group[0] if not part.isascii())
        longer = [pair for run in RUNS[1:] for pair in group[run]]
        self.run_parts = tuple(pair for pair in longer if IN_RUN.fullmatch(pair[0]))
        self.far_parts = tuple(pair for pair in longer if not IN_RUN.fullmatch(pair[0]))

    def open(self, low: str, words: set[bytes]) -> list[int]:
        mask = 0
        for word in self.word_set & words:
            mask |= self.words[word]
        for part, bits in self.parts:
            if part in low:
                mask |= bits
        if not low.isascii():
            for part, bits in self.wide:
                if part in low:
                    mask |= bits
        mask = self.with_runs(mask, low)
        opened = []
        while mask:
            lowest = mask & -mask
            opened.append(lowest.bit_length() - 1)
            mask ^= lowest
        return opened

    def places(self, at: int, low: str, words: set[bytes]) -> list[int]:
        """Where the literals of one gate stand, in order."""
        own, others = self.literals[at]
        found = []
        for literal in (*(word.decode() for word in own & words), *others):
            place = low.find(literal)
            while place >= 0:
                found.append(place)
                place = low.find(literal, place + 1)
        found.sort()
        return found

    def with_runs(self, mask: int, low: str) -> int:
        plain = ESCAPES.sub(" ", low) if "\\" in low or "%" in low else low
        runs = LONG(plain)
        longest = 0
        if runs:
            longest = max(map(len, runs))
            joined = " ".join(runs)
            for part, bits in self.run_parts:
                if part in joined:
                    mask |= bits
            for part, bits in self.far_parts:
                if part in low:
                    mask |= bits
            for run in HEADED(joined):
                if run[:2] not in self.head_starts:
                    continue
                for length in self.head_lengths:
                    mask |= self.heads.get(run[:length], 0)
        for need, bits in self.runs.items():
            if longest < need:
                mask &= ~bits
        return mask
