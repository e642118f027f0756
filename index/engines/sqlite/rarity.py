"""In how many chunks a word stands, where counting all of them would be too dear: judged by a sample of the chunks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from index.engines.sqlite.asked import Sought
from index.engines.sqlite.statistics import Sample, Statistics
from index.store import postings
from index.store.driver import Connection
from index.store.scope import Range

COUNTED_FIRST: Final = 500
"""Chunks in which a word is counted before the sample is asked whether it is beyond doubt that there are too many."""
_DOUBT: Final = 2.0


class Rarity:
    """Of the words of one ranking, inside its read transaction."""

    def __init__(self, connection: Connection, visible: tuple[Range, ...] | None, statistics: Statistics) -> None:
        self._connection = connection
        self._visible = visible
        self._statistics = statistics
        self._expected: set[str] = set()

    def expect(self, sought: Iterable[Sought]) -> None:
        """All that will be asked about, so that the sample is looked through once."""
        self._expected = {key for one in sought for key in one.keys}

    def estimate(self, sought: Sought, chunks: int) -> int:
        """In about how many of all visible chunks; at least one, since it stands somewhere.

        A word of one chunk in twenty is judged to about a tenth, which moves its weight by a thirtieth.
        """
        sample = self._sample()
        return max(1, round(sample.having_any(sought.keys) * chunks / max(1, sample.chunks)))

    def standing(self, sought: Mapping[str, Sequence[Sought]]) -> dict[str, tuple[Sought, ...]]:
        """What is sought for each text, without the keys that stand nowhere, of three languages often two.

        What is looked for in the full-text index takes its time for them as well, each time.
        """
        keys = dict.fromkeys(key for of_text in sought.values() for one in of_text for key in one.keys)
        stands = self._statistics.standing(self._connection, list(keys))

        def left(one: Sought) -> Sought:
            return replace(one, keys=tuple(key for key in one.keys if key in stands) or one.keys)

        return {text: tuple(map(left, of_text)) for text, of_text in sought.items()}

    def counted(self, sought: Sought, chunks: int, *, at_most: int) -> int:
        """Counts no further than `at_most`, and not as far as that if most parts of the index have twice as many.

        Whoever has asked about this audience before has a sample at hand, and does not count such a word at all.
        """
        expression = sought.expression

        def count(most: int) -> int:
            return postings.frequency(self._connection, expression, self._visible, at_most=most)

        def is_beyond_doubt() -> bool:
            return self._sample().is_everywhere(sought.keys, _DOUBT * at_most / chunks)

        def ask() -> int:
            if at_most <= COUNTED_FIRST:
                return count(at_most)
            has_sample = self._statistics.has_sample(self._visible)
            if has_sample and is_beyond_doubt():
                return at_most
            found = count(COUNTED_FIRST)
            if found < COUNTED_FIRST:
                return found
            return at_most if not has_sample and is_beyond_doubt() else count(at_most)

        return self._statistics.count(expression, self._visible, at_most, ask)

    def _sample(self) -> Sample:
        sample = self._statistics.sample(self._connection, self._visible)
        sample.prepare(self._expected)
        return sample
