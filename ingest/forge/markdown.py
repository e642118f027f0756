"""Markdown pages: title and pieces. Pure; what it is given has been scrubbed and decoded."""

import re
from dataclasses import dataclass
from typing import Final

from ingest.forge.blocks import Block, Shape, parse
from ingest.forge.packing import Packing, Piece, pack
from ingest.forge.titles import html_title

_HTML_TITLE: Final = re.compile(r"<h1\b[^<>]{0,300}>(.{1,500}?)</h1>", re.IGNORECASE | re.DOTALL)
_TITLE_WITHIN: Final = 4_000  # code points; an `<h1>` further down is no title


@dataclass(frozen=True, slots=True)
class Page:
    """`title` is the first heading of the first level; None when there is none."""

    title: str | None
    pieces: tuple[Piece, ...]


def page(text: str, packing: Packing) -> Page:
    """Cut a page without its front matter into pieces that hold every line with something on it."""
    blocks = parse(text)
    return Page(_title(blocks, text), tuple(pack(blocks, text.split("\n"), packing)))


def _title(blocks: list[Block], text: str) -> str | None:
    for block in blocks:
        if block.shape is Shape.HEADING and block.level == 1 and block.title:
            return block.title
    found = _HTML_TITLE.search(text[:_TITLE_WITHIN])
    return (html_title(found.group(1)) or None) if found else None
