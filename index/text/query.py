"""What a person typed, read into words, phrases and filters. The same in the room, the shell and MCP.

    "lost update" postgres -mysql from:@alice:example.org after:7d

Only these operators are special; anything else that looks like one (`std::vector`, `http://x`, `foo:bar`) is a word,
and so are `--flag`, `-f` and `-5`. Operators alone ask for what they leave, newest first. In prose, such as a message
that was pasted, quotation marks and minus signs are punctuation: of 170 questions asked in public rooms 25 quote
something, and hardly an answer repeats it. Pure: the clock comes in.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from index.errors import QueryError
from index.model import Filters, Query, Term
from index.text.filters import OPERATORS, FilterBuilder
from index.text.fold import fold, has_word

MOST_TEXTS: Final = 8
MOST_BYTES: Final = 1_000
MOST_TERMS: Final = 32
MOST_WORDS_WITH_SYNTAX: Final = 10
"""A text of more words, besides phrases and exclusions, is prose."""

_CLOSING: Final = {'"': '"', "„": '“”"', "“": "”", "”": "”", "«": "»", "»": "«", "‟": "”"}
_QUOTES: Final = frozenset({*_CLOSING, *"".join(_CLOSING.values())})
_UNQUOTED: Final = dict.fromkeys(map(ord, _QUOTES), " ")
_OPERATOR: Final = re.compile(rf"-?({'|'.join(OPERATORS)}):(?=\S)", re.IGNORECASE)
_NO_EXCLUSION: Final = re.compile(r"-(?:\d[\d.,]*|\w)(?!\w)|--|-(?=\s|$)")
_RUN: Final = re.compile(r"\S+")
_CLEAN: Final[dict[int, str | None]] = {
    **dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029), " "),
    **dict.fromkeys((0x061C, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF)),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
"""Controls separate, what is invisible is dropped, half a letter is shown as one that could not be read."""
_HELP: Final = (
    'holds no word to look for (write words, "a phrase", -without; narrow with from: in: repo: kind: section: tag:'
    " area: confidence: before: after: has:link corpus:, which alone list what is newest)"
)


def parse_many(texts: Sequence[str], *, now_ms: int) -> tuple[Query, ...]:
    """One to eight texts, in order; one that means the same as an earlier one is left out.

    One of operators alone has no part in a fusion: it stands by itself.
    """
    if not texts:
        raise QueryError("texts: there is none (give one to eight)")
    if len(texts) > MOST_TEXTS:
        raise QueryError(f"texts: there are {len(texts)} of them (give at most {MOST_TEXTS})")
    names = ["text"] if len(texts) == 1 else [f"text {number}" for number in range(1, len(texts) + 1)]
    read = [parse(text, now_ms=now_ms, field=name) for text, name in zip(texts, names, strict=True)]
    queries = tuple(dict.fromkeys(read))
    for name, query in zip(names, read, strict=True):
        if query.is_listing and len(queries) > 1:
            raise QueryError(f"{name}: holds operators alone (ask for it by itself, or give it a word to look for)")
    return queries


def parse(text: str, *, now_ms: int, field: str = "text") -> Query:
    """Raises `QueryError`, which calls the text `field`: too long, nothing to look for, a bad operator."""
    size_bytes = len(text.encode("utf-8", "surrogatepass"))
    if size_bytes > MOST_BYTES:
        raise QueryError(f"{field}: is {size_bytes} bytes long (at most {MOST_BYTES} bytes; shorten it)")
    filters = FilterBuilder(now_ms=now_ms, field=field)
    terms: dict[Term, None] = {}
    for piece in _without_syntax_in_prose(list(_pieces(_cleaned(text)))):
        if piece.operator is not None:
            filters.add(piece.operator, piece.text, is_excluded=piece.is_excluded)
        elif has_word(piece.text):
            terms[Term(piece.text, is_phrase=piece.is_phrase, is_excluded=piece.is_excluded)] = None
    kept = _within_limit(list(terms))
    words = " ".join(term.text for term in terms if not term.is_excluded)
    narrowed = filters.built()
    if not words and (terms or narrowed == Filters()):
        raise QueryError(f"{field}: {_HELP}")
    return Query(text=words, terms=kept, filters=narrowed)


class _Piece(Struct, frozen=True):
    text: str
    operator: str | None = None
    is_phrase: bool = False
    is_excluded: bool = False


def _cleaned(text: str) -> str:
    return unicodedata.normalize("NFC", text.translate(_CLEAN))


def _pieces(text: str) -> Iterator[_Piece]:
    place = 0
    while run := _RUN.search(text, place):
        start = run.start()
        if operator := _OPERATOR.match(text, start):
            value, place = _value(text, operator.end())
            yield _Piece(value, operator=operator[1].lower(), is_excluded=operator[0].startswith("-"))
            continue
        is_excluded = text[start] == "-" and not _NO_EXCLUSION.match(text, start)
        if is_excluded:
            start += 1
        phrase = _quoted(text, start)
        if phrase is not None:
            inside, place = phrase
            yield _Piece(" ".join(inside.split()), is_phrase=True, is_excluded=is_excluded)
            continue
        place = _end_of_word(text, start, run.end())
        # A quotation mark without its partner is no syntax: what it stands in falls into words.
        for word in text[start:place].translate(_UNQUOTED).split():
            yield _Piece(word, is_excluded=is_excluded)


def _without_syntax_in_prose(pieces: list[_Piece]) -> list[_Piece]:
    plain = sum(not (piece.operator or piece.is_phrase or piece.is_excluded) for piece in pieces)
    if plain <= MOST_WORDS_WITH_SYNTAX:
        return pieces
    return [
        part
        for piece in pieces
        for part in ((piece,) if piece.operator else (_Piece(word) for word in piece.text.split()))
    ]


def _value(text: str, start: int) -> tuple[str, int]:
    quoted = _quoted(text, start)
    if quoted is not None:
        return " ".join(quoted[0].split()), quoted[1]
    run = _RUN.match(text, start)
    return (run[0], run.end()) if run else ("", start)


def _quoted(text: str, start: int) -> tuple[str, int] | None:
    """The inside of a quotation that opens at `start`, and where it ends; None where none opens or it never closes."""
    closing = _CLOSING.get(text[start : start + 1])
    if closing is None:
        return None
    ends = [end for mark in closing if (end := text.find(mark, start + 1)) > 0]
    return (text[start + 1 : min(ends)], min(ends) + 1) if ends else None


def _end_of_word(text: str, start: int, end: int) -> int:
    """A word ends before a blank, or before a quotation that begins inside of it, as in `say:"so what"`."""
    for place in range(start + 1, end):
        if text[place] in _QUOTES and _quoted(text, place) is not None:
            return place
    return end


def _within_limit(terms: list[Term]) -> tuple[Term, ...]:
    """Not more than can be looked up: phrases and exclusions first, then the longer words, which are the rarer ones."""
    once = list({(fold(term.text), term.is_phrase, term.is_excluded): term for term in reversed(terms)}.values())[::-1]
    if len(once) <= MOST_TERMS:
        return tuple(once)
    weight = [(term.is_phrase or term.is_excluded, len(term.text)) for term in once]
    best = sorted(range(len(once)), key=lambda place: weight[place], reverse=True)[:MOST_TERMS]
    return tuple(once[place] for place in sorted(best))
