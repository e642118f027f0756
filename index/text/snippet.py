"""The piece of a hit that is shown: where its words stand closest together, cut between words, safe to print.

Linear in the length of the text. Never cut inside a grapheme cluster or a redaction marker.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from index.model import Message, Snippet, Span
from index.text.clean import inert_line
from index.text.found import Finder, Found

WIDTH: Final = 240
_CONTEXT: Final = 60  # shown before the first found word where there is room
_BORDER_SEARCH: Final = 40  # how far a cut may move to fall between words
_REPEATED: Final = 0.05  # what a word counts that stands in the window already

_MARKER: Final = re.compile(r"‹redacted:[^‹›]{0,80}›")
_JOINER: Final = "\u200d"


def snippet(text: str, finder: Finder, *, width: int = WIDTH) -> Snippet:
    """About `width` code points of the text on one line, with the found words marked; its beginning where none is."""
    line = inert_line(text)
    found = finder.places(line)
    start, end = _window(line, found, finder.weights, width)
    while start < end and line[start] == " ":
        start += 1
    while end > start and line[end - 1] == " ":
        end -= 1
    marks = tuple(
        Span(max(one.start, start) - start, min(one.end, end) - start)
        for one in found
        if one.start < end and one.end > start
    )
    return Snippet(line[start:end], marks, cut_left=start > 0, cut_right=end < len(line))


def best_message(messages: Sequence[Message], text: str, finder: Finder) -> int | None:
    """The message that holds most of what was asked, the first of equals; None where none holds any."""
    return next(iter(best_messages(messages, text, finder)), None)


def best_messages(messages: Sequence[Message], text: str, finder: Finder) -> list[int]:
    """The best message, and behind it those that hold all that it holds of the question; empty where none holds any."""
    if not messages:
        return []
    # The line that is shown is looked at already, and nearly always of the same length: then all stands where it stood.
    line = inert_line(text)
    found = finder.places(line if len(line) == len(text) else text)
    starts = [message.span.start for message in messages]
    terms: dict[int, dict[int, int]] = {}
    for start, end, term in found:
        place = bisect_right(starts, start) - 1
        if place >= 0 and end <= messages[place].span.end:
            held = terms.setdefault(place, {})
            held[term] = held.get(term, 0) + 1
    ranked = sorted(terms, key=lambda place: (-_worth(terms[place], finder.weights), place))
    return [place for place in ranked if terms[place].keys() >= terms[ranked[0]].keys()]


def _worth(terms: Mapping[int, int], weights: Sequence[float]) -> float:
    return sum(weights[term] * (1 + _REPEATED * min(count - 1, 5)) for term, count in terms.items())


def _window(line: str, found: Sequence[Found], weights: Sequence[float], width: int) -> tuple[int, int]:
    if len(line) <= width:
        return 0, len(line)
    first, last = _densest(found, weights, width) if found else (0, 0)
    spare = max(0, width - (last - first))
    start = max(0, first - min(_CONTEXT, spare // 2)) if found else 0
    end = min(len(line), max(start + width, last))
    start = max(0, min(start, end - width))
    return _between_words(line, start, end, first, last)


def _densest(found: Sequence[Found], weights: Sequence[float], width: int) -> tuple[int, int]:
    """From the first to the last found word of the window that holds the most; the earliest of equals."""
    best = -1.0
    result = (0, 0)
    held: defaultdict[int, int] = defaultdict(int)
    score = 0.0
    left = 0
    for one in found:
        score += weights[one.term] * (_REPEATED if held[one.term] else 1.0)
        held[one.term] += 1
        while left < len(found) and one.end - found[left].start > width and found[left] is not one:
            gone = found[left]
            held[gone.term] -= 1
            score -= weights[gone.term] * (_REPEATED if held[gone.term] else 1.0)
            left += 1
        if score > best + 1e-9:
            best = score
            result = (found[left].start, one.end)
    return result


def _between_words(line: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """Move both cuts inwards to a blank, not into the found words; where there is none, as in code, to a word's border,
    and where nothing of that kind is near, to a border of clusters.
    """
    if start > 0:
        blank = line.find(" ", start - 1, min(start + _BORDER_SEARCH, max(first, start)))
        start = blank + 1 if blank >= 0 else _word_start(line, start, first)
    if end < len(line):
        blank = line.rfind(" ", max(end - _BORDER_SEARCH, last), end + 1)
        end = blank if blank > start else _word_end(line, end, max(last, start))
    start, end = _cluster_start(line, start), _cluster_start(line, end)
    for marker in _MARKER.finditer(line, max(0, start - 100), min(len(line), end + 100)):
        if marker.start() < start < marker.end():
            start = marker.start()
        if marker.start() < end < marker.end():
            end = marker.end()
    return start, end


def _word_start(line: str, place: int, last: int) -> int:
    """The nearest one up to `last`, else the one of the word that `place` is in."""
    behind = range(place, min(last, place + _BORDER_SEARCH) + 1)
    before = range(place - 1, max(-1, place - _BORDER_SEARCH), -1)
    return next((at for at in (*behind, *before) if _is_of_word(line, at) and not _is_of_word(line, at - 1)), place)


def _word_end(line: str, place: int, first: int) -> int:
    """The nearest one down to `first`; where there is none the word is cut."""
    before = range(place, max(first, place - _BORDER_SEARCH) - 1, -1)
    return next((at for at in before if _is_of_word(line, at - 1) and not _is_of_word(line, at)), place)


def _is_of_word(line: str, place: int) -> bool:
    if not 0 <= place < len(line):
        return False
    letter = line[place]
    return letter.isalnum() or letter == "_" or unicodedata.category(letter)[0] == "M"


def _cluster_start(line: str, place: int) -> int:
    """The nearest place at or before `place` that is not inside of what is seen as one character."""
    while 0 < place < len(line) and not _is_border(line, place):
        place -= 1
    return place


def _is_border(line: str, place: int) -> bool:
    before, here = line[place - 1], line[place]
    if here == _JOINER or before == _JOINER or unicodedata.combining(here) or unicodedata.category(here)[0] == "M":
        return False
    if "\U0001f3fb" <= here <= "\U0001f3ff" or "\u1160" <= here <= "\u11ff":
        return False
    if _is_flag(here) and _is_flag(before):
        run = 0
        while place - run > 0 and _is_flag(line[place - run - 1]):
            run += 1
        return run % 2 == 0
    return True


def _is_flag(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"
