"""Paradigms: all forms of the word that a form belongs to. Only for indexing; its dictionaries take a second to load.

Nothing here may be imported on the query path.
"""

from collections.abc import Mapping
from functools import cache
from itertools import groupby
from typing import Final

_NONE: Final = ()


class Paradigms:
    """What one language's dictionary knows about inflection."""

    def __init__(self, lemma_of: Mapping[str, str]) -> None:
        self._lemma_of = lemma_of
        pairs = sorted((lemma, form) for form, lemma in lemma_of.items())
        self._forms = {lemma: tuple(form for _, form in group) for lemma, group in groupby(pairs, lambda pair: pair[0])}

    def forms(self, word: str) -> tuple[str, ...]:
        """Every known form of the word, itself included, sorted; empty for a word that is not in the dictionary."""
        lemma = self._lemma_of.get(word) or self._lemma_of.get(word.lower()) or self._lemma_of.get(word.capitalize())
        return self._forms.get(lemma, _NONE) if lemma else _NONE


@cache
def paradigms(code: str) -> Paradigms | None:
    """None for a language without a dictionary."""
    from simplemma.strategies.dictionaries import dictionary_factory as source  # half a second, and only for indexing

    if code not in source.SUPPORTED_LANGUAGES:
        return None
    return Paradigms(source.DefaultDictionaryFactory().get_dictionary(code))
