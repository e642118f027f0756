"""Text too large for one chunk in slices: between lines where that is possible, else inside of a line.

Pure. Nothing is lost: the slices of a line, one behind the other, are that line. Sizes are UTF-8 bytes.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from index.text.parts import safe_cut

_BLANK_WITHIN: Final = 0.75  # of a slice: a blank further ahead is no reason to end it
_LONGEST_CHARACTER: Final = 64  # code points; what goes on joining for longer is nothing that anybody reads


class Line(NamedTuple):
    """`number` is that of the line in its page."""

    number: int
    text: str


def slices(lines: Sequence[Line], max_bytes: int) -> Iterator[list[Line]]:
    """Runs of lines, each at most `max_bytes` with its line ends; an overlong line is in several, in as many pieces."""
    run: list[Line] = []
    filled = 0
    for number, text in lines:
        size = _size(text) + 1
        is_overlong = size > max_bytes
        if run and filled + (max_bytes // 2 if is_overlong else size) > max_bytes:
            yield run
            run, filled = [], 0
        if is_overlong:  # begins below what is there, such as its heading, and nothing but its end has lines below it
            *fronts, text = _pieces(text, max_bytes - filled - 1, max_bytes - 1)
            for piece in fronts:
                yield [*run, Line(number, piece)]
                run, filled = [], 0
            size = _size(text) + 1
        run.append(Line(number, text))
        filled += size
    if run:
        yield run


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _pieces(line: str, first_bytes: int, max_bytes: int) -> Iterator[str]:
    """The first of at most `first_bytes`, the others of at most `max_bytes`."""
    start, room = 0, first_bytes
    while start < len(line):
        end = start + _fitting(line[start : start + room], room)
        if end < len(line):
            end = start + _border(line[start:end])
        yield line[start:end]
        start, room = end, max_bytes


def _fitting(text: str, max_bytes: int) -> int:
    """How many of its code points fit, one at least."""
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= max_bytes:
        return len(text)
    end = max_bytes
    while end and encoded[end] & 0xC0 == 0x80:  # inside of a code point
        end -= 1
    return max(1, len(encoded[:end].decode("utf-8", "surrogatepass")))


def _border(text: str) -> int:
    """Where to end a slice that could be all of `text`: behind a blank, else between characters as one sees them."""
    blank = text.rfind(" ", int(len(text) * _BLANK_WITHIN))
    if blank >= 0:
        return blank + 1
    return safe_cut(text, max(1, len(text) - _LONGEST_CHARACTER))
