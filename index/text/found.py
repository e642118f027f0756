"""Where the words of a question stand in a text: as typed, inflected, inside an identifier, or as a part of a word.

For showing, not for ranking: it goes by rules alone, so an irregular form that the index found may stay unmarked.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

from index.model import Query, Span
from index.text.fold import fold, words
from index.text.languages import Language, spoken
from index.text.pieces import is_unspaced, parts
from index.text.words import Keys, rule_keys

_SHORTEST_PART: Final = 3
_HEAD: Final = 2
_PHRASE_WEIGHT: Final = 3.0
_FUNCTION_WEIGHT: Final = 0.1
_MOST_MIXES: Final = 8  # of languages, remembered at once


class Found(NamedTuple):
    """A place of the term number `term`."""

    span: Span
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
        for query in queries:
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

    def _number(self, weight: float) -> int:
        self.weights.append(weight)
        return len(self.weights) - 1

    def _add(self, written: str, word: str, common: frozenset[str]) -> None:
        if word in self._words:
            return
        number = self._words[word] = self._number(_FUNCTION_WEIGHT if word in common else 1.0)
        if is_unspaced(written):
            self._unspaced.append((number, written))
        elif word not in common:
            for piece in (written, *parts(written)):
                self._heads.add(fold(piece)[:_HEAD])
                for key in rule_keys(piece, self._keys.languages):
                    self._by_key.setdefault(key, number)

    def places(self, text: str) -> list[Found]:
        """In the order of the text, not overlapping. Function words are left out unless nothing else was found."""
        said = words(text)
        terms = self._terms(spoken(said, text, self._keys.languages))
        found: list[Found] = []
        for start, end, word in _runs(said, text):
            if (number := terms[word]) is not None:
                found.append(Found(Span(start, end), number))
        found += self._phrases_in(said, text)
        found += self._unspaced_in(text)
        telling = [one for one in found if self.weights[one.term] > _FUNCTION_WEIGHT]
        if not telling:
            telling = self._parts_in(said, text) or found
        return _apart(telling)

    def _term_of(self, word: str, languages: tuple[Language, ...]) -> int | None:
        exact = self._words.get(fold(word))
        if exact is not None:
            return exact
        for piece in (word, *parts(word)):
            if fold(piece)[:_HEAD] in self._heads:
                for key in rule_keys(piece, languages):
                    if key in self._by_key:
                        return self._by_key[key]
        return None

    def _phrases_in(self, said: Sequence[str], text: str) -> list[Found]:
        if not self._phrases:
            return []
        runs = list(_runs(said, text))
        folded = [fold(word) for word in said]
        return [
            Found(Span(runs[place][0], runs[place + len(phrase) - 1][1]), number)
            for number, phrase in self._phrases
            for place in range(len(folded) - len(phrase) + 1)
            if folded[place] == phrase[0] and tuple(folded[place : place + len(phrase)]) == phrase
        ]

    def _unspaced_in(self, text: str) -> list[Found]:
        found: list[Found] = []
        for number, word in self._unspaced:
            place = text.find(word)
            while place >= 0:
                found.append(Found(Span(place, place + len(word)), number))
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
        return [Found(Span(start, end), number) for start, end, word in _runs(said, text) for number in inside[word]]


def _runs(said: Iterable[str], text: str) -> Iterator[tuple[int, int, str]]:
    """Where each of the words of a text begins and ends: between two of them there is nothing that begins like one."""
    end = 0
    for word in said:
        start = text.find(word, end)
        end = start + len(word)
        yield start, end, word


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
    for one in sorted(found, key=lambda one: (one.span.start, -one.span.end, one.term)):
        if not kept or one.span.start >= kept[-1].span.end:
            kept.append(one)
    return kept
