"""How often tokens stand in a few chunks, by their tallies: where a list of all their postings would be far longer."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from index.engines.sqlite.asked import Counts
from index.text.tally import KEYS, TEXT, TITLE, Tallies, number_of


class Wanted(Struct, frozen=True):
    """Tokens: as typed, of titles and bodies, and keys."""

    typed: frozenset[str]
    keys: frozenset[str]


def numbered(tokens: Collection[str]) -> dict[int, str]:
    """The tokens by their numbers. Of two that share one, either."""
    return {number_of(token): token for token in sorted(tokens)}


def counted(tallies: Tallies, wanted: Wanted) -> Counts:
    typed, keys = numbered(wanted.typed), numbered(wanted.keys)

    def of(column: int, tokens: dict[int, str], asked: Collection[str]) -> dict[str, dict[int, float]]:
        found: dict[str, dict[int, float]] = {token: {} for token in asked}
        for chunk, numbers in zip(tallies.chunks, tallies.column(column), strict=True):
            for number in filter(tokens.__contains__, numbers):
                times = found[tokens[number]]
                times[chunk] = times.get(chunk, 0) + 1
        return found

    return Counts(of(TITLE, typed, wanted.typed), of(TEXT, typed, wanted.typed), of(KEYS, keys, wanted.keys))


def in_a_row(tallies: Tallies, tokens: Sequence[str]) -> list[int]:
    """The chunks whose title or text has the tokens, one or more, one after the other."""
    wanted = [number_of(token) for token in tokens]

    def has(numbers: Sequence[int]) -> bool:
        starts = (place for place, number in enumerate(numbers) if number == wanted[0])
        return any(list(numbers[place : place + len(wanted)]) == wanted for place in starts)

    columns = zip(tallies.chunks, tallies.column(TITLE), tallies.column(TEXT), strict=True)
    return [chunk for chunk, title, text in columns if has(title) or has(text)]
