"""Postings of the lexical index: which chunks hold a word or a phrase, and how often.

Everything is asked for inside a set of key ranges, the audience's, so that a hidden room moves neither a frequency nor
a score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from json import dumps
from typing import Final

import aiosqlite

from index.store.scope import Range, Scope, within
from index.text.fold import fold

MOST_MATCHES: Final = 50_000
"""Of a phrase or a part of a word; more are not read."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Of one token: chunk keys and, for each, how often it stands in the column asked for."""

    title: dict[int, int]
    body: dict[int, int]
    keys: dict[int, int]


async def totals(connection: aiosqlite.Connection, visible: Sequence[Range] | None) -> tuple[int, int]:
    """Chunks and words of the visible sources."""
    inside, values = within("source_key << 32", visible)
    rows = list(
        await connection.execute_fetchall(
            f"SELECT coalesce(sum(chunks), 0), coalesce(sum(words), 0) FROM source WHERE {inside}", values
        )
    )
    return int(rows[0][0]), int(rows[0][1])


async def frequency(connection: aiosqlite.Connection, token: str, visible: Sequence[Range] | None) -> int:
    """In how many visible chunks a token stands, in any column."""
    if visible is None:
        rows = list(await connection.execute_fetchall("SELECT doc FROM vocabulary WHERE term = ?", (token,)))
    else:
        inside, values = within("rowid", visible)
        rows = list(
            await connection.execute_fetchall(
                f"SELECT count(*) FROM words WHERE words MATCH ? AND {inside}", (quoted(token), *values)
            )
        )
    return int(rows[0][0]) if rows else 0


async def postings(connection: aiosqlite.Connection, token: str, visible: Sequence[Range] | None) -> Postings:
    """All visible postings of a token."""
    inside, values = within("doc", visible)
    found = Postings({}, {}, {})
    columns = {"title": found.title, "body": found.body, "keys": found.keys}
    for key, column, count in await connection.execute_fetchall(
        f"SELECT doc, col, count(*) FROM term WHERE term = ? AND {inside} GROUP BY doc, col", (token, *values)
    ):
        columns[column][key] = count
    return found


async def matching(
    connection: aiosqlite.Connection, phrase: str, visible: Sequence[Range] | None, *, is_prefix: bool = False
) -> frozenset[int]:
    """Visible chunks whose title or body has the words of `phrase` in a row, the last one maybe longer."""
    inside, values = within("rowid", visible)
    expression = f"{{title body}} : {quoted(phrase)}{'*' if is_prefix else ''}"
    rows = await connection.execute_fetchall(
        f"SELECT rowid FROM words WHERE words MATCH ? AND {inside} LIMIT ?", (expression, *values, MOST_MATCHES)
    )
    return frozenset(int(row[0]) for row in rows)


async def containing(
    connection: aiosqlite.Connection, part: str, visible: Sequence[Range] | None, *, limit: int
) -> frozenset[int]:
    """Visible chunks with `part`, three characters or longer, anywhere in a word of title or body.

    The index of trigrams keeps no positions: it names the candidates, and the text decides.
    """
    grams = {part[at : at + 3] for at in range(len(part) - 2)}
    if not grams:
        return frozenset()
    inside, values = within("grams.rowid", visible)
    expression = " AND ".join(quoted(gram) for gram in sorted(grams))
    rows = await connection.execute_fetchall(
        "SELECT grams.rowid, chunk.title, chunk.body FROM grams JOIN chunk ON chunk_key = grams.rowid"
        f" WHERE grams MATCH ? AND {inside} LIMIT ?",
        (expression, *values, limit),
    )
    wanted = fold(part)
    return frozenset(int(key) for key, title, body in rows if wanted in fold(title) or wanted in fold(body))


async def sizes(connection: aiosqlite.Connection, chunks: Sequence[int]) -> dict[int, int]:
    """Words of each chunk."""
    rows = await connection.execute_fetchall(
        "SELECT chunk_key, size FROM chunk WHERE chunk_key IN (SELECT value FROM json_each(?))", (dumps(chunks),)
    )
    return {int(key): int(size) for key, size in rows}


async def passing(connection: aiosqlite.Connection, chunks: Sequence[int], scope: Scope) -> list[int]:
    """Those of the chunks that the reader's filters let through, in the order given."""
    condition, values = scope.condition("asked.value")
    if condition == "TRUE":
        return list(chunks)
    rows = await connection.execute_fetchall(
        f"SELECT asked.value FROM json_each(?) AS asked WHERE {condition} ORDER BY asked.key", (dumps(chunks), *values)
    )
    return [int(row[0]) for row in rows]


def quoted(text: str) -> str:
    """As an FTS5 string: user text is never syntax."""
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'
