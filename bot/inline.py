"""Text of strangers made safe to repeat in a room, and one text written twice: plain, and as a small set of HTML.

Pure. Nothing that was not written by this program becomes a tag, a link or a mention.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from index.model import Snippet, Span
from index.text.clean import inert_line

_BREAK: Final = "\u200b"
_PINGS: Final = re.compile(r"@|%(?=40)|matrix:(?=/{0,2}u)", re.IGNORECASE)
"""What a client may take for a mention: `@room`, a user id, a link to one. A zero-width blank behind it undoes that."""


@dataclass(frozen=True, slots=True)
class Words:
    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """In plain text it is the address itself. `url` is composed by this program and begins with https."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class LineEnd:
    pass


END: Final = LineEnd()
Piece = Words | Link | LineEnd


def plain(pieces: Sequence[Piece]) -> str:
    return "".join(_plain(piece) for piece in pieces)


def formatted(pieces: Sequence[Piece]) -> str:
    return "".join(_formatted(piece) for piece in pieces)


def _plain(piece: Piece) -> str:
    match piece:
        case Words(text):
            return text
        case Link(_, url):
            return url
        case LineEnd():
            return "\n"


def _formatted(piece: Piece) -> str:
    match piece:
        case Words(text, is_marked):
            # <strong>, not <b>: there are clients that show only the former.
            return f"<strong>{escape(text)}</strong>" if is_marked else escape(text)
        case Link(label, url):
            return f'<a href="{escape(url)}">{escape(label)}</a>'
        case LineEnd():
            return "<br>"


def harmless(text: str) -> str:
    """On one line, without control or invisible characters, and without anything that notifies somebody."""
    return _PINGS.sub(lambda found: found[0] + _BREAK, inert_line(text))


def harmless_snippet(snippet: Snippet) -> Snippet:
    """The same for a snippet, which is one inert line already; the marks move with the text."""
    breaks = [found.end() for found in _PINGS.finditer(snippet.text)]

    def moved(place: int) -> int:
        return place + sum(end < place for end in breaks)

    marks = tuple(Span(moved(mark.start), moved(mark.end)) for mark in snippet.marks)
    text = _PINGS.sub(lambda found: found[0] + _BREAK, snippet.text)
    return Snippet(text, marks, snippet.cut_left, snippet.cut_right)


def snippet_words(snippet: Snippet) -> Iterator[Words]:
    """A harmless snippet with its marks, and an ellipsis where it was cut."""
    if snippet.cut_left:
        yield Words("… ")
    end = 0
    for mark in sorted(snippet.marks, key=lambda mark: mark.start):
        if mark.start < end or mark.end <= mark.start:
            continue
        if mark.start > end:
            yield Words(snippet.text[end : mark.start])
        yield Words(snippet.text[mark.start : mark.end], is_marked=True)
        end = mark.end
    if snippet.text[end:]:
        yield Words(snippet.text[end:])
    if snippet.cut_right:
        yield Words(" …")
