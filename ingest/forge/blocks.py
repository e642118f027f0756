"""From Markdown to blocks: the lines that must stay together, in order.

A block is a paragraph, a fence, a table, one item of a list, a piece of HTML and so on, as CommonMark with tables sees
it. Only block structure is parsed: inline markup can cost quadratic time and is of no use here, but for the titles of
headings, which are short. Lines are 1-based and inclusive; every line with something on it lies in exactly one block.

Beyond CommonMark: what stands indented under `!!! note`, `??? note` or `=== "Tab"` (MkDocs) is Markdown again and not
code, as far as it may be cut; `:::` containers and `{{< shortcodes >}}` are paragraphs like others.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingest.forge.titles import clean_title

UNCLOSED_FENCE: Final = "unclosed-fence"
"""Flag of a chunk that holds a fence nobody closed: what follows may have been meant as text."""

_ADMONITION: Final = re.compile(r"^ {0,3}(?:!!!|\?\?\?\+?|===[!+]?)[ \t]")
_SHORTCODE: Final = re.compile(r"\s*\{\{[<%]")
_INDENTED_BY: Final = 4
_ADMONITIONS_DEEP: Final = 4
_WORD: Final = re.compile(r"\w")


class Shape(StrEnum):
    HEADING = "heading"
    TABLE = "table"
    QUOTE = "quote"
    INDENTED = "indented"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Block:
    """`inner` are smaller blocks of the same lines, for when the whole is too big; empty: never cut.

    A table too big is cut between rows instead: `head_lines` is how many lines at its top are to be repeated.
    """

    shape: Shape
    first: int
    last: int
    level: int = 0  # of a heading, 1 to 6
    title: str = ""  # of a heading, without markup
    head_lines: int = 0
    head: tuple[int, int] | None = None  # of a run of rows: the lines of its table's head, to be shown above it
    inner: tuple["Block", ...] = ()
    flags: tuple[str, ...] = ()


def parse(text: str) -> list[Block]:
    """The blocks of a whole page, without its front matter. Lines end in line feeds only."""
    lines = text.split("\n")
    return _parse(text, lines, first_line=1, depth=0)


def _parse(text: str, lines: Sequence[str], *, first_line: int, depth: int) -> list[Block]:
    tokens = _markdown().parse(text)
    blocks = list(_top_level(tokens, lines, 0, len(tokens), 0))
    if depth < _ADMONITIONS_DEEP:
        blocks = _open_admonitions(blocks, lines, depth)
    blocks = _fill_gaps(blocks, lines, 1, len(lines))
    return blocks if first_line == 1 else [_shifted(block, first_line - 1) for block in blocks]


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _top_level(tokens: Sequence[Token], lines: Sequence[str], start: int, end: int, level: int) -> Iterator[Block]:
    """Blocks of the tokens `start` to `end` whose nesting is `level`; list items count as blocks of their own."""
    at = start
    while at < end:
        token = tokens[at]
        close = _closing(tokens, at)
        if token.type in {"bullet_list_open", "ordered_list_open"}:
            yield from _top_level(tokens, lines, at + 1, close, level + 1)
        elif token.map is not None and token.map[0] < token.map[1]:
            block = _block(tokens, lines, at, close, level)
            if block is not None:
                yield block
        at = close + 1


def _block(tokens: Sequence[Token], lines: Sequence[str], at: int, close: int, level: int) -> Block | None:
    token = tokens[at]
    assert token.map is not None
    first, last = token.map[0] + 1, min(token.map[1], len(lines))
    while last > first and not lines[last - 1].strip():
        last -= 1
    flags = _flags(tokens, lines, at, close)
    if token.type == "heading_open":
        title = clean_title(tokens[at + 1].content)
        return Block(Shape.HEADING, first, last, level=int(token.tag[1]), title=title)
    if token.type == "table_open":
        return Block(Shape.TABLE, first, last, head_lines=2, flags=flags)
    if token.type == "blockquote_open":
        inner = [_plain(block) for block in _top_level(tokens, lines, at + 1, close, level + 1)]
        return Block(Shape.QUOTE, first, last, inner=tuple(_fill_gaps(inner, lines, first, last)), flags=flags)
    if token.type == "code_block":
        return Block(Shape.INDENTED, first, last)
    if token.type == "paragraph_open" and all(map(_SHORTCODE.match, lines[first - 1 : last])):
        return by_lines(first, last)
    return Block(Shape.OTHER, first, last, flags=flags)


def _closing(tokens: Sequence[Token], at: int) -> int:
    """Index of the token that closes the one at `at`: itself when it opens nothing."""
    depth = 0
    for index in range(at, len(tokens)):
        depth += tokens[index].nesting
        if depth <= 0:
            return index
    return len(tokens) - 1


def _flags(tokens: Sequence[Token], lines: Sequence[str], at: int, close: int) -> tuple[str, ...]:
    for token in tokens[at : close + 1]:
        if token.type == "fence" and token.map is not None and not _is_closed(token, lines):
            return (UNCLOSED_FENCE,)
    return ()


def _is_closed(fence: Token, lines: Sequence[str]) -> bool:
    assert fence.map is not None
    first, end = fence.map
    if end - first < 2 or end > len(lines):
        return False
    marker = fence.markup
    closing = lines[end - 1].strip().lstrip("> \t")
    return len(closing) >= len(marker) and not closing.strip(marker[0])


def _plain(block: Block) -> Block:
    """A heading inside a quote or a tab is no heading of the page: nothing after the quote belongs to it."""
    return replace(block, shape=Shape.OTHER, level=0, title="") if block.shape is Shape.HEADING else block


def _open_admonitions(blocks: Sequence[Block], lines: Sequence[str], depth: int) -> list[Block]:
    """Give indented text under an admonition the blocks inside it, so that a long one can be cut between them."""
    opened: list[Block] = []
    for before, block in zip([None, *blocks], blocks, strict=False):
        is_inside = (
            block.shape is Shape.INDENTED
            and before is not None
            and (_ADMONITION.match(lines[before.first - 1]) or (before.shape is Shape.INDENTED and before.inner))
        )
        if is_inside:
            dedented = [line[_INDENTED_BY:] for line in lines[block.first - 1 : block.last]]
            inner = _parse("\n".join(dedented), dedented, first_line=block.first, depth=depth + 1)
            block = replace(block, inner=tuple(map(_plain, inner)), flags=_merged(inner))
        opened.append(block)
    return opened


def _merged(blocks: Sequence[Block]) -> tuple[str, ...]:
    return tuple(sorted({flag for block in blocks for flag in block.flags}))


def _fill_gaps(blocks: Sequence[Block], lines: Sequence[str], first: int, last: int) -> list[Block]:
    """Blocks for lines that no token covers (link definitions, depths the parser gave up on), within `first` to `last`.

    Lines without a letter or digit, such as the bare `>` between two quoted paragraphs, go with the block before.
    """
    filled: list[Block] = []
    at = first
    for block in [*blocks, None]:
        end = block.first - 1 if block is not None else last
        for gap_first, gap_last in _runs(lines, at, end):
            if filled and not any(_WORD.search(line) for line in lines[gap_first - 1 : gap_last]):
                filled[-1] = _stretched(filled[-1], gap_last)
            else:
                filled.append(by_lines(gap_first, gap_last))
        if block is None:
            break
        if block.first < at:  # never seen; a parser that answers overlapping blocks must not double lines
            continue
        filled.append(block)
        at = block.last + 1
    return filled


def by_lines(first: int, last: int) -> Block:
    """A block that may be cut between any two lines when it is too big."""
    inner = tuple(Block(Shape.OTHER, line, line) for line in range(first, last + 1)) if last > first else ()
    return Block(Shape.OTHER, first, last, inner=inner)


def _stretched(block: Block, last: int) -> Block:
    inner = (*block.inner[:-1], _stretched(block.inner[-1], last)) if block.inner else ()
    return replace(block, last=last, inner=inner)


def _runs(lines: Sequence[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Runs of lines with something on them."""
    start = 0
    for line in range(first, last + 2):
        is_blank = line > last or not lines[line - 1].strip()
        if is_blank and start:
            yield start, line - 1
            start = 0
        elif not is_blank and not start:
            start = line


def _shifted(block: Block, by: int) -> Block:
    inner = tuple(_shifted(part, by) for part in block.inner)
    return replace(block, first=block.first + by, last=block.last + by, inner=inner)
