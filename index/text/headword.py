"""Whether a heading is the word that a question asks for: `what is a lease` is answered under `Lock and lease`.

Pure. Words are compared by their keys, so `leases` finds `Lease`; function words count on neither side.
"""

from collections.abc import Iterable
from typing import Final

from index.text.fold import fold, words
from index.text.languages import Language
from index.text.routing import Route
from index.text.words import rule_keys

_LEAST_SHARE: Final = 0.5
"""A heading that only mentions the word among others is about something else."""


class Headword:
    """What one question of the shape of `route` asks for."""

    def __init__(self, text: str, route: Route, languages: tuple[Language, ...]) -> None:
        self.route = route
        self._languages = languages
        self._function_words = frozenset().union(*(language.function_words for language in languages))
        shape = {fold(atom.strip("*")) for phrase in route.phrases for atom in phrase.split()}
        asked = [word for word in words(text) if fold(word) not in shape]
        self._subject = [frozenset(rule_keys(word, languages)) for word in self._telling(asked)]

    def lift(self, heading: str) -> float:
        """What a hit under `heading` is multiplied by: the whole factor where it is nothing but what is asked for."""
        share = self.share(heading)
        return 1.0 + (self.route.heading_factor - 1.0) * share if share >= _LEAST_SHARE else 1.0

    def share(self, heading: str) -> float:
        """How much of `heading` the asked words are, if every one of them stands in it, else 0."""
        own = self._telling(words(heading))
        if not self._subject or not own:
            return 0.0
        keys = {key for word in own for key in rule_keys(word, self._languages)}
        if any(wanted.isdisjoint(keys) for wanted in self._subject):
            return 0.0
        return min(1.0, len(self._subject) / len(own))

    def _telling(self, found: Iterable[str]) -> list[str]:
        return [word for word in found if len(word) > 1 and fold(word) not in self._function_words]
