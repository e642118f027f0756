"""Which lines of the original a line of the scrubbed text stands for.

Scrubbing may replace a secret of many lines (a private key) by one. Citations name lines of the file as it is, so each
line of the scrubbed text keeps the range of lines it came from. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

_EXACT_MAX_LINES: Final = 5_000  # of changed region; beyond it lining up could take minutes


@dataclass(frozen=True, slots=True)
class LineMap:
    """`ranges[i]` are the first and last original line (from 1) of scrubbed line i + 1; empty: nothing moved."""

    ranges: tuple[tuple[int, int], ...] = ()

    def original(self, first: int, last: int) -> tuple[int, int]:
        """The original lines for scrubbed lines `first` to `last`, all inclusive and from 1."""
        if not self.ranges:
            return first, last
        return self.ranges[first - 1][0], self.ranges[last - 1][1]


def line_map(original: str, scrubbed: str) -> LineMap:
    """Line up both texts. Where they differ in length, a line stands for all the lines it may have come from."""
    if original.count("\n") == scrubbed.count("\n"):
        return LineMap()
    before, after = original.split("\n"), scrubbed.split("\n")
    head = _common_start(before, after)
    tail = min(_common_start(before[::-1], after[::-1]), len(before) - head, len(after) - head)
    ranges = [(line, line) for line in range(1, head + 1)]
    ranges += _changed(before[head : len(before) - tail], after[head : len(after) - tail], head)
    ranges += [(line, line) for line in range(len(before) - tail + 1, len(before) + 1)]
    return LineMap(tuple(ranges))


def _common_start(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _changed(before: Sequence[str], after: Sequence[str], offset: int) -> list[tuple[int, int]]:
    if max(len(before), len(after)) > _EXACT_MAX_LINES:
        return [_range(offset, 0, len(before))] * len(after)
    ranges: list[tuple[int, int]] = []
    for _, i, i_end, j, j_end in SequenceMatcher(None, before, after).get_opcodes():
        if i_end - i == j_end - j:
            ranges += [(offset + line, offset + line) for line in range(i + 1, i_end + 1)]
        else:
            ranges += [_range(offset, i, i_end)] * (j_end - j)
    return ranges


def _range(offset: int, start: int, end: int) -> tuple[int, int]:
    """Original lines for the half-open `start` to `end`; an empty one stands for the line before it."""
    first = offset + start + 1 if end > start else max(1, offset + start)
    return first, max(first, offset + end)
