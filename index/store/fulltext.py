"""The full-text indexes `words` and `grams` beside the chunks that they index: they change together or not at all.

A chunk that goes or whose text changes is taken out at once, by triggers, for FTS5 must be told the old text. What is
new is taken in by `take_in`, once for each transaction and before its end: nothing outside a transaction sees an index
without it, and inside one it is not found yet. FTS5 writes out what it has before each statement, so that one for many
rows costs a fraction of one for each; it takes no more memory than FTS5's buffer (`hashsize`, 8 MB).

That also keeps deletions and insertions apart. Of rows that are deleted and inserted in one go, an index with
detail=none and secure-delete loses postings, and others' as well (SQLite 3.53.4).

Each index has two tiers. To take a text out of a large one without a trace, FTS5 looks for each of its words and
trigrams in every segment. So what is written as likely to grow stands in a tier of its own, of the last few hundred
such chunks, which is deleted from plainly and written anew by each wipe that finds it was. The table `young` names the
chunks of that tier; all others are in the large one. Where there are too many, the oldest settle there.
"""

from collections.abc import Mapping
from typing import Final

import aiosqlite

from index.store.driver import DatabaseError

SETTLED: Final = ("words", "grams")
YOUNG: Final = ("young_words", "young_grams")
INDEXES: Final[Mapping[str, tuple[str, str]]] = dict(zip(SETTLED, zip(SETTLED, YOUNG, strict=True), strict=True))
"""Both tiers of each."""

AT_ONCE: Final = 5_000
"""Chunks that one statement takes in: a second or so, after which a run that is to end can end."""
MOST_YOUNG: Final = 512
"""Each costs every wipe 0.2 ms; one that settled and grows all the same costs 50 to 150 ms in an index of a million."""
_COLUMNS: Final = {"words": "title, body, keys", "grams": "title, body"}
_WAITING: Final = "FROM unindexed CROSS JOIN chunk USING (chunk_key) WHERE unindexed.chunk_key <= ?"
TAKE_IN: Final = (
    "INSERT INTO young(chunk_key, turn) SELECT chunk_key, (SELECT coalesce(max(turn), 0) + 1 FROM young)"
    " FROM unindexed WHERE chunk_key <= ? AND may_grow",
    *(
        f"INSERT INTO {table}(rowid, {_COLUMNS[index]}) SELECT chunk_key, {_COLUMNS[index]} {_WAITING} AND {condition}"
        " ORDER BY chunk_key"
        for index, tiers in INDEXES.items()
        for table, condition in zip(tiers, ("NOT may_grow", "may_grow"), strict=True)
    ),
    "DELETE FROM unindexed WHERE chunk_key <= ?",
)
"""For chunks up to a key; in order, since FTS5 writes out what it has whenever a key is lower than the one before."""
_OLDEST: Final = "(SELECT chunk_key FROM young ORDER BY turn, chunk_key LIMIT ?)"
SETTLE: Final = (
    *(
        f"INSERT INTO {table}(rowid, {_COLUMNS[table]}) SELECT chunk_key, {_COLUMNS[table]} FROM young_chunk"
        f" WHERE chunk_key IN {_OLDEST} ORDER BY chunk_key"
        for table in SETTLED
    ),
    f"DELETE FROM young WHERE chunk_key IN {_OLDEST}",
)
"""For so many of the young chunks. What they leave in their tier goes when that is written anew."""


async def take_in(connection: aiosqlite.Connection) -> None:
    """Bring both indexes into step with the rows. `Store.transaction` ends with it."""
    while (last := await _last_of_next(connection)) is not None:
        for statement in TAKE_IN:
            await connection.execute(statement, (last,))
        await _settle_oldest(connection)


async def _last_of_next(connection: aiosqlite.Connection) -> int | None:
    rows = await connection.execute_fetchall(
        "SELECT max(chunk_key) FROM (SELECT chunk_key FROM unindexed ORDER BY chunk_key LIMIT ?)", (AT_ONCE,)
    )
    last: int | None = next(iter(rows))[0]
    return last


async def _settle_oldest(connection: aiosqlite.Connection) -> None:
    """Half of the young ones at once, so that this happens seldom."""
    [(young,)] = await connection.execute_fetchall("SELECT count(*) FROM young")
    if young <= MOST_YOUNG:
        return
    for statement in SETTLE:
        await connection.execute(statement, (young - MOST_YOUNG // 2,))
    await renew_young(connection)


async def renew_young(connection: aiosqlite.Connection) -> None:
    """Write the tier of young chunks anew: nothing is left of what was deleted from it. Inside a transaction."""
    for table in YOUNG:
        await connection.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")


async def rewrite(connection: aiosqlite.Connection) -> None:
    """Write both indexes anew, from the texts. Inside a transaction; a minute or so for 100,000 chunks.

    `optimize` would be quicker and leaves deleted terms standing (found by tests with random changes).
    """
    for table in (*SETTLED, *YOUNG):
        await connection.execute(f"INSERT INTO {table}({table}) VALUES ('delete-all')")
    await connection.execute("DELETE FROM unindexed")
    await connection.execute(
        "INSERT INTO unindexed(chunk_key, may_grow) SELECT chunk_key, chunk_key IN (SELECT chunk_key FROM young)"
        " FROM chunk"
    )
    await connection.execute("DELETE FROM young")
    await take_in(connection)


async def delete_securely(connection: aiosqlite.Connection, *, is_wanted: bool) -> None:
    """Whether a deleted term leaves its page at once, or with the next rewriting. Inside a transaction."""
    for table in SETTLED:
        await connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('secure-delete', ?)", (int(is_wanted),))


async def is_in_step(connection: aiosqlite.Connection, index: str) -> bool:
    """FTS5's own comparison of one index, both tiers, with the texts. It leaves nothing written, but asks by an INSERT.

    The large tier is held against all texts, so for that it gets the young ones too; one that it has already is found
    out by the sums of sizes.
    """
    settled, young = INDEXES[index]
    await connection.execute("SAVEPOINT comparison")
    try:
        await _compare(connection, young)
        columns = _COLUMNS[settled]
        await connection.execute(
            f"INSERT INTO {settled}(rowid, {columns}) SELECT chunk_key, {columns} FROM young_chunk ORDER BY chunk_key"
        )
        await _compare(connection, settled)
    except DatabaseError:
        return False
    finally:
        await connection.execute("ROLLBACK TO comparison")
        await connection.execute("RELEASE comparison")
    return True


async def _compare(connection: aiosqlite.Connection, table: str) -> None:
    await connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
