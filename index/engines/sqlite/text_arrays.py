"""How often tokens stand in texts, in numpy: all are compared at once, as numbers of eight bytes each."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy
from numpy.typing import NDArray

from index.engines.sqlite import texts
from index.engines.sqlite.asked import Counts
from index.engines.sqlite.numbers import Keys, Numbers
from index.engines.sqlite.texts import BETWEEN, END, Wanted, rows
from index.store.postings import Text

_BLOCK: Final = 32
"""Texts at once: the arrays of more leave the cache of the processor, and memory is asked for anew for each of them."""
_WIDTH: Final = 8
_MOST_NUMBERS: Final = 8
_BEHIND: Final = " " * (_MOST_NUMBERS + 1) * _WIDTH
_MASKS: Final = numpy.array([(1 << 8 * held) - 1 for held in range(_WIDTH + 1)], dtype="<u8")
_FACTOR: Final = numpy.uint64(0x9E37_79B9_7F4A_7C15)
_MARK_BITS: Final = 12
_SHIFT: Final = numpy.uint64(64 - _MARK_BITS)

Places = NDArray[numpy.intp]
Words = NDArray[numpy.uint64]


def counted(of: Mapping[int, Text], wanted: Wanted) -> Counts:
    """As `texts.counted`."""
    asked = _Asked(wanted.typed | wanted.keys)
    if not asked.is_distinct:
        return texts.counted(of, wanted)
    chunks = list(of)
    columns = [_Column(chunks, len(asked.place)) for _ in range(3)]
    for first in range(0, len(chunks), _BLOCK):
        block = rows({chunk: of[chunk] for chunk in chunks[first : first + _BLOCK]})
        table = asked.times(BETWEEN.join([row.tokens for row in block]), sum(len(row.chunks) for row in block))
        for number, (column, row) in enumerate(zip(columns, block, strict=True)):
            width = len(row.chunks)
            column.add(row.chunks, table[:-1, number * width : (number + 1) * width])
    title, body, keys = columns
    place = asked.place
    return Counts(title.times(place, wanted.typed), body.times(place, wanted.typed), keys.times(place, wanted.keys))


class _Asked:
    """The tokens to be counted, and `END`, each as its length in bytes and the numbers that its bytes are."""

    def __init__(self, tokens: Collection[str]) -> None:
        self.place = {token: number for number, token in enumerate(tokens)}
        written = [token.encode() for token in (*tokens, END)]
        longest = max(map(len, written))
        self._numbers = min(-(-longest // _WIDTH), _MOST_NUMBERS)
        at_each_byte, starts, lengths = _tokens(" ".join((*tokens, END)))
        marks, self._own = _marked(at_each_byte, starts, lengths, self._numbers)
        self.is_distinct = longest <= _MOST_NUMBERS * _WIDTH and len(starts) == len(written) == len(numpy.unique(marks))
        """Two tokens of one mark are as good as never met; one of several words is only in a key of a rare ligature."""
        self._lengths = lengths
        self._order = numpy.argsort(marks)
        self._marks = marks[self._order]
        self._is_likely = numpy.zeros(1 << _MARK_BITS, dtype=bool)
        self._is_likely[self._own[0] * _FACTOR >> _SHIFT] = True

    def times(self, text: str, width: int) -> Places:
        """How often each of the tokens stands in each of the texts, `width` of them with `END` between."""
        at_each_byte, starts, lengths = _tokens(text)
        heads = at_each_byte[starts]
        heads &= _MASKS[numpy.minimum(lengths, _WIDTH)]
        heads *= _FACTOR
        heads >>= _SHIFT
        likely = numpy.flatnonzero(self._is_likely[heads])
        lengths = lengths[likely]
        marks, numbers = _marked(at_each_byte, starts[likely], lengths, self._numbers)
        which = self._order[numpy.minimum(numpy.searchsorted(self._marks, marks), len(self._marks) - 1)]
        is_same = self._lengths[which] == lengths
        for own, other in zip(self._own, numbers, strict=True):
            is_same &= own[which] == other
        which = which[is_same]
        is_end = which == len(self.place)
        where = numpy.cumsum(is_end)
        height = len(self.place) + 1
        counts = numpy.bincount((which * width + where)[~is_end], minlength=height * width)
        return counts.reshape(height, width)


def _tokens(text: str) -> tuple[Words, Places, Places]:
    """The number that begins at each byte, where tokens between two blanks each begin, and how long they are.

    Between two blanks side by side is one of no length, and behind the last token there are as many as it takes.
    """
    data = f" {text}{_BEHIND}".encode()
    starts = numpy.flatnonzero(numpy.frombuffer(data, numpy.uint8) == ord(" "))
    lengths = numpy.diff(starts)
    lengths -= 1
    starts += 1
    past = len(data) - len(_BEHIND)
    count = int(numpy.searchsorted(starts, past))
    return numpy.ndarray(len(data) - _WIDTH + 1, "<u8", data, strides=(1,)), starts[:count], lengths[:count]


def _marked(at_each_byte: Words, starts: Places, lengths: Places, numbers: int) -> tuple[Words, list[Words]]:
    """For each token a mark that another one hardly has, and its numbers."""
    marks = lengths.astype("<u8")
    found = []
    for at in range(0, _WIDTH * numbers, _WIDTH):
        number = at_each_byte[starts + at] & _MASKS[numpy.clip(lengths - at, 0, _WIDTH)]
        found.append(number)
        marks = (marks ^ number) * _FACTOR
    return marks, found


class _Column:
    """What was counted in titles, bodies or keys."""

    def __init__(self, chunks: Collection[int], tokens: int) -> None:
        self._chunks: Keys = numpy.array(sorted(chunks), dtype=numpy.int64)
        self._table: Places = numpy.zeros((tokens, len(self._chunks)), dtype=numpy.intp)

    def add(self, chunks: Sequence[int], table: Places) -> None:
        self._table[:, numpy.searchsorted(self._chunks, numpy.array(chunks, dtype=numpy.int64))] = table

    def times(self, place: Mapping[str, int], wanted: Collection[str]) -> dict[str, Numbers]:
        found = dict.fromkeys(wanted, Numbers(self._chunks[:0], numpy.zeros(0)))
        totals: Places = self._table.sum(axis=1)
        for token in wanted:
            if totals[place[token]]:
                of_token = self._table[place[token]]
                held = numpy.flatnonzero(of_token)
                found[token] = Numbers(self._chunks[held], of_token[held].astype(numpy.float64))
        return found
