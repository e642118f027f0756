"""The full-text indexes `words` and `grams` beside the chunks that they index: they change together or not at all.

A chunk that goes or whose text changes is taken out at once, by triggers, for FTS5 must be told the old text. What is
new is taken in by `take_in`, once for each transaction and before its end, so nothing outside a transaction sees an
index without it; inside one, what was written is not found yet. FTS5 writes out what it has before each statement: one
statement for all rows costs a tenth of one for each, and takes no more memory than its buffer (`hashsize`, 1 MB).

That also keeps deletions and insertions apart. Of rows that are deleted and inserted in one go, an index with
detail=none and secure-delete loses postings, and others' as well (SQLite 3.53.4).
"""

from typing import Final

import aiosqlite

from index.store.driver import DatabaseError

TABLES: Final = ("words", "grams")
TAKE_IN: Final = (
    "INSERT INTO words(rowid, title, body, keys) SELECT chunk_key, title, body, keys"
    " FROM unindexed CROSS JOIN chunk USING (chunk_key) ORDER BY chunk_key",
    "INSERT INTO grams(rowid, title, body) SELECT chunk_key, title, body"
    " FROM unindexed CROSS JOIN chunk USING (chunk_key) ORDER BY chunk_key",
    "DELETE FROM unindexed",
)
"""Statements, by key since FTS5 writes out what it has whenever a key is lower than the one before it."""


async def take_in(connection: aiosqlite.Connection) -> None:
    """Bring both indexes into step with the rows. `Store.transaction` ends with it."""
    if await _is_behind(connection):
        for statement in TAKE_IN:
            await connection.execute(statement)


async def _is_behind(connection: aiosqlite.Connection) -> bool:
    rows = list(await connection.execute_fetchall("SELECT EXISTS (SELECT 1 FROM unindexed)"))
    return bool(rows[0][0])


async def rewrite(connection: aiosqlite.Connection) -> None:
    """Write both indexes anew, from the texts. Inside a transaction; a minute or so for 100,000 chunks.

    `optimize` would be quicker and leaves deleted terms standing (found by tests with random changes).
    """
    for table in TABLES:
        await connection.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")
    await connection.execute("DELETE FROM unindexed")


async def delete_securely(connection: aiosqlite.Connection, *, is_wanted: bool) -> None:
    """Whether a deleted term leaves its page at once, or with the next rewriting. Inside a transaction."""
    for table in TABLES:
        await connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('secure-delete', ?)", (int(is_wanted),))


async def is_in_step(connection: aiosqlite.Connection, table: str) -> bool:
    """FTS5's own comparison of one index with the texts. It writes nothing, but asks by an INSERT."""
    try:
        await connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
    except DatabaseError:
        return False
    return True
