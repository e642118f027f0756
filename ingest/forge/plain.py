"""Plain text, reStructuredText, AsciiDoc and templates: blocks parted by blank lines.

Pure. An underlined line is a heading, as is `== Title` in AsciiDoc; a template has none. There is no syntax to break,
so a paragraph over the ceiling is cut between lines.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ingest.forge.blocks import Block, Shape, by_lines
from ingest.forge.markdown import Page
from ingest.forge.packing import Packing, pack
from ingest.forge.titles import shortened

_UNDERLINE: Final = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_ASCIIDOC: Final = re.compile(r"(={1,6})[ \t]+(\S.*?)[ \t=]*$")
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
    levels: dict[str, int] = {}  # reStructuredText: the first kind of underline is the first level, and so on
    for first, last in _runs(lines):
        line = lines[first - 1]
        heading = _ASCIIDOC.match(line) if is_asciidoc else None
        if heading:
            title = shortened(heading.group(2))
            yield Block(Shape.HEADING, first, first, level=len(heading.group(1)), title=title)
            first += 1
        elif _is_underlined(lines, first, last):
            level = levels.setdefault(lines[first].strip()[0], len(levels) + 1)
            yield Block(Shape.HEADING, first, first + 1, level=level, title=shortened(line.strip()))
            first += 2
        if first <= last:
            yield by_lines(first, last)


def _is_underlined(lines: Sequence[str], first: int, last: int) -> bool:
    if last == first:
        return False
    title, line = lines[first - 1].rstrip(), lines[first]
    if not _UNDERLINE.match(line) or title[:1].isspace() or len(title) > _MAX_TITLE:
        return False
    return any(map(str.isalnum, title)) and len(line.rstrip()) * 2 > len(title)


def _runs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for line, text in enumerate([*lines, ""], start=1):
        if not text.strip():
            if start:
                yield start, line - 1
            start = 0
        elif not start:
            start = line
