"""Paradigms: all forms of the word that a form belongs to. Only for indexing; its dictionaries take a second to load.

Nothing here may be imported on the query path.
"""

import gc
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

_NONE: Final[Sequence[str]] = ()
_GROUP_BITS: Final = 24  # of an entry; more lemmas than any language has
_HASH_MASK: Final = (1 << (64 - _GROUP_BITS)) - 1


class Paradigms:
    """What one language's dictionary knows about inflection, in an eighth of the memory of a `dict` of lists.

    Forms of a lemma stand in one text, each behind a line feed; entries, sorted, hold a part of a form's hash and the
    number of its text. A hash may lead astray, so that a form counts only where it is found.
    """

    def __init__(self, lemma_of: Mapping[str, str]) -> None:
        groups: dict[str, int] = {}
        sizes = array("I")
        entries = []
        for form, lemma in lemma_of.items():
            group = groups.setdefault(lemma, len(groups))
            if group == len(sizes):
                sizes.append(0)
            sizes[group] += len(form.encode()) + 1
            entries.append(_entry(form, group))
        self._ends = array("I")
        places = array("I")
        for size in sizes:
            places.append(self._ends[-1] if self._ends else 0)
            self._ends.append(places[-1] + size)
        self._text = bytearray(self._ends[-1] if self._ends else 0)
        for form, lemma in lemma_of.items():
            group, data = groups[lemma], b"\n" + form.encode()
            self._text[places[group] : places[group] + len(data)] = data
            places[group] += len(data)
        entries.sort()
        self._entries = array("Q", entries)

    def forms(self, word: str) -> Sequence[str]:
        """Every known form of the word, itself included; empty for a word that is not in the dictionary."""
        return self._with(word) or self._with(word.lower()) or self._with(word.capitalize())

    def _with(self, form: str) -> Sequence[str]:
        first = _entry(form, 0)
        for place in range(bisect_left(self._entries, first), len(self._entries)):
            if self._entries[place] >> _GROUP_BITS != first >> _GROUP_BITS:
                break
            group = self._entries[place] & ((1 << _GROUP_BITS) - 1)
            start = self._ends[group - 1] if group else 0
            forms = self._text[start : self._ends[group]].decode().split("\n")[1:]
            if form in forms:
                return forms
        return _NONE


def _entry(form: str, group: int) -> int:
    return (hash(form) & _HASH_MASK) << _GROUP_BITS | group


@cache
def paradigms(code: str) -> Paradigms:
    """Of a language that `index.text.languages` says has some."""
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory  # slow, index time only

    made = Paradigms(DefaultDictionaryFactory().get_dictionary(code))
    gc.collect()  # a factory refers to itself, and would hold its dictionary, tens of megabytes, for who knows how long
    return made
