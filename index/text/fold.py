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

GAPS: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
"""For `str.translate`: what separates the words of a text that is all ASCII, as blanks."""
_GAP_BYTES: Final = bytes(ord(GAPS.get(code, chr(code))) for code in range(256))
"""The same for bytes of UTF-8."""
_MOST_GAPS: Final = 100
"""Different signs that are made blanks one by one, each in the whole text: of more, `WORD` is sooner."""
_ASCII: Final = bytes(range(128))
_MARK: Final = re.compile(f"[{MARKS}]+")
_MARKS: Final = frozenset(map(chr, range(ord(MARKS[0]), ord(MARKS[-1]) + 1)))
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
    return word.translate(_LATIN) if max(word) < _PAST_LATIN else _fold(word)


def _fold(word: str) -> str:
    bare = _MARK.sub("", unicodedata.normalize("NFKD", word.casefold()))
    return _MARK.sub("", unicodedata.normalize("NFKC", bare).casefold()).translate(_LETTERS)


class _Latin(dict[int, str]):
    """What letters become that neither stand above others nor meet with them; made when they are met."""

    def __missing__(self, letter: int) -> str:
        folded = self[letter] = _fold(chr(letter))
        return folded


_LATIN: Final = _Latin()
_PAST_LATIN: Final = "\u0250"


def words(text: str) -> list[str]:
    """The words of a text in order, as written: what `WORD` finds, but sooner where there are no marks."""
    if not text.isascii():
        others = set(beyond_ascii(text))
        gaps = [other for other in others if not other.isalnum()]
        if len(gaps) > _MOST_GAPS or not _MARKS.isdisjoint(others):
            return WORD.findall(text)
        for gap in gaps:
            text = text.replace(gap, " ")
    return text.encode().translate(_GAP_BYTES).decode().split()


def beyond_ascii(text: str) -> str:
    """What of a text is not ASCII."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def tokens(text: str) -> list[str]:
    """The words of a text as the lexical index stores them."""
    return [word.lower() if word.isascii() else token_of(word) for word in words(text)]


def has_word(text: str) -> bool:
    return WORD.search(text) is not None


def token_of(word: str) -> str:
    """One of `words` as the lexical index stores it."""
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
