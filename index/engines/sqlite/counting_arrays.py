"""How often tokens stand in chunks, in numpy: all numbers of all tallies are looked at at once."""

from collections.abc import Collection, Sequence
from typing import Final

import numpy

from index.engines.sqlite.asked import Counts
from index.engines.sqlite.counting import Wanted, numbered
from index.engines.sqlite.numbers import Keys, Numbers
from index.text.tally import COLUMNS, KEYS, TEXT, TITLE, Tallies, number_of

_LIKELY_BITS: Final = numpy.uint32(0xFFF)


def counted(tallies: Tallies, wanted: Wanted) -> Counts:
    """As `counting.counted`; the chunks are in the order of their keys."""
    typed, keys = numbered(wanted.typed), numbered(wanted.keys)
    asked = numpy.array(sorted(typed.keys() | keys.keys()), dtype=numpy.uint32)
    bounds = tallies.bounds
    numbers = numpy.frombuffer(tallies.data, "<u4")
    is_likely = numpy.zeros(int(_LIKELY_BITS) + 1, dtype=bool)
    is_likely[asked & _LIKELY_BITS] = True
    places = numpy.flatnonzero(is_likely.take(numbers & _LIKELY_BITS))  # sooner than by brackets
    which = numpy.searchsorted(asked, numbers[places])
    is_same = asked[numpy.minimum(which, len(asked) - 1)] == numbers[places]
    columns = numpy.searchsorted(bounds, places[is_same], side="right") - 1
    times = numpy.bincount(which[is_same] * (len(bounds) - 1) + columns, minlength=len(asked) * (len(bounds) - 1))
    table = times.reshape(len(asked), len(tallies.chunks), COLUMNS)
    chunks = numpy.array(tallies.chunks, dtype=numpy.int64)

    def of(column: int, tokens: dict[int, str], asked_for: Collection[str]) -> dict[str, Numbers]:
        found = dict.fromkeys(asked_for, Numbers(chunks[:0], numpy.zeros(0)))
        rows = numpy.searchsorted(asked, numpy.array(list(tokens), dtype=numpy.uint32))
        for row, token in zip(rows.tolist(), tokens.values(), strict=True):
            held = numpy.flatnonzero(table[row, :, column])
            found[token] = Numbers(chunks[held], table[row, held, column].astype(numpy.float64))
        return found

    return Counts(of(TITLE, typed, wanted.typed), of(TEXT, typed, wanted.typed), of(KEYS, keys, wanted.keys))


def in_a_row(tallies: Tallies, tokens: Sequence[str]) -> Keys:
    """As `counting.in_a_row`."""
    numbers = numpy.frombuffer(tallies.data, "<u4")
    first, *others = map(number_of, tokens)
    places = numpy.flatnonzero(numbers == first)
    places = places[places + len(others) < len(numbers)]
    for further, number in enumerate(others, start=1):
        places = places[numbers[places + further] == number]
    columns = numpy.searchsorted(tallies.bounds, places, side="right") - 1
    ends = numpy.searchsorted(tallies.bounds, places + len(others), side="right") - 1
    is_inside = (columns == ends) & numpy.isin(columns % COLUMNS, (TITLE, TEXT))
    return numpy.unique(numpy.array(tallies.chunks, dtype=numpy.int64)[columns[is_inside] // COLUMNS])
