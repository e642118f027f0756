"""How often tokens stand in a row of texts, in numpy: all are compared at once, as numbers of eight bytes each."""

from collections.abc import Collection
from typing import Final

import numpy
from numpy.typing import NDArray

from index.engines.sqlite import texts
from index.engines.sqlite.numbers import Numbers, numbers_of
from index.engines.sqlite.texts import END, Row

_WIDTH: Final = 8
_MASKS: Final = numpy.array([(1 << 8 * held) - 1 for held in range(_WIDTH + 1)], dtype="<u8")
_FACTOR: Final = numpy.uint64(0x9E37_79B9_7F4A_7C15)
_MARK_BITS: Final = numpy.uint64(12)

Places = NDArray[numpy.intp]


class _Tokens:
    """The tokens of a text with blanks between them, each as its length in bytes and its first `numbers` numbers."""

    def __init__(self, text: str, numbers: int) -> None:
        data = f" {text} ".encode() + bytes(_WIDTH * numbers)
        blanks = numpy.flatnonzero(numpy.frombuffer(data, numpy.uint8) == ord(" "))
        lengths = numpy.diff(blanks) - 1
        is_token = lengths > 0
        self.starts: Places = blanks[:-1][is_token] + 1
        self.lengths: Places = lengths[is_token]
        at_each_byte = numpy.ndarray(len(data) - _WIDTH + 1, "<u8", data, strides=(1,))
        self.numbers: list[NDArray[numpy.uint64]] = []
        self.marks = self.lengths.astype("<u8")
        """Different for different tokens, as good as always."""
        for at in range(0, _WIDTH * numbers, _WIDTH):
            number = at_each_byte[self.starts + at] & _MASKS[numpy.clip(self.lengths - at, 0, _WIDTH)]
            self.numbers.append(number)
            self.marks = (self.marks ^ number) * _FACTOR

    def among(self, asked: "_Tokens") -> tuple[Places, Places]:
        """Which of the tokens are among those asked for, and which of these each is."""
        order = numpy.argsort(asked.marks)
        marks = asked.marks[order]
        shift = numpy.uint64(64) - _MARK_BITS
        is_likely = numpy.zeros(1 << int(_MARK_BITS), dtype=bool)
        is_likely[marks >> shift] = True
        likely = numpy.flatnonzero(is_likely[self.marks >> shift])
        which = order[numpy.minimum(numpy.searchsorted(marks, self.marks[likely]), len(marks) - 1)]
        is_same = self.lengths[likely] == asked.lengths[which]
        for own, other in zip(self.numbers, asked.numbers, strict=True):
            is_same &= own[likely] == other[which]
        return likely[is_same], which[is_same]


def times(row: Row, wanted: Collection[str]) -> dict[str, Numbers]:
    """As `texts.times`."""
    asked = [token for token in wanted if token and " " not in token and END not in token]
    chunks = numpy.array(row.chunks, dtype=numpy.int64)
    none = Numbers(chunks[:0], numpy.zeros(0))
    if not (asked and len(chunks)):
        return dict.fromkeys(wanted, none)
    numbers = -(-max(len(token.encode()) for token in asked) // _WIDTH)
    sought = _Tokens(" ".join(asked), numbers)
    if len(numpy.unique(sought.marks)) < len(asked):
        return {token: numbers_of(found) for token, found in texts.times(row, wanted).items()}
    tokens = _Tokens(row.tokens, numbers)
    places, which = tokens.among(sought)
    ends = tokens.starts[(tokens.lengths == 1) & (tokens.numbers[0] == ord(END))]
    where = numpy.searchsorted(ends, tokens.starts[places])
    counts = numpy.bincount(which * len(chunks) + where, minlength=len(asked) * len(chunks))
    order = numpy.argsort(chunks)
    chunks = chunks[order]
    table = counts.reshape(len(asked), len(chunks))[:, order].astype(numpy.float64)
    found = {
        token: Numbers(chunks[held], of_token[held])
        for token, of_token in zip(asked, table, strict=True)
        if (held := of_token > 0).any()
    }
    return dict.fromkeys(wanted, none) | found
