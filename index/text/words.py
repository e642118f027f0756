"""Keys of words, for the second lexical column: `databázemi` finds `databáze` by them, and `send` finds `sendAsync`.

A document's word is stored under the key of every form it can take, so that a query needs rules only: no dictionary,
and no table of forms that would outlive the documents it was made from.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from index.text import czech
from index.text.fold import fold, words
from index.text.languages import KNOWN, Language, chosen
from index.text.pieces import is_unspaced, joined, pairs, parts, spaced
from index.text.stemmers import stemmer
from index.text.vocabulary import Keyed, Vocabulary

WORDS_VERSION: Final = 1
"""Part of the fingerprint: raise it with every change that gives some document or query other keys."""

_LONGEST_WORD: Final = 40  # longer ones are hashes and encoded data, found by their exact form only
_MOST_STEMS: Final = 6  # of one word in one language; irregular verbs have more
_SHORTEST_INFLECTED: Final = 3
REMEMBERED: Final = 32_768
"""Words of texts. 530 pages of documentation have 22,825; with half as many remembered, each was looked at twice."""
MEMO: Final = 4_096
"""Of what is asked, and of what has many forms."""

Groups = tuple[tuple[str, ...], ...]


class Keys:
    """The keys of one set of languages. The same languages and `WORDS_VERSION` give the same keys everywhere.

    `query_keys` and `query_groups` load stemmers only; the others load the dictionaries of languages they meet.
    """

    def __init__(
        self, languages: Iterable[str], *, forms_dir: Path | None = None, remembered: int = REMEMBERED
    ) -> None:
        """Codes as in `index.text.languages`; an unknown one is a `ConfigError`.

        Dictionaries are kept in `forms_dir` as `index.text.lemmas` packs them. The `remembered` words that came last
        are not looked at again.
        """
        self.languages = chosen(languages)
        self._vocabulary = Vocabulary(
            self.languages, partial(_keys_of_written, forms_dir=forms_dir), remembered=remembered
        )
        self._asked: Callable[[str], Groups] = lru_cache(MEMO)(self._groups)

    def document_keys(self, title: str, text: str) -> Keyed:
        """What the lexical index stores beside a title line and a text: the keys of each of their words.

        Those of compounds written as one word come last.
        """
        return self._vocabulary.read(title, text)

    def keys_of_text(self, text: str) -> str:
        """The keys alone, with blanks between."""
        return self.document_keys("", text).keys

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


def rule_keys(word: str, languages: tuple[Language, ...]) -> tuple[str, ...]:
    """The keys of one word, not of its parts, in some languages, by their rules alone."""
    return _remembered_keys(word, languages) if len(word) <= _LONGEST_WORD else _rule_keys(word, languages)


def _rule_keys(word: str, languages: tuple[Language, ...]) -> tuple[str, ...]:
    return tuple([_key(_stem(word, language), language) for language in languages])


_remembered_keys: Final = lru_cache(MEMO)(_rule_keys)
"""What is asked, and what titles and texts have beside it, comes again."""


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
    if not language.has_paradigms or len(word) < _SHORTEST_INFLECTED:
        return [own]
    folded = fold(word)
    if folded in language.function_words or not (forms := _forms(language, forms_dir)(word)):
        return [own]
    others = [stem for stem in _stems_of_forms(tuple(forms), folded[:1], language) if stem != own]
    return [own, *others[: _MOST_STEMS - 1]]


@lru_cache(len(KNOWN))
def _forms(language: Language, forms_dir: Path | None) -> Callable[[str], Sequence[str]]:
    from index.text.lemmas import paradigms  # loads a dictionary; a query never comes here

    return paradigms(language.code, forms_dir).forms


@lru_cache(MEMO)  # a text that has one form of a word has others
def _stems_of_forms(forms: tuple[str, ...], head: str, language: Language) -> list[str]:
    """Of all forms of one word, the more common stems first.

    Other first letters are negations, suppletion and mistakes of the dictionary: none of them the same word.
    """
    folded = fold("\n".join(forms)).split("\n")  # all at once: each has a dozen
    alike = [(form, bare) for form, bare in zip(forms, folded, strict=True) if bare[:1] == head and form.isalpha()]
    if language.stemmer is None:
        stems = Counter([czech.strip(bare) for _, bare in alike])
    else:
        stems = Counter([_stem(form, language) for form, _ in alike])
    return sorted(stems, key=lambda stem: (-stems[stem], stem))
