"""The header of a script: its sections and the named paragraphs in them.

Pure. A section begins with one of the known names alone on its line, underlined or not. Inside it, a named paragraph
is a title that starts at the margin and whose next line is indented. It must stand right under the section's name or
after a blank line and be followed by prose: the last line of a wrapped sentence above an indented list is no title, nor
is one that introduces such a list. A header without sections is cut by paragraphs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from ingest.forge.comments import CommentLine
from ingest.forge.titles import shortened

SECTIONS: Final = (
    "PURPOSE",
    "OPERATIONAL MODEL",
    "DESIGN PRINCIPLES",
    "OPERATIONAL SAFEGUARDS",
    "CONFIGURATION",
    "RUNTIME MODES",
)

_UNDERLINE: Final = re.compile(r"([-=~*#^_])\1{2,}\s*$")
_LIST_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|[a-z][.)])\s")
_MAX_TITLE: Final = 100


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines as in the file: from its title to its last line with something on it."""

    title: str
    first: int
    last: int
    lines: tuple[CommentLine, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """`own` is what stands before the first named paragraph, without the section's name."""

    name: str
    first: int
    last: int
    own: tuple[CommentLine, ...]
    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """`opening` is what comes before the first section: usually the name of the script and what it is for."""

    opening: tuple[CommentLine, ...]
    sections: tuple[Section, ...]


def parse_header(lines: Sequence[CommentLine], section_names: Sequence[str] = SECTIONS) -> Header:
    """Find the sections in the lines of a header comment."""
    names = {_plain(name): name for name in section_names}
    starts = [index for index, line in enumerate(lines) if _is_section(lines, index, names)]
    opening = lines[: starts[0]] if starts else lines
    sections = [
        _section(lines[start:end], names[_plain(lines[start].text)]) for start, end in pairwise([*starts, len(lines)])
    ]
    return Header(tuple(_stripped(opening)), tuple(sections))


def header_title(opening: Sequence[CommentLine], path: str) -> str:
    """The first paragraph of the header when it names the script, else the name of the file."""
    name = PurePosixPath(path).name
    words: list[str] = []
    for line in opening:
        if not line.text.strip():
            break
        words.append(line.text.strip())
    first = " ".join(words)
    spoken = re.escape(name) + "|" + re.escape(PurePosixPath(name).stem)
    return shortened(first) if re.match(rf"(?:{spoken})(?!\w)", first, re.IGNORECASE) else name


def _plain(name: str) -> str:
    return " ".join(name.split()).rstrip(":").strip()


def _is_section(lines: Sequence[CommentLine], index: int, names: dict[str, str]) -> bool:
    text = lines[index].text
    if text[:1].isspace() or _plain(text) not in names:
        return False
    is_after_prose = index > 0 and lines[index - 1].text.strip() and not _UNDERLINE.match(lines[index - 1].text)
    is_underlined = index + 1 < len(lines) and bool(_UNDERLINE.match(lines[index + 1].text))
    return is_underlined or not is_after_prose


def _section(lines: Sequence[CommentLine], name: str) -> Section:
    lines = _stripped(lines)
    body = list(lines[1:])
    if body and _UNDERLINE.match(body[0].text):
        body = body[1:]
    starts = [index for index in range(len(body)) if _is_title(body, index)]
    own = _stripped(body[: starts[0]] if starts else body)
    paragraphs = [_paragraph(_stripped(body[start:end])) for start, end in pairwise([*starts, len(body)])]
    return Section(name, lines[0].number, lines[-1].last, tuple(own), tuple(paragraphs))


def _is_title(body: Sequence[CommentLine], index: int) -> bool:
    text = body[index].text
    if not text.strip() or text[0].isspace() or index + 1 >= len(body) or len(text) > _MAX_TITLE:
        return False
    if index > 0 and body[index - 1].text.strip():
        return False
    below = body[index + 1].text
    return below[:1].isspace() and bool(below.strip()) and not _LIST_ITEM.match(below) and not _LIST_ITEM.match(text)


def _paragraph(lines: Sequence[CommentLine]) -> Paragraph:
    title = " ".join(lines[0].text.split()).rstrip(":")
    return Paragraph(title, lines[0].number, lines[-1].last, tuple(lines))


def _stripped(lines: Sequence[CommentLine]) -> list[CommentLine]:
    first, last = 0, len(lines)
    while first < last and not lines[first].text.strip():
        first += 1
    while last > first and not lines[last - 1].text.strip():
        last -= 1
    return list(lines[first:last])
