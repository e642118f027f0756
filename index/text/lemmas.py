"""Paradigms: all forms of the word that a form belongs to. Only for indexing; its dictionaries take a second to load.

Nothing here may be imported on the query path.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

_NONE: Final[Sequence[str]] = ()


class Paradigms:
    """What one language's dictionary knows about inflection."""

    def __init__(self, lemma_of: Mapping[str, str]) -> None:
        self._lemma_of = lemma_of
        self._forms: dict[str, list[str]] = {}
        for form, lemma in lemma_of.items():
            self._forms.setdefault(lemma, []).append(form)

    def forms(self, word: str) -> Sequence[str]:
        """Every known form of the word, itself included; empty for a word that is not in the dictionary."""
        lemma = self._lemma_of.get(word) or self._lemma_of.get(word.lower()) or self._lemma_of.get(word.capitalize())
        return self._forms.get(lemma, _NONE) if lemma else _NONE


@cache
def paradigms(code: str) -> Paradigms:
    """Of a language that `index.text.languages` says has some."""
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory  # slow, index time only

    return Paradigms(DefaultDictionaryFactory().get_dictionary(code))
