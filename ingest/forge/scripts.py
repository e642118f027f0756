"""From the header of a script to pieces: one for each named paragraph, one for each section's own text.

Pure; what it is given has been decoded, and it scrubs what it cuts: a key in a comment may show its pattern only when
the comment signs are gone.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ingest.forge.comments import CommentLine, header_comment
from ingest.forge.headers import Header, Section, header_title, parse_header
from ingest.forge.linemap import line_map
from ingest.forge.packing import Packing, Piece, pack
from ingest.forge.plain import paragraphs

_LICENCE: Final = re.compile(r"(?:COPYRIGHT|LICEN[CS]E)\b|\s*Copyright\b|\s*SPDX-|.{0,40}Licensed under\b", re.DOTALL)
_OPENING_MAX_LINES: Final = 8  # an opening longer than this is a text of its own


@dataclass(frozen=True, slots=True)
class HeaderPiece:
    """A piece whose lines are those of the file; section and paragraph are None where there is none."""

    piece: Piece
    section: str | None = None
    paragraph: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptHeader:
    title: str
    pieces: tuple[HeaderPiece, ...]


def script_header(
    text: str, path: str, scrub: Callable[[str], str], section_names: Sequence[str], packing: Packing
) -> ScriptHeader | None:
    """The header of a script, or None when it has none."""
    lines = _scrubbed(header_comment(text, path), scrub)
    if not any(line.text.strip() for line in lines):
        return None
    header = parse_header(lines, section_names)
    pieces = _of_sections(header, packing) if header.sections else _without_sections(lines, packing)
    return ScriptHeader(header_title(lines, path), tuple(pieces))


def _scrubbed(lines: Sequence[CommentLine], scrub: Callable[[str], str]) -> list[CommentLine]:
    before = "\n".join(line.text for line in lines)
    after = scrub(before)
    origin = line_map(before, after)
    scrubbed: list[CommentLine] = []
    for number, text in enumerate(after.split("\n"), start=1):
        first, last = origin.original(number, number)
        if lines:
            scrubbed.append(CommentLine(lines[first - 1].number, lines[last - 1].last, text))
    return scrubbed


def _of_sections(header: Header, packing: Packing) -> Iterator[HeaderPiece]:
    opening = list(header.opening)
    if len(opening) > _OPENING_MAX_LINES:
        yield from (HeaderPiece(piece) for piece in _packed(opening, (), packing))
        opening = []
    for section in header.sections:
        own = [*opening, *_own_lines(section)]
        if opening or len(section.own) > 0 or not section.paragraphs:
            for piece in _packed(own, (section.name,), packing):
                yield HeaderPiece(piece, section.name)
        opening = []
        for paragraph in section.paragraphs:
            for piece in _packed(paragraph.lines, (section.name, paragraph.title), packing):
                yield HeaderPiece(piece, section.name, paragraph.title)


def _own_lines(section: Section) -> list[CommentLine]:
    return [CommentLine(section.first, section.first, section.name), *section.own]


def _without_sections(lines: Sequence[CommentLine], packing: Packing) -> Iterator[HeaderPiece]:
    """The whole header by paragraphs; the licence at its end does not dilute what the script is about."""
    blocks = paragraphs([line.text for line in lines])
    cut = next((block.first - 1 for block in blocks if _LICENCE.match(lines[block.first - 1].text)), len(lines))
    for part in (lines[:cut], lines[cut:]):
        yield from (HeaderPiece(piece) for piece in _packed(part, (), packing))


def _packed(lines: Sequence[CommentLine], heading: tuple[str, ...], packing: Packing) -> Iterator[Piece]:
    texts = [line.text for line in lines]
    for piece in pack(paragraphs(texts), texts, packing):
        first, last = lines[piece.first - 1].number, lines[piece.last - 1].last
        yield Piece(piece.text, first, last, heading, piece.flags)
