"""Parts of a chunk: the spans that get one vector each, and the text that is embedded for one of them.

Pure. The writer, the chat windows and the evaluation share this module, so that a vector always stands for the same
text. Sizes are UTF-8 bytes, spans are code points.
"""

import re
import unicodedata
from typing import Final

from index.model import Chunk, Span

DEFAULT_PART_BYTES: Final = 500

_SHORTEST: Final = 0.6  # of the wanted length: a part may end this early for the sake of a good border
_LONGEST: Final = 1.3
# Best border first. Each match ends where the next part begins.
_BORDERS: Final = (
    re.compile(r"\n[ \t]*\n\s*"),  # a blank line
    re.compile(r"\n"),
    re.compile(r"[.!?…][)\]\"'»”’]*[ \t]+|[。！？]"),  # the end of a sentence
    re.compile(r"\s+"),
)
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f\u20e3")
_ZERO_WIDTH_JOINER: Final = "\u200d"


def cut_parts(text: str, target_bytes: int = DEFAULT_PART_BYTES) -> tuple[Span, ...]:
    """Cut `text` into spans of roughly `target_bytes` that follow each other without a gap and cover all of it.

    Cuts fall on blank lines, line ends, ends of sentences and blanks, in this order of preference, and else between
    two characters as a reader sees them: no combining or joined sequence is cut. The parts of one text are about
    equally long. Blank text has no parts.
    """
    if not text.strip():
        return ()
    size_bytes = len(text.encode("utf-8", "surrogatepass"))
    count = max(1, -(-size_bytes // max(1, target_bytes)))
    if count == 1:
        return (Span(0, len(text)),)
    wanted = max(1, -(-len(text) // count))
    spans: list[Span] = []
    start = 0
    while len(text) - start > wanted * _LONGEST:
        end = _best_cut(text, start, wanted)
        if end >= len(text):
            break
        spans.append(Span(start, end))
        start = end
    spans.append(Span(start, len(text)))
    return _without_blank_parts(text, spans)


def embedding_text(document_title: str, chunk: Chunk, span: Span) -> str:
    """What is embedded for one part: `Title > Heading > Heading`, a line break, and the part's text."""
    path = chunk.heading
    if not path or path[0] != document_title:
        path = (document_title, *path)
    prefix = " > ".join(step for step in path if step)
    text = chunk.text[span.start : span.end].strip()
    return f"{prefix}\n{text}" if prefix else text


def safe_cut(text: str, at: int, floor: int = 0) -> int:
    """The first place from `at` on where no character that a reader sees as one is cut.

    `floor` is an earlier place known to be such a border; nothing before it is looked at.
    """
    while floor < at < len(text) and _belongs_together(text, at, floor):
        at += 1
    return at


def _best_cut(text: str, start: int, wanted: int) -> int:
    aim = start + wanted
    first = start + max(1, int(wanted * _SHORTEST))
    last = min(len(text), start + max(1, int(wanted * _LONGEST)))
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, first, last)]
        if ends:
            nearest = min(ends, key=lambda end: abs(end - aim))
            return safe_cut(text, nearest, start)
    return safe_cut(text, aim, start)


def _belongs_together(text: str, at: int, floor: int) -> bool:
    before, after = text[at - 1], text[at]
    if after in _JOINERS or before == _ZERO_WIDTH_JOINER or (before == "\r" and after == "\n"):
        return True
    if after.isascii():
        return False
    if unicodedata.category(after).startswith("M") or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U000e0020" <= after <= "\U000e007f":  # tags that spell the flags of regions
        return True
    if "\u1160" <= after <= "\u11ff":  # vowels and finals of conjoining Hangul
        return True
    return _is_regional(after) and _regionals_before(text, at, floor) % 2 == 1


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _regionals_before(text: str, at: int, floor: int) -> int:
    count = 0
    while count < at - floor and _is_regional(text[at - count - 1]):
        count += 1
    return count


def _without_blank_parts(text: str, spans: list[Span]) -> tuple[Span, ...]:
    """A vector of nothing but blanks would be near everything: such a part joins its neighbour."""
    kept: list[Span] = []
    for span in spans:
        if kept and (not text[span.start : span.end].strip() or not text[kept[-1].start : kept[-1].end].strip()):
            kept[-1] = Span(kept[-1].start, span.end)
        else:
            kept.append(span)
    return tuple(kept)
