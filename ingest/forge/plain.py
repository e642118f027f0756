"""Plain text, reStructuredText, AsciiDoc and templates: blocks parted by blank lines.

Pure. A line with a rule under it, and maybe one above, is a heading, as is `== Title` in AsciiDoc, where what stands
between two lines of `----` is one block; a template has no headings. For the rest there is no syntax to break, so a
paragraph over the ceiling is cut between lines.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ingest.forge.blocks import Block, Shape, by_lines
from ingest.forge.markdown import Page
from ingest.forge.packing import Packing, pack
from ingest.forge.titles import shortened

_RULE: Final = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_ASCIIDOC: Final = re.compile(r"(={1,6})[ \t]+(\S.*?)[ \t=]*$")
_FENCE: Final = re.compile(r"(?:([-.=*_+/])\1{3,}|```\w*)\s*$")
_MAX_LINE: Final = 300
_MAX_TITLE: Final = 120


def text_page(text: str, packing: Packing, *, is_asciidoc: bool = False) -> Page:
    lines = text.split("\n")
    blocks = list(_blocks(lines, is_asciidoc=is_asciidoc))
    title = next((block.title for block in blocks if block.level == 1), None)
    return Page(title, tuple(pack(blocks, lines, packing)))


def template_page(text: str, packing: Packing) -> Page:
    lines = text.split("\n")
    return Page(None, tuple(pack(paragraphs(lines), lines, packing)))


def paragraphs(lines: Sequence[str]) -> list[Block]:
    """Blocks parted by blank lines."""
    return [by_lines(first, last) for first, last in _runs(lines)]


def _blocks(lines: Sequence[str], *, is_asciidoc: bool) -> Iterator[Block]:
    levels: dict[str, int] = {}  # reStructuredText: the first kind of rule is the first level, and so on
    runs = _joined_fences(lines, list(_runs(lines))) if is_asciidoc else _runs(lines)
    for first, last in runs:
        heading = _asciidoc_heading(lines, first) if is_asciidoc else _ruled_heading(lines, first, last, levels)
        if heading is not None:
            yield heading
            first = heading.last + 1
        if first <= last:
            yield (
                Block(Shape.OTHER, first, last)
                if is_asciidoc and _is_fence(lines[first - 1])
                else by_lines(first, last)
            )


def _asciidoc_heading(lines: Sequence[str], line: int) -> Block | None:
    text = lines[line - 1]
    found = _ASCIIDOC.match(text) if len(text) <= _MAX_LINE else None
    return found and Block(Shape.HEADING, line, line, level=len(found.group(1)), title=shortened(found.group(2)))


def _ruled_heading(lines: Sequence[str], first: int, last: int, levels: dict[str, int]) -> Block | None:
    above = 1 if last - first >= 2 and _RULE.match(lines[first - 1]) else 0
    if last - first - above < 1:
        return None
    title, rule = lines[first - 1 + above].rstrip(), lines[first + above]
    if not _RULE.match(rule) or len(title) > _MAX_TITLE or len(rule.rstrip()) * 2 <= len(title):
        return None
    if not any(map(str.isalnum, title)) or (title[:1].isspace() and not above):
        return None
    level = levels.setdefault(rule[0] + "above" * above, len(levels) + 1)
    return Block(Shape.HEADING, first, first + above + 1, level=level, title=shortened(title.strip()))


def _is_fence(line: str) -> bool:
    return bool(_FENCE.match(line)) and len(line) <= _MAX_LINE


def _joined_fences(lines: Sequence[str], runs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same runs of lines, but what stands between a fence and the next one like it is one run."""
    done = 0
    for first, last in runs:
        first = max(first, done + 1)
        while first <= last:
            opening = next((line for line in range(first, last + 1) if _is_fence(lines[line - 1])), None)
            closing = _closing_fence(lines, opening) if opening is not None else None
            if opening is None or closing is None:
                yield first, last
                break
            if opening > first:
                yield first, opening - 1
            yield opening, closing
            done = closing
            first = done + 1


def _closing_fence(lines: Sequence[str], opening: int) -> int | None:
    fence = lines[opening - 1].rstrip()
    return next((line for line in range(opening + 1, len(lines) + 1) if lines[line - 1].rstrip() == fence), None)


def _runs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for line, text in enumerate([*lines, ""], start=1):
        if not text.strip():
            if start:
                yield start, line - 1
            start = 0
        elif not start:
            start = line
