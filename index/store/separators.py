"""Words that FTS5 keeps although no document holds them any more: the terms that tell its pages apart.

For each leaf page of a segment the shadow table `%_idx` holds the beginning of the page's first term. Under
`secure-delete` a deleted term leaves its page at once and stays there, often as a whole word. `optimize` is no answer:
it does nothing to an index of one segment, otherwise writes all of it anew, and may leave deleted terms standing.

Here only what is stale is mended: a separator of which the page's first term is no continuation becomes that term. That
keeps the one rule of the table (greater than every term before the page, not greater than the first on it), which
FTS5's own integrity check holds it to. Where a page is not as expected, both indexes are written anew after all. The
tiers of young chunks are, whenever something was deleted from them, so there is nothing to mend there.

Format: comments at the head of fts5_index.c, versions 4 and 5 (the latter: with secure deletes).
"""

import re
from collections.abc import Iterable, Sequence
from json import dumps
from typing import Final

from index.store.driver import Connection, File
from index.store.fulltext import SETTLED, rewrite

_VERSIONS: Final = frozenset({4, 5})
_SEGMENT_BITS: Final = 37  # a page's id is the segment's, shifted, plus the page's number
_AT_ONCE: Final = 250  # pages in memory
_Separator = tuple[int, bytes, int]  # segment, the byte for the index with the beginning of a term, page
_TOKENIZER: Final = re.compile(r"tokenize='([^']*)'")


async def mend(connection: File, texts: Sequence[str] | None) -> int:
    """Drop stale separators, of words in these deleted texts or of any (None); returns how many. Inside a transaction.

    The texts are cut into terms by the tables' own tokenizers, in a table in memory.
    """
    if texts is not None and not texts:
        return 0
    mended = await connection.run(lambda bare: [_mend(bare, table, texts) for table in SETTLED])
    if None in mended:
        await rewrite(connection)
    return sum(1 if one is None else one for one in mended)


def _mend(connection: Connection, table: str, texts: Sequence[str] | None) -> int | None:
    """None: the index is not as expected."""
    if not _is_known_version(connection, table):
        return None
    chosen = _all(connection, table) if texts is None else _before(connection, table, texts)
    mended = 0
    for start in range(0, len(chosen), _AT_ONCE):
        some = chosen[start : start + _AT_ONCE]
        blocks = _blocks(connection, table, some)
        for segment, separator, page in some:
            block = blocks.get((segment << _SEGMENT_BITS) + page)
            if block is None:  # merged into another segment; FTS5 passes its separator over until all of them are
                connection.execute(f"DELETE FROM {table}_idx WHERE segid = ? AND term = ?", (segment, separator))
                mended += 1
                continue
            first = first_term(block)
            if first is None or first < separator:
                return None
            if not first.startswith(separator):
                connection.execute(
                    f"UPDATE {table}_idx SET term = ? WHERE segid = ? AND term = ?", (first, segment, separator)
                )
                mended += 1
    return mended


def _blocks(connection: Connection, table: str, some: Sequence[_Separator]) -> dict[int, bytes]:
    """The pages of these separators, by their ids; one that is gone is left out."""
    ids = dumps([(segment << _SEGMENT_BITS) + page for segment, _, page in some])
    rows = connection.execute(
        f"SELECT id, block FROM {table}_data WHERE id IN (SELECT value FROM json_each(?))", (ids,)
    )
    return {int(row[0]): bytes(row[1]) for row in rows}


def _all(connection: Connection, table: str) -> list[_Separator]:
    """The first page of a segment has none."""
    rows = connection.execute(f"SELECT segid, CAST(term AS BLOB), pgno >> 1 FROM {table}_idx WHERE length(term) > 1")
    return [(int(row[0]), bytes(row[1]), int(row[2])) for row in rows]


def _before(connection: Connection, table: str, texts: Iterable[str]) -> list[_Separator]:
    """Of each term of the texts: the last separator before it in each segment, if the term begins so.

    Whether some text still has the term is not asked here: to look for it in all segments costs more than to look at
    the page. The byte before each term says in which index of the table it stands; there is only one.
    """
    [(sql,)] = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
    tokenizer = _TOKENIZER.search(str(sql))
    if tokenizer is None:
        raise AssertionError(f"the table {table} names no tokenizer")
    connection.execute(
        f"CREATE VIRTUAL TABLE temp.gone USING fts5(text, content='', detail=none, tokenize='{tokenizer[1]}')"
    )
    connection.executemany("INSERT INTO temp.gone(text) VALUES (?)", [(text,) for text in texts])
    connection.execute("CREATE VIRTUAL TABLE temp.gone_terms USING fts5vocab(temp, gone, row)")
    rows = connection.execute(
        f"WITH RECURSIVE segment(id) AS (SELECT min(segid) FROM {table}_idx UNION ALL"
        f" SELECT (SELECT min(segid) FROM {table}_idx WHERE segid > id) FROM segment WHERE id IS NOT NULL),"
        " spoken(term) AS MATERIALIZED (SELECT CAST('0' || term AS BLOB) FROM gone_terms),"
        " page(segid, separator, term) AS (SELECT segment.id, (SELECT i.term FROM"
        f" {table}_idx AS i WHERE i.segid = segment.id AND i.term <= spoken.term ORDER BY i.term DESC LIMIT 1),"
        " spoken.term FROM segment, spoken WHERE segment.id IS NOT NULL),"
        " suspect(segid, separator) AS (SELECT DISTINCT segid, separator FROM page"
        " WHERE length(separator) > 1 AND substr(term, 1, length(separator)) = separator)"
        f" SELECT segid, CAST(term AS BLOB), pgno >> 1 FROM suspect CROSS JOIN {table}_idx AS i USING (segid)"
        " WHERE i.term = suspect.separator"
    ).fetchall()
    for name in ("gone_terms", "gone"):
        connection.execute(f"DROP TABLE temp.{name}")
    return [(int(row[0]), bytes(row[1]), int(row[2])) for row in rows]


def _is_known_version(connection: Connection, table: str) -> bool:
    rows = connection.execute(f"SELECT v FROM {table}_config WHERE k = 'version'").fetchall()
    return bool(rows) and rows[0][0] in _VERSIONS


def first_term(block: bytes) -> bytes | None:
    """The first term of a leaf page, with the byte before it; None for a page without one."""
    end = int.from_bytes(block[2:4], "big")  # of the content; behind it stand the offsets of the terms
    if not 4 <= end < len(block):
        return None
    offset, _ = varint(block, end)
    if not 4 <= offset < end:
        return None
    length, start = varint(block, offset)
    return block[start : start + length] if length > 0 and start + length <= end else None


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of at most four bytes, seven bits each, and what comes behind it."""
    value = 0
    for byte in data[at : at + 4]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value, at
