"""What is known from earlier questions and stays true as long as nothing is written: counts of words.

Counts belong to the ranges that an audience sees. What is kept is bounded, and a change of the file empties it.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import or_
from typing import Final

from index.store.driver import Connection
from index.store.postings import sample
from index.store.scope import Range

_MOST_COUNTS: Final = 8_192
_MOST_AUDIENCES: Final = 256
_MOST_SAMPLES: Final = 4
"""The words of one sample take some 2 MB, and what was looked for in it as much."""
_MOST_KEYS: Final = 1_000
_FEW_KEYS: Final = 10

Visible = tuple[Range, ...] | None


class Sample:
    """Some visible chunks from all parts of the index: which keys stand in which of them."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.chunks = len(keys)
        self._keys = [f" {listed} " for listed in keys]
        self._found: dict[str, int] = {}  # of each key asked for a byte for each chunk, 1 in those that have it

    def having_any(self, groups: Collection[Collection[str]]) -> list[int]:
        """In how many of the chunks any of the keys stands, for each group of keys."""
        if len(self._found) > _MOST_KEYS:
            self._found.clear()
        self._look_for({key for keys in groups for key in keys if key not in self._found})
        return [reduce(or_, (self._found[key] for key in keys), 0).bit_count() for keys in groups]

    def _look_for(self, wanted: set[str]) -> None:
        """A text of many keys falls into them as quickly as ten of them are looked for."""
        if len(wanted) <= _FEW_KEYS:
            for key in wanted:
                there = f" {key} "
                self._found[key] = int.from_bytes(there in listed for listed in self._keys)
            return
        have = [wanted.intersection(listed.split()) for listed in self._keys]
        for key in wanted:
            self._found[key] = int.from_bytes(key in held for held in have)


class Statistics:
    """Of one index file, for one connection."""

    def __init__(self) -> None:
        self._state: tuple[int, int] | None = None
        self._audiences: dict[Visible, Visible] = {}
        self._counts: OrderedDict[tuple[str, Visible, int], int] = OrderedDict()
        self._samples: OrderedDict[Visible, Sample] = OrderedDict()

    def check(self, connection: Connection) -> None:
        """Forget everything if the file has changed, by whomever. Inside the read transaction that asks next."""
        [(version,)] = connection.execute("PRAGMA data_version").fetchall()
        state = (int(version), connection.total_changes)
        if state != self._state:
            self._audiences.clear()
            self._counts.clear()
            self._samples.clear()
            self._state = state

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

    def sample(self, connection: Connection, visible: Visible) -> Sample:
        if visible not in self._samples:
            self._samples[visible] = Sample(sample(connection, visible))
            if len(self._samples) > _MOST_SAMPLES:
                self._samples.popitem(last=False)
        self._samples.move_to_end(visible)
        return self._samples[visible]
