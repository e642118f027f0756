"""Keys of words, for the second lexical column: `databázemi` finds `databáze` by them, and `send` finds `sendAsync`.

A document's word is stored under the key of every form it can take, so that a query needs rules only: no dictionary,
and no table of forms that would outlive the documents it was made from.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
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
_MEMO: Final = 16_384  # words; four times as many save 1 word in 300 from being looked at again, and take 20 MB more

Groups = tuple[tuple[str, ...], ...]


class Keys:
    """The keys of one set of languages. The same languages and `WORDS_VERSION` give the same keys everywhere.

    `query_keys` and `query_groups` load stemmers only; `document_keys` loads the dictionaries of languages it meets.
    """

    def __init__(self, languages: Iterable[str], *, forms_dir: Path | None = None) -> None:
        """Codes as in `index.text.languages`; an unknown one is a `ConfigError`.

        Dictionaries are kept in `forms_dir` as `index.text.lemmas` packs them.
        """
        self.languages = chosen(languages)
        self._written: Callable[[str, tuple[Language, ...]], tuple[str, ...]] = lru_cache(_MEMO)(
            partial(_keys_of_written, forms_dir=forms_dir)
        )
        self._asked: Callable[[str], Groups] = lru_cache(_MEMO // 4)(self._groups)

    def document_keys(self, text: str) -> str:
        """The keys of all words of a text, separated by blanks; those of compounds written as one word come last."""
        text = unicodedata.normalize("NFC", text)
        found = words(text)
        languages = spoken(found, text, self.languages)
        written = self._written
        return " ".join([key for word in chain(found, joined(text)) for key in written(word, languages)])

    def query_groups(self, text: str) -> Groups:
        """One group for each word, identifier part, compound or pair of letters; the keys in it are alternatives."""
        return self._asked(unicodedata.normalize("NFC", text))

    def query_keys(self, word: str) -> tuple[str, ...]:
        """All keys that a word of a query may be stored under, each once."""
        return tuple(dict.fromkeys(key for group in self.query_groups(word) for key in group))

    def _groups(self, text: str) -> Groups:
        groups: dict[tuple[str, ...], None] = {}
        for word in words(text):
            groups.update((rule_keys(piece, self.languages), None) for piece in _pieces(word))
            groups.update(((fold(pair),), None) for pair in pairs(word))
        groups.update((rule_keys(whole, self.languages), None) for whole in joined(text))
        return tuple(groups)


def rule_keys(word: str, languages: Iterable[Language]) -> tuple[str, ...]:
    """The keys of one word, not of its parts, in some languages, by their rules alone."""
    return tuple(_key(_stem(word, language), language) for language in languages)


def _keys_of_written(word: str, languages: tuple[Language, ...], forms_dir: Path | None) -> tuple[str, ...]:
    keys: dict[str, None] = {}
    for piece in _pieces(word):
        for language in languages:
            keys.update((_key(stem, language), None) for stem in _stems(piece, language, forms_dir))
    keys.update((fold(pair), None) for pair in pairs(word))
    return tuple(keys)


def _key(stem: str, language: Language) -> str:
    """Keys of two languages never meet: the German stem of `notes` is the English word `not`."""
    return f"{language.code}0{stem}"


def _pieces(word: str) -> list[str]:
    """A word and the parts of it that are words."""
    if len(word) > _LONGEST_WORD:
        return []
    whole = spaced(word) if is_unspaced(word) else [word]
    return [piece for run in whole for piece in (run, *parts(run))]


def _stem(word: str, language: Language) -> str:
    if language.stemmer is None:
        return czech.strip(fold(word))
    return fold(stemmer(language.stemmer)(word.lower()))


def _stems(word: str, language: Language, forms_dir: Path | None) -> list[str]:
    """The stem of the word, and those that other forms of it have, the more common ones first."""
    own = _stem(word, language)
    if not language.has_paradigms or len(word) < _SHORTEST_INFLECTED or fold(word) in language.function_words:
        return [own]
    from index.text.lemmas import paradigms  # loads a dictionary; a query never comes here

    # Other first letters are negations, suppletion and mistakes of the dictionary: none of them the same word.
    head = fold(word)[:1]
    forms = (
        form for form in paradigms(language.code, forms_dir).forms(word) if form.isalpha() and fold(form)[:1] == head
    )
    others = Counter(_stem(form, language) for form in forms)
    others.pop(own, None)
    return [own, *sorted(others, key=lambda stem: (-others[stem], stem))][:_MOST_STEMS]
