"""The tallies of chunks in the index file: read by a ranking, written with each chunk, made for chunks of older files.

A file of before has none. `take_in`, which ends each transaction, makes a few thousand of them; one that is missing is
made when it is read.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from index.errors import StoreError
from index.store.driver import Connection, File
from index.store.lists import as_json, numbers_of
from index.store.rows import insert
from index.text.tally import COLUMNS, WIDTH, Tallies, tally_of

AT_ONCE: Final = 5_000
"""Chunks of an older file that a transaction makes tallies for: half a second or so."""
BEHIND: Final = "tallies.behind"
"""Entry of `meta`, there while chunks with a higher key than it says may have no tally."""
_TEXTS: Final = "CAST(title AS BLOB), CAST(body AS BLOB), CAST(keys AS BLOB)"
"""As bytes, since a text that is damaged would be no text to SQLite, and then nothing could be written or verified."""
_INTO: Final = "tally(chunk_key, data)"
_INSTEAD: Final = "ON CONFLICT(chunk_key) DO UPDATE SET data = excluded.data"


def read(connection: Connection, chunks: Iterable[int]) -> Tallies:
    """Of those of the chunks that are there, in the order of their keys. Raises StoreError for a damaged one."""
    asked = sorted(chunks)
    [(chunk_keys, lengths, data)] = connection.execute(
        "SELECT group_concat(chunk_key), group_concat(length(data)), CAST(group_concat(data, '') AS BLOB)"
        " FROM json_each(?) AS asked CROSS JOIN tally ON chunk_key = asked.value",
        (as_json(asked),),
    ).fetchall()
    found = numbers_of(chunk_keys)
    try:
        held = Tallies.of(found, numbers_of(lengths), data or b"")
    except ValueError as error:
        raise StoreError("the tallies of chunks are damaged (run `sources verify --repair`)") from error
    return held if len(found) == len(asked) else _joined(connection, held, set(asked).difference(found))


def put(connection: Connection, tallies: Sequence[tuple[int, bytes]]) -> None:
    """Of chunks by key, in place of others. Inside a transaction."""
    insert(connection, _INTO, tallies, or_else=_INSTEAD)


async def take_in(connection: File) -> None:
    """Make some of those that an older file has not. `Store.transaction` ends with it."""
    await connection.run(_take_in)


async def rewrite(connection: File) -> None:
    """Have all made anew. Inside a transaction."""
    await connection.execute("DELETE FROM tally")
    await connection.execute("INSERT OR REPLACE INTO meta(name, value) VALUES (?, '0')", (BEHIND,))


async def out_of_step(connection: File) -> int:
    """Tallies that are not what the texts make, that belong to no chunk, or that nobody would make and are missing."""
    wrong = await connection.run(_stray)
    after: int | None = -1
    while after is not None:
        some, after = await connection.run(partial(_wrong, after=after))
        wrong += some
    return wrong


def _take_in(connection: Connection) -> None:
    told = connection.execute("SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?", (BEHIND,)).fetchall()
    if not told:
        return
    behind = last = int(told[0][0])
    rows = connection.execute(
        f"SELECT chunk_key, {_TEXTS} FROM chunk WHERE chunk_key > ? ORDER BY chunk_key LIMIT ?", (behind, AT_ONCE)
    )
    for last, *texts in rows:
        put(connection, [(last, _made(*texts))])
    if last == behind:
        connection.execute("DELETE FROM meta WHERE name = ?", (BEHIND,))
    else:
        connection.execute("UPDATE meta SET value = ? WHERE name = ?", (str(last), BEHIND))


def _stray(connection: Connection) -> int:
    """Tallies without a chunk, and chunks without one that is to be there."""
    [(lost,)] = connection.execute("SELECT count(*) FROM tally WHERE chunk_key NOT IN (SELECT chunk_key FROM chunk)")
    [(missing,)] = connection.execute(
        "SELECT count(*) FROM chunk WHERE chunk_key NOT IN (SELECT chunk_key FROM tally)"
        " AND chunk_key <= coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = ?), chunk_key)",
        (BEHIND,),
    )
    return int(lost) + int(missing)


def _wrong(connection: Connection, after: int) -> tuple[int, int | None]:
    """How many of the next are not what their texts make, and the last of these; None: there are no more."""
    rows = connection.execute(
        f"SELECT chunk_key, iif(typeof(data) = 'blob', data, NULL), {_TEXTS}"
        " FROM tally CROSS JOIN chunk USING (chunk_key) WHERE chunk_key > ? ORDER BY chunk_key LIMIT ?",
        (after, AT_ONCE),
    )
    wrong, last = 0, None
    for chunk, data, *texts in rows:
        wrong += data != _made(*texts)
        last = int(chunk)
    return wrong, last


def _joined(connection: Connection, held: Tallies, missing: Collection[int]) -> Tallies:
    """With those that are missing, as far as there are such chunks."""
    rows = connection.execute(
        f"SELECT chunk_key, {_TEXTS} FROM json_each(?) AS asked CROSS JOIN chunk ON chunk_key = asked.value",
        (as_json(sorted(missing)),),
    )
    made = {int(key): _made(*texts) for key, *texts in rows}
    for chunk, (first, past) in zip(held.chunks, pairwise(held.bounds[::COLUMNS]), strict=True):
        made[chunk] = held.data[first * WIDTH : past * WIDTH]
    chunks = sorted(made)
    return Tallies.of(chunks, [len(made[chunk]) for chunk in chunks], b"".join(made[chunk] for chunk in chunks))


def _made(*texts: bytes) -> bytes:
    title, body, keys = (text.decode(errors="replace") for text in texts)
    return tally_of(title, body, keys)
