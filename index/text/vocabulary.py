"""What the index makes of the words of a text, each word remembered with its share in that: most come again.

A text costs one look for each of its words, for its place in some columns; the rest is picked out of these. What a word
is stored under depends on the languages of its text, which are known only when all of its words are.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct

from index.text.fold import token_of, words
from index.text.languages import Language, spoken_by, votes_of
from index.text.pieces import joined
from index.text.tally import numbers_of, tally_of_numbers

_LONGEST_REMEMBERED: Final = 40  # longer ones are hashes and encoded data, and hardly come again
_MOST_MIXES: Final = 8  # of languages, remembered at once
_NOTHING: Final = 0
"""The place that no word has."""

Mix = tuple[Language, ...]


class Keyed(Struct, frozen=True):
    """What of a title line and a text is searched by words. `size` counts the words of both."""

    size: int
    keys: str
    tally: bytes


class Vocabulary:
    """The words of texts in some of `languages`. `keys_of` gives the keys of a word in those of its text.

    What came in no text while `remembered` other words came in is forgotten, before the next text.
    """

    def __init__(self, languages: Mix, keys_of: Callable[[str, Mix], Iterable[str]], *, remembered: int) -> None:
        self._languages = languages
        self._keys_of = keys_of
        self._remembered = remembered
        self._table = _Table(languages)

    def read(self, title: str, text: str) -> Keyed:
        """Keys stand in the order of their words; those of compounds written as one word come last."""
        table = self._table = self._table.renewed(self._remembered)
        whole = f"{title}\n{text}"
        written = words(whole)
        of_written = table.places(written)
        composed = unicodedata.normalize("NFC", whole)
        said = written if composed == whole else words(composed)
        of_said = of_written if said is written else table.places(said)
        mix = spoken_by(sum(_picked(of_said)(table.votes)), composed, self._languages)
        if compounds := list(joined(composed)):
            said, of_said = said + compounds, of_said + table.places(compounds)
        keys, numbers = table.keyed(mix)
        pick = _picked(of_said)
        try:
            stored = "".join(pick(keys))
        except TypeError:  # some are none yet
            table.key(zip(said, of_said, strict=True), mix, self._keys_of)
            stored = "".join(pick(keys))
        size, in_title = len(written), len(words(title))
        tally = tally_of_numbers(in_title, size - in_title, _picked(of_written)(table.numbers) + pick(numbers))
        table.pass_over()
        return Keyed(size, stored[:-1], tally)


class _Table(dict[str, int]):
    """The places of words in its columns, made when they are asked for. One that is there costs no call of ours."""

    def __init__(self, languages: Mix, former: "_Table | None" = None) -> None:
        super().__init__()
        self._languages = languages
        self._former = former
        self.votes: list[int] = [0]
        self.numbers: list[bytes] = [b""]
        self._keyed: dict[Mix, tuple[list[str | None], list[bytes]]] = {}  # the last was used last
        self._passing: list[int] = []

    def __missing__(self, word: str) -> int:
        place = len(self.votes)
        former = self._former
        if former is not None and (there := former.get(word)) is not None:
            self.votes.append(former.votes[there])
            self.numbers.append(former.numbers[there])
        else:
            self.votes.append(votes_of(word, self._languages))
            self.numbers.append(numbers_of([token_of(word)]))
        if len(word) <= _LONGEST_REMEMBERED:
            self[word] = place
        else:
            self._passing.append(place)
        return place

    def places(self, found: Sequence[str]) -> list[int]:
        return list(map(self.__getitem__, found))

    def keyed(self, mix: Mix) -> tuple[list[str | None], list[bytes]]:
        """The keys of all words in these languages, a blank behind each; None: not asked for yet. And their numbers."""
        columns = self._keyed.pop(mix, None)
        if columns is None:
            if len(self._keyed) == _MOST_MIXES:
                del self._keyed[next(iter(self._keyed))]
            columns = [""], [b""]
        self._keyed[mix] = columns
        if lacking := len(self.votes) - len(columns[0]):
            columns[0].extend([None] * lacking)
            columns[1].extend([b""] * lacking)
        return columns

    def key(self, said: Iterable[tuple[str, int]], mix: Mix, keys_of: Callable[[str, Mix], Iterable[str]]) -> None:
        """Make the keys that are lacking of these words."""
        keys, numbers = self.keyed(mix)
        for word, place in said:
            if keys[place] is None:
                known = self._former._known(word, mix) if self._former is not None else None
                if known is None:
                    made = "".join([f"{key} " for key in keys_of(word, mix)])
                    known = made, numbers_of(made.split())
                keys[place], numbers[place] = known

    def _known(self, word: str, mix: Mix) -> tuple[str, bytes] | None:
        place = self.get(word)
        if place is None or mix not in self._keyed:
            return None
        keys, numbers = self._keyed[mix]
        key = keys[place] if place < len(keys) else None
        return None if key is None else (key, numbers[place])

    def pass_over(self) -> None:
        """Forget what long words have in the columns."""
        for place in self._passing:
            self.numbers[place] = b""
            for keys, numbers in self._keyed.values():
                if place < len(keys):
                    keys[place], numbers[place] = "", b""
        self._passing.clear()

    def renewed(self, remembered: int) -> "_Table":
        """Itself, or where it has too many words an empty one that knows those of this one."""
        if len(self.votes) <= remembered:
            return self
        self._former = None
        return _Table(self._languages, self if len(self.votes) <= 2 * remembered else None)


def _picked(places: Sequence[int]) -> "itemgetter[tuple[Any, ...]]":
    """Picks out of a column what stands at these places, after two times nothing: of one alone it gives no tuple."""
    return itemgetter(_NOTHING, _NOTHING, *places)
