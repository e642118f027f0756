"""Letters and words: how a text falls into words, and what a word looks like without case and marks.

Two views of the same text. `tokens` is what SQLite's tokenizer `unicode61 remove_diacritics 2` makes of it, so that
a document frequency can be looked up. `fold` goes further (ł, ø, ß, æ, full-width letters) and is for our own keys.
"""

import re
import unicodedata
from typing import Final

MARKS: Final = "\u0300-\u036f"
WORD: Final = re.compile(rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*")
"""A run of letters and digits with the marks above them; the underscore separates, as it does for SQLite."""

_MARK: Final = re.compile(f"[{MARKS}]+")
_LETTERS: Final = str.maketrans(
    {
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "ħ": "h",
        "ı": "i",
        "ŧ": "t",
        "ĸ": "k",
        "ŋ": "n",
    }
)


def fold(word: str) -> str:
    """Without case, marks and letter variants: `Łódź` becomes `lodz`, `Straße` becomes `strasse`. Idempotent."""
    if word.isascii():
        return word.lower()
    bare = _MARK.sub("", unicodedata.normalize("NFKD", word.casefold()))
    return _MARK.sub("", unicodedata.normalize("NFKC", bare).casefold()).translate(_LETTERS)


def words(text: str) -> list[str]:
    """The words of a text in order, as written."""
    return WORD.findall(text)


def tokens(text: str) -> list[str]:
    """The words of a text as the lexical index stores them."""
    return [_as_stored(word) for word in WORD.findall(text)]


def has_word(text: str) -> bool:
    return WORD.search(text) is not None


def _as_stored(word: str) -> str:
    if word.isascii():
        return word.lower()
    composed = unicodedata.normalize("NFC", word)
    return "".join(map(_stored_letter, _MARK.sub("", composed)))


def _stored_letter(letter: str) -> str:
    """SQLite folds case letter by letter, and marks on letters of the Latin alphabet alone."""
    base = unicodedata.normalize("NFD", letter)[0]
    if base.isascii():
        return base.lower()
    folded = letter.casefold()
    return folded if len(folded) == 1 else letter.lower()[0]
