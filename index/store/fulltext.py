"""The full-text indexes `words` and `grams` beside the chunks that they index: they change together or not at all.

A chunk that goes or whose text changes is taken out at once, by triggers, for FTS5 must be told the old text. What is
new is taken in by `take_in`, once for each transaction and before its end: nothing outside a transaction sees an index
without it, and inside one it is not found yet. FTS5 writes out what it has before each statement, so that one for many
rows costs a fraction of one for each; it takes no more memory than FTS5's buffer (`hashsize`, 1 MB).

That also keeps deletions and insertions apart. Of rows that are deleted and inserted in one go, an index with
detail=none and secure-delete loses postings, and others' as well (SQLite 3.53.4).
"""

from typing import Final

import aiosqlite

from index.store.driver import DatabaseError

TABLES: Final = ("words", "grams")
AT_ONCE: Final = 5_000
"""Chunks that one statement takes in: a second or so, after which a run that is to end can end."""
_WAITING: Final = "FROM unindexed CROSS JOIN chunk USING (chunk_key) WHERE unindexed.chunk_key <= ?"
TAKE_IN: Final = (
    f"INSERT INTO words(rowid, title, body, keys) SELECT chunk_key, title, body, keys {_WAITING} ORDER BY chunk_key",
    f"INSERT INTO grams(rowid, title, body) SELECT chunk_key, title, body {_WAITING} ORDER BY chunk_key",
    "DELETE FROM unindexed WHERE chunk_key <= ?",
)
"""For chunks up to a key; in order, since FTS5 writes out what it has whenever a key is lower than the one before."""


async def take_in(connection: aiosqlite.Connection) -> None:
    """Bring both indexes into step with the rows. `Store.transaction` ends with it."""
    while (last := await _last_of_next(connection)) is not None:
        for statement in TAKE_IN:
            await connection.execute(statement, (last,))


async def _last_of_next(connection: aiosqlite.Connection) -> int | None:
    rows = await connection.execute_fetchall(
        "SELECT max(chunk_key) FROM (SELECT chunk_key FROM unindexed ORDER BY chunk_key LIMIT ?)", (AT_ONCE,)
    )
    last: int | None = next(iter(rows))[0]
    return last


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
