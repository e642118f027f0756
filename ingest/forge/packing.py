"""From blocks to pieces: which blocks share a chunk.

Pure. A section (a heading and its own text up to the next heading) is a piece of its own where it fits, since a hit
must name the heading it stands under; a longer one is cut between blocks, with whole blocks repeated from the end of
the piece before. A block that must not be cut can be over the ceiling, but no piece is so large that a search would
feel it: one line can be all of a file. Tokens are estimated, as no tokenizer is at hand and the embedder can be
changed: a quarter of the UTF-8 bytes, but never fewer than there are words.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from typing import Final

from index.model import OVERSIZE
from ingest.forge.blocks import Block, Shape
from ingest.forge.slicing import Line, slices

_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Packing:
    """Sizes are estimated tokens."""

    target_tokens: int = 600
    ceiling_tokens: int = 800
    overlap_tokens: int = 72  # at most so much is repeated from the piece before: 12 % of the target
    merge_below_tokens: int = 0  # a section smaller than this shares a piece with the next ones; 0: none does
    max_pieces: int = 20_000  # a page of more sections than this is packed by size alone
    max_bytes: int = 32_000  # no piece is larger: a ranking reads hundreds of them at once


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk to be: `lines` are 1-based and inclusive, `heading` the titles from the outermost to its own."""

    text: str
    first: int
    last: int
    heading: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Section:
    heading: tuple[str, ...]
    level: int  # of its heading; 0 before the first one
    blocks: tuple[Block, ...]

    @property
    def is_bare(self) -> bool:
        return all(block.shape is Shape.HEADING for block in self.blocks)


class _Sizes:
    """Estimated tokens of any run of lines, in constant time."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._bytes = list(accumulate((len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines), initial=0))
        self._words = list(accumulate((len(line.split()) for line in lines), initial=0))

    def tokens(self, first: int, last: int) -> int:
        size_bytes = self._bytes[last] - self._bytes[first - 1] - 1
        return max(-(-size_bytes // _BYTES_PER_TOKEN), self._words[last] - self._words[first - 1])


def pack(blocks: Iterable[Block], lines: Sequence[str], packing: Packing) -> list[Piece]:
    """Pieces in the order of the page; together they hold every block."""
    sizes = _Sizes(lines)
    sections = _with_bare_headings(_sections(blocks), sizes, packing)
    if len(sections) > packing.max_pieces:
        sections = _merged(sections, sizes, packing, below_tokens=packing.target_tokens)
    elif packing.merge_below_tokens:
        sections = _merged(sections, sizes, packing, below_tokens=packing.merge_below_tokens)
    return [piece for section in sections for piece in _cut(section, lines, sizes, packing)]


def _sections(blocks: Iterable[Block]) -> list[_Section]:
    sections: list[_Section] = []
    path: list[tuple[int, str]] = []
    current: list[Block] = []
    level = 0
    for block in blocks:
        if block.shape is Shape.HEADING:
            if current:
                sections.append(_Section(_titles(path), level, tuple(current)))
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.title))
            current, level = [], block.level
        current.append(block)
    if current:
        sections.append(_Section(_titles(path), level, tuple(current)))
    return sections


def _titles(path: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(title for _, title in path if title)


def _with_bare_headings(sections: Sequence[_Section], sizes: _Sizes, packing: Packing) -> list[_Section]:
    """A heading with nothing of its own goes with the section after it: alone it answers no question."""
    joined: list[_Section] = []
    waiting: list[_Section] = []
    for section in sections:
        waiting.append(section)
        size = sizes.tokens(waiting[0].blocks[0].first, section.blocks[-1].last)
        if not section.is_bare or size > packing.target_tokens:
            joined.append(_one(waiting, section.heading))
            waiting = []
    if waiting:
        joined.append(_one(waiting, waiting[-1].heading))
    return joined


def _merged(sections: Sequence[_Section], sizes: _Sizes, packing: Packing, *, below_tokens: int) -> list[_Section]:
    """Small sections that follow each other share a piece, under the headings they have in common."""
    merged: list[_Section] = []
    for section in sections:
        if merged:
            before = merged[-1]
            first, last = before.blocks[0].first, section.blocks[-1].last
            is_small = sizes.tokens(first, before.blocks[-1].last) < below_tokens
            if is_small and before.level <= section.level and sizes.tokens(first, last) <= packing.target_tokens:
                merged[-1] = _one([before, section], _common(before.heading, section.heading))
                continue
        merged.append(section)
    return merged


def _common(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return tuple(title for title, _ in pairs)


def _one(sections: Sequence[_Section], heading: tuple[str, ...]) -> _Section:
    blocks = tuple(block for section in sections for block in section.blocks)
    return _Section(heading, min(section.level for section in sections), blocks)


def _cut(section: _Section, lines: Sequence[str], sizes: _Sizes, packing: Packing) -> Iterator[Piece]:
    blocks = [part for block in section.blocks for part in _small_enough(block, sizes, packing)]
    start = fresh = 0  # a piece begins at `start`; blocks before `fresh` stand in the piece before as well
    while fresh < len(blocks):
        end = fresh + 1
        while end < len(blocks) and _takes_one_more(blocks, start, end, sizes, packing):
            end += 1
        yield from _pieces(blocks[start:end], section.heading, lines, sizes, packing)
        start, fresh = _overlap_start(blocks, start, end, sizes, packing), end


def _small_enough(block: Block, sizes: _Sizes, packing: Packing) -> Iterator[Block]:
    if sizes.tokens(block.first, block.last) <= packing.ceiling_tokens:
        yield block
    elif block.shape is Shape.TABLE:
        yield from _rows(block, sizes, packing)
    elif block.inner:
        for inner in block.inner:
            yield from _small_enough(inner, sizes, packing)
    else:
        yield block


def _rows(table: Block, sizes: _Sizes, packing: Packing) -> Iterator[Block]:
    """The table in runs of rows; each but the first has the table's head before it, unless that is too long for it."""
    head_end = min(table.last, table.first + table.head_lines - 1)
    head_tokens = sizes.tokens(table.first, head_end)
    repeated: tuple[int, int] | None = (table.first, head_end)
    if head_tokens > packing.target_tokens // 2:  # before each row, it would make gigabytes of a page
        head_tokens, repeated = 0, None
    head: tuple[int, int] | None = None
    first, room = table.first, packing.target_tokens
    for row in range(head_end + 1, table.last + 1):
        has_rows = row - 1 > head_end and row > first
        if has_rows and sizes.tokens(first, row) > room:
            yield replace(table, first=first, last=row - 1, head=head)
            first, room, head = row, packing.target_tokens - head_tokens, repeated
    yield replace(table, first=first, last=table.last, head=head)


