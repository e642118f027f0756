"""How much of a question the title of a document says: what the whole of it is about.

Sections are ranked one by one, and many a page has one about "restoring" or "limitations": which page is asked about
stands in its title, so often that a word there says more than one more word in the text. Pure. Words are compared by
their keys, so `leases` finds `Lease`; function words do not count.
"""

from index.text.fold import fold, words
from index.text.languages import Language
from index.text.words import rule_keys


class Topic:
    """What one question is about: its telling words, each once."""

    def __init__(self, text: str, languages: tuple[Language, ...]) -> None:
        self._languages = languages
        function_words = frozenset().union(*(language.function_words for language in languages))
        telling = [word for word in dict.fromkeys(words(text)) if len(word) > 1 and fold(word) not in function_words]
        self._wanted = [frozenset(rule_keys(word, languages)) for word in telling]
        self._initials = {fold(word)[:1] for word in telling}

    def share(self, title: str) -> float:
        """The share of the telling words that stand in `title`, 0.0 to 1.0; 0.0 where there are none."""
        if not self._wanted:
            return 0.0
        # All forms of a word begin alike, and nine of ten words of titles otherwise: those are not stemmed.
        like = [word for word in words(title) if fold(word)[:1] in self._initials]
        keys = {key for word in like for key in rule_keys(word, self._languages)}
        return sum(not wanted.isdisjoint(keys) for wanted in self._wanted) / len(self._wanted)
