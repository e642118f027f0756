"""What is known from earlier questions and stays true as long as nothing is written: counts of words.

Counts belong to the ranges that an audience sees. What is kept is bounded, and a change of the file empties it.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from index.store.driver import Connection
from index.store.postings import sample
from index.store.scope import Range

_MOST_COUNTS: Final = 8_192
_MOST_AUDIENCES: Final = 256
_MOST_SAMPLES: Final = 4
"""The words of one sample take some 5 MB."""

Visible = tuple[Range, ...] | None


class Sample:
    """Some visible chunks from all parts of the index: which keys stand in which of them.

    Of the first question its own keys are looked for, which takes a fifth of the time: a search may be all there is.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.chunks = len(keys)
        self._keys = keys
        self._was_asked = False
        self._chunks_of: Mapping[str, Sequence[int]] | None = None

    def having_any(self, groups: Collection[Collection[str]]) -> list[int]:
        """In how many of the chunks any of the keys stands, for each group of keys."""
        chunks_of = self._chunks_of
        if chunks_of is None:
            wanted = None if self._was_asked else {key for keys in groups for key in keys}
            chunks_of = _chunks_of(self._keys, wanted)
            if self._was_asked:
                self._chunks_of, self._keys = chunks_of, ()
            self._was_asked = True
        return [len(set().union(*(chunks_of.get(key, ()) for key in keys))) for keys in groups]


def _chunks_of(listed: Sequence[str], wanted: set[str] | None) -> Mapping[str, Sequence[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for chunk, text in enumerate(listed):
        for key in set(text.split()) if wanted is None else wanted.intersection(text.split()):
            found[key].append(chunk)
    return found


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