def _takes_one_more(blocks: Sequence[Block], start: int, end: int, sizes: _Sizes, packing: Packing) -> bool:
    """Whether the piece of blocks `start` up to, not including, `end` takes the block at `end` as well."""
    if blocks[end].head is not None:
        return False
    if blocks[end - 1].shape is Shape.HEADING:
        return True  # a heading is never left alone at the end of a piece
    head = blocks[start].head
    head_tokens = sizes.tokens(*head) if head is not None else 0
    now = sizes.tokens(blocks[start].first, blocks[end - 1].last) + head_tokens
    grown = sizes.tokens(blocks[start].first, blocks[end].last) + head_tokens
    if grown <= packing.target_tokens:
        return True
    if grown > packing.ceiling_tokens:
        return False
    is_last = end + 1 == len(blocks)
    return is_last or now < packing.target_tokens // 2


def _overlap_start(blocks: Sequence[Block], start: int, end: int, sizes: _Sizes, packing: Packing) -> int:
    """Where the piece after `end` begins: as many whole blocks back as the overlap has room for."""
    at = end
    if end >= len(blocks) or blocks[end].head is not None:
        return at
    while at - 1 > start:
        before = blocks[at - 1]
        overlap = sizes.tokens(before.first, blocks[end - 1].last)
        with_next = sizes.tokens(before.first, blocks[end].last)
        is_fixed = before.shape is Shape.HEADING or before.head is not None
        if is_fixed or overlap > packing.overlap_tokens or with_next > packing.ceiling_tokens:
            break
        at -= 1
    return at


def _pieces(
    blocks: Sequence[Block], heading: tuple[str, ...], lines: Sequence[str], sizes: _Sizes, packing: Packing
) -> Iterator[Piece]:
    """One, unless that would be larger than a piece may be."""
    first, last = blocks[0].first, blocks[-1].last
    head = blocks[0].head
    shown = list(lines[first - 1 : last])
    tokens = sizes.tokens(first, last)
    if head is not None:
        shown = [*lines[head[0] - 1 : head[1]], *shown]
        tokens += sizes.tokens(*head)
    flags = {flag for block in blocks for flag in block.flags}
    if tokens > packing.ceiling_tokens:  # one block that must not be cut, or slices of it
        flags.add(OVERSIZE)
    whole = Piece("\n".join(shown), first, last, heading, tuple(sorted(flags)))
    if tokens * _BYTES_PER_TOKEN <= packing.max_bytes:
        yield whole
        return
    above = len(shown) - (last - first + 1)  # lines of the head, shown at the place of the first row
    numbered = [Line(max(first, first + at - above), text) for at, text in enumerate(shown)]
    for run in slices(numbered, packing.max_bytes):
        text = "\n".join(line.text for line in run)
        yield replace(whole, text=text, first=run[0].number, last=run[-1].number)
