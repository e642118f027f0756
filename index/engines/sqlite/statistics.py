"""What earlier questions found and stays true as long as nothing is written: sources, and counts of words and vectors.

Counts belong to the ranges that an audience sees. What is kept is bounded, and a change of the file empties it.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from index.store import tallies
from index.store.driver import Connection
from index.store.postings import SAMPLES, sample, standing
from index.store.scope import Range
from index.store.store import Source, sources
from index.text.tally import KEYS, Tallies, number_of

_MOST_COUNTS: Final = 8_192
_MOST_AUDIENCES: Final = 256
_MOST_SAMPLES: Final = 4
"""The words of one sample take some 3 MB."""

Visible = tuple[Range, ...] | None


class Sample:
    """Some visible chunks from all parts of the index: which keys stand in which of them.

    Of the first question its own keys are looked for, which takes a fifth of the time: a search may be all there is.
    """

    def __init__(self, of: Tallies) -> None:
        self.chunks = len(of.chunks)
        self._keys = list(of.column(KEYS))
        self._known: set[int] | None = set()  # None: all
        self._chunks_of: Mapping[int, Sequence[int]] = {}
        self._in_parts: dict[tuple[str, ...], Sequence[int]] = {}

    def prepare(self, keys: set[str]) -> None:
        """What is asked next is about these keys."""
        if self._known is None or (numbers := set(map(number_of, keys))) <= self._known:
            return
        self._known = None if self._known else numbers
        self._chunks_of = _chunks_of(self._keys, self._known)
        self._in_parts.clear()
        if self._known is None:
            self._keys = []

    def having_any(self, keys: tuple[str, ...]) -> int:
        """In how many of the chunks any of the keys stands, all of them prepared."""
        return sum(self._having_any(keys))

    def is_everywhere(self, keys: tuple[str, ...], share: float) -> bool:
        """Whether of most parts of the index more than this share of the chunks has any of the keys."""
        return sum(number > share * self.chunks / SAMPLES for number in self._having_any(keys)) > SAMPLES / 2

    def _having_any(self, keys: tuple[str, ...]) -> Sequence[int]:
        """In each part of the index. The same common words are in question after question."""
        if keys not in self._in_parts:
            if len(self._in_parts) >= _MOST_COUNTS:
                self._in_parts.clear()
            having = set().union(*(self._chunks_of.get(number_of(key), ()) for key in keys))
            in_part = Counter(chunk * SAMPLES // self.chunks for chunk in having)
            self._in_parts[keys] = [in_part[part] for part in range(SAMPLES)]
        return self._in_parts[keys]


def _chunks_of(keys: Sequence[Sequence[int]], wanted: set[int] | None) -> Mapping[int, Sequence[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    for chunk, numbers in enumerate(keys):
        for number in set(numbers) if wanted is None else wanted.intersection(numbers):
            found[number].append(chunk)
    return found


class Statistics:
    """Of one index file, for one connection."""

    def __init__(self) -> None:
        self._state: tuple[int, int] | None = None
        self._sources: list[Source] | None = None
        self._audiences: dict[Visible, Visible] = {}
        self._counts: OrderedDict[tuple[str, Visible, int], int] = OrderedDict()
        self._samples: OrderedDict[Visible, Sample] = OrderedDict()
        self._stands: dict[str, bool] = {}
        self._waiting: dict[Visible, int] = {}

    def check(self, connection: Connection) -> None:
        """Forget everything if the file has changed, by whomever. Inside the read transaction that asks next."""
        [(version,)] = connection.execute("PRAGMA data_version").fetchall()
        state = (int(version), connection.total_changes)
        if state != self._state:
            self._audiences.clear()
            self._counts.clear()
            self._samples.clear()
            self._stands.clear()
            self._waiting.clear()
            self._sources = None
            self._state = state

    def sources(self, connection: Connection) -> list[Source]:
        """All of them, by key: read anew with a thousand rooms, they would take longer than many a question."""
        if self._sources is None:
            self._sources = sources(connection)
        return self._sources

    def count(self, expression: str, visible: Visible, at_most: int, ask: Callable[[], int]) -> int:
        """What `ask` says, which counts no further than `at_most`."""
        name = (expression, visible, at_most)
        if name not in self._counts:
            # The same ranges for all questions of an audience: they may be thousands, and each question brings its own.
            if len(self._audiences) >= _MOST_AUDIENCES:
                self._audiences.clear()
            self._counts[expression, self._audiences.setdefault(visible, visible), at_most] = ask()
            if len(self._counts) > _MOST_COUNTS:
                self._counts.popitem(last=False)
        self._counts.move_to_end(name)
        return self._counts[name]

    def standing(self, connection: Connection, keys: Collection[str]) -> set[str]:
        """Those of the keys that stand anywhere at all."""
        if unknown := [key for key in keys if key not in self._stands]:
            if len(self._stands) > _MOST_COUNTS:
                self._stands.clear()
                unknown = list(keys)
            found = standing(connection, unknown)
            self._stands.update((key, key in found) for key in unknown)
        return {key for key in keys if self._stands[key]}

    def waiting(self, visible: Visible, ask: Callable[[], int]) -> int:
        """What `ask` says: how many parts of visible chunks have no vector yet."""
        if visible not in self._waiting:
            if len(self._waiting) >= _MOST_AUDIENCES:
                self._waiting.clear()
            self._waiting[visible] = ask()
        return self._waiting[visible]

    def has_sample(self, visible: Visible) -> bool:
        return visible in self._samples

    def sample(self, connection: Connection, visible: Visible) -> Sample:
        if visible not in self._samples:
            self._samples[visible] = Sample(tallies.read(connection, sample(connection, visible)))
            if len(self._samples) > _MOST_SAMPLES:
                self._samples.popitem(last=False)
        self._samples.move_to_end(visible)
        return self._samples[visible]
