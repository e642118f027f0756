"""Keys of words, for the second lexical column: `databázemi` finds `databáze` by them, and `send` finds `sendAsync`.

A document's word is stored under the key of every form it can take, so that a query needs rules only: no dictionary,
and no table of forms that would outlive the documents it was made from.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from index.text import czech
from index.text.fold import fold, words
from index.text.languages import Language, chosen, spoken
from index.text.pieces import is_unspaced, joined, pairs, parts, spaced
from index.text.stemmers import stemmer

WORDS_VERSION: Final = 1
"""Part of the fingerprint: raise it with every change that gives some document or query other keys."""

_LONGEST_WORD: Final = 40  # longer ones are hashes and encoded data, found by their exact form only
_MOST_STEMS: Final = 6  # of one word in one language; irregular verbs have more
_SHORTEST_INFLECTED: Final = 3
_MEMO: Final = 65_536

Groups = tuple[tuple[str, ...], ...]


class Keys:
    """The keys of one set of languages. The same languages and `WORDS_VERSION` give the same keys everywhere.

    `query_keys` and `query_groups` load stemmers only; `document_keys` loads the dictionaries of languages it meets.
    """

    def __init__(self, languages: Iterable[str]) -> None:
        """Codes as in `index.text.languages`; an unknown one is a `ConfigError`."""
        self.languages = chosen(languages)
        self._of_written: Callable[[str, tuple[Language, ...]], tuple[str, ...]]
        self._of_written = lru_cache(_MEMO)(_keys_of_written)
        self._of_asked: Callable[[str], Groups] = lru_cache(_MEMO // 16)(self._groups_of_asked)

    def document_keys(self, text: str) -> str:
        """The keys of all words of a text, separated by blanks, in the order of the words."""
        text = unicodedata.normalize("NFC", text)
        found = words(text)
        languages = spoken(found, text, self.languages)
        keys: list[str] = []
        for word in found:
            keys += self._of_written(word, languages)
        keys += map(fold, joined(text))
        return " ".join(keys)

    def query_groups(self, text: str) -> Groups:
        """One group for each word, identifier part or pair of letters of `text`; the keys in it are alternatives."""
        return self._of_asked(unicodedata.normalize("NFC", text))

    def query_keys(self, word: str) -> tuple[str, ...]:
        """All keys that a word of a query may be stored under, each once."""
        return tuple(dict.fromkeys(key for group in self.query_groups(word) for key in group))

    def _groups_of_asked(self, text: str) -> Groups:
        groups: dict[tuple[str, ...], None] = {}
        for word in words(text):
            for piece in _pieces(word):
                groups[tuple(dict.fromkeys(_stem(piece, language) for language in self.languages))] = None
            groups.update(((pair,), None) for pair in map(fold, pairs(word)))
        groups.update(((fold(whole),), None) for whole in joined(text))
        return tuple(groups)


def _keys_of_written(word: str, languages: tuple[Language, ...]) -> tuple[str, ...]:
    keys: dict[str, None] = {}
    for piece in _pieces(word):
        for language in languages:
            keys.update(dict.fromkeys(_stems(piece, language)))
    keys.update(dict.fromkeys(map(fold, pairs(word))))
    return tuple(keys)


def _pieces(word: str) -> list[str]:
    """A word and the parts of it that are words."""
    if len(word) > _LONGEST_WORD:
        return []
    whole = spaced(word) if is_unspaced(word) else [word]
    return [piece for run in whole for piece in (run, *parts(run))]


def _stem(word: str, language: Language) -> str:
    """The key that a word has by rule."""
    if language.stemmer is None:
        return czech.strip(fold(word))
    return fold(stemmer(language.stemmer)(word.lower()))


def _stems(word: str, language: Language) -> list[str]:
    """The keys that the word has in all its forms: its own, and those of forms with another stem, often used first."""
    from index.text.lemmas import paradigms  # loads a dictionary; a query never comes here

    own = _stem(word, language)
    known = paradigms(language.code)
    if known is None or len(word) < _SHORTEST_INFLECTED or fold(word) in language.function_words:
        return [own]
    others = Counter(_stem(form, language) for form in known.forms(word) if form.isalpha())
    others.pop(own, None)
    return [own, *sorted(others, key=lambda stem: (-others[stem], stem))][:_MOST_STEMS]
