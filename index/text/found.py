"""Where the words of a question stand in a text: as typed, inflected, inside an identifier, or as a part of a word.

For showing, not for ranking: it goes by rules alone, so an irregular form that the index found may stay unmarked.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

from index.model import Query
from index.text.fold import GAPS, fold, tokens, words
from index.text.languages import Language, spoken
from index.text.pieces import is_unspaced, parts
from index.text.words import Keys, rule_keys

_SHORTEST_PART: Final = 3
_HEAD: Final = 2
_PHRASE_WEIGHT: Final = 3.0
_FUNCTION_WEIGHT: Final = 0.1
_MOST_MIXES: Final = 8  # of languages, remembered at once
_REMEMBERED: Final = 16_384  # words
_LONGEST_REMEMBERED: Final = 40  # longer ones hardly come again
_MOST_SOUGHT: Final = 32
"""Words of one text that are looked for one by one; of more, all words of the text are passed along at once."""


class Found(NamedTuple):
    """A place of the term number `term`: code points `start` up to, not including, `end`."""

    start: int
    end: int
    term: int


class Finder:
    """Finds the included terms of some queries. One Finder serves all hits of a search."""

    def __init__(self, queries: Iterable[Query], keys: Keys) -> None:
        self._keys = keys
        self._phrases: list[tuple[int, tuple[str, ...]]] = []
        self._words: dict[str, int] = {}
        self._by_key: dict[str, int] = {}
        # The first letters of all that has keys: a word that begins otherwise is passed over without making its own.
        self._heads: set[str] = set()
        self._unspaced: list[tuple[int, str]] = []
        self.weights: list[float] = []
        """What each term counts, by its number."""
        common = frozenset().union(*(language.function_words for language in keys.languages))
        self._unwanted: list[list[list[str]]] = []  # of each query, as tokens
        for query in queries:
            self._unwanted.append([found for term in query.terms if term.is_excluded and (found := tokens(term.text))])
            for term in query.terms:
                if term.is_excluded:
                    continue
                folded = tuple(map(fold, words(term.text)))
                if term.is_phrase and len(folded) > 1:
                    self._phrases.append((self._number(_PHRASE_WEIGHT), folded))
                else:
                    for written, word in zip(words(term.text), folded, strict=True):
                        self._add(written, word, common)
        self._terms = lru_cache(_MOST_MIXES)(partial(_Terms, self._term_of))
        self._last: tuple[str, list[Found]] = "", []  # a hit is asked about twice

    def _number(self, weight: float) -> int:
        self.weights.append(weight)
        return len(self.weights) - 1

    def _add(self, written: str, word: str, common: frozenset[str]) -> None:
        if word in self._words:
            return
        number = self._words[word] = self._number(_FUNCTION_WEIGHT if word in common else 1.0)
        if is_unspaced(written):
            self._heads.add(word[:_HEAD])
            self._unspaced.append((number, written))
        elif word not in common:
            for piece in (written, *parts(written)):
                self._heads.add(fold(piece)[:_HEAD])
                for key in rule_keys(piece, self._keys.languages):
                    self._by_key.setdefault(key, number)

    def refuses(self, text: str) -> bool:
        """Whether a text has what each of the queries excludes, as the index compares it: token by token."""
        if not any(self._unwanted):
            return False
        said = tokens(text)
        return all(any(_holds(said, run) for run in unwanted) for unwanted in self._unwanted)

    def places(self, text: str) -> list[Found]:
        """In the order of the text, not overlapping. Function words are left out unless nothing else was found."""
        if text != self._last[0]:
            self._last = text, self._places(text)
        return self._last[1]

    def _places(self, text: str) -> list[Found]:
        said = words(text)
        found = _whole(self._telling(said, text), said, text) + self._phrases_in(said, text) + self._unspaced_in(text)
        return _apart(found or self._parts_in(said, text) or _whole(self._exact(said), said, text))

    def _telling(self, said: list[str], text: str) -> dict[str, int]:
        """The terms, but no function words, that words of a text stand for, by those words."""
        heads = self._heads
        likely = [word for word in set(said) if (head := _heads[word]) is None or head in heads]
        terms = self._terms(spoken(said, text, self._keys.languages))
        return {word: number for word in likely if (number := terms[word]) is not None}

    def _exact(self, said: Iterable[str]) -> dict[str, int]:
        return {word: self._words[folded] for word in set(said) if (folded := fold(word)) in self._words}

    def _term_of(self, word: str, languages: tuple[Language, ...]) -> int | None:
        exact = self._words.get(fold(word))
        if exact is not None:
            return exact if self.weights[exact] > _FUNCTION_WEIGHT else None
        for piece in (word, *parts(word)):
            if fold(piece)[:_HEAD] in self._heads and (number := self._by_keys(piece, languages)) is not None:
                return number
        return None

    def _by_keys(self, piece: str, languages: tuple[Language, ...]) -> int | None:
        numbers = map(self._by_key.get, rule_keys(piece, languages))
        return next((number for number in numbers if number is not None), None)

    def _phrases_in(self, said: Sequence[str], text: str) -> list[Found]:
        if not self._phrases:
            return []
        runs = list(_runs(said, text))
        folded = [fold(word) for word in said]
        return [
            Found(runs[place][0], runs[place + len(phrase) - 1][1], number)
            for number, phrase in self._phrases
            for place in range(len(folded) - len(phrase) + 1)
            if folded[place] == phrase[0] and tuple(folded[place : place + len(phrase)]) == phrase
        ]

    def _unspaced_in(self, text: str) -> list[Found]:
        found: list[Found] = []
        for number, word in self._unspaced:
            place = text.find(word)
            while place >= 0:
                found.append(Found(place, place + len(word), number))
                place = text.find(word, place + len(word))
        return found

    def _parts_in(self, said: Sequence[str], text: str) -> list[Found]:
        """A word that stands nowhere may be the inside of one that does."""
        parts = [
            (number, word)
            for word, number in self._words.items()
            if len(word) >= _SHORTEST_PART and self.weights[number] > _FUNCTION_WEIGHT
        ]
        inside = {word: [number for number, part in parts if part in fold(word)] for word in set(said)}
        return [Found(start, end, number) for start, end, word in _runs(said, text) for number in inside[word]]


def _holds(said: Sequence[str], run: Sequence[str]) -> bool:
    return any(said[at : at + len(run)] == run for at in range(len(said) - len(run) + 1))


def _whole(numbers: Mapping[str, int], said: list[str], text: str) -> list[Found]:
    """Each place of these words of a text, where they are words and not the inside of one."""
    found = []
    if len(numbers) <= _MOST_SOUGHT:
        spaced = f" {text.translate(GAPS)} "
        for word, number in numbers.items():
            sought = f" {word} "
            start = spaced.find(sought)
            while start >= 0:
                end = start + len(word)
                found.append(Found(start, end, number))
                start = spaced.find(sought, end + 1)
        # Beside letters and marks there is more that is no ASCII, such as quotation marks.
        if text.isascii() or len(found) == sum(map(said.count, numbers)):
            return found
    return [Found(start, end, numbers[word]) for start, end, word in _runs(said, text) if word in numbers]


def _runs(said: Iterable[str], text: str) -> Iterator[tuple[int, int, str]]:
    """Where each of the words of a text begins and ends: between two of them there is nothing that begins like one."""
    end = 0
    for word in said:
        start = text.find(word, end)
        end = start + len(word)
        yield start, end, word


class _Heads(dict[str, str | None]):
    """The first letters of words as written, folded; None for a word with parts. Made when it is asked for.

    What texts are made of comes again with every question.
    """

    def __missing__(self, word: str) -> str | None:
        head = None if parts(word) else fold(word)[:_HEAD]
        if len(self) >= _REMEMBERED:
            self.clear()
        if len(word) <= _LONGEST_REMEMBERED:
            self[word] = head
        return head


_heads: Final = _Heads()


class _Terms(dict[str, int | None]):
    """The term that a word of a text in some languages stands for, of the words that the hits of a search have."""

    def __init__(self, ask: Callable[[str, tuple[Language, ...]], int | None], languages: tuple[Language, ...]) -> None:
        super().__init__()
        self._ask = ask
        self._languages = languages

    def __missing__(self, word: str) -> int | None:
        number = self[word] = self._ask(word, self._languages)
        return number


def _apart(found: list[Found]) -> list[Found]:
    """Of overlapping places the one that begins first, and of those the longest."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end, one.term)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept
