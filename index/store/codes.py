"""The codes of the vectors in the index file: made by the writer, in step with the vectors at the end of a transaction.

`code` has a row for each block of chunk keys with vectors. Triggers name the blocks whose vectors change in `uncoded`,
and `take_in`, which ends each transaction, counts those or makes their codes anew from the vectors that are left. So
the bits of a deleted vector leave with it, and a change costs a few blocks in an index of any size.

Few vectors have no codes, and a search measures all of them. When there are `CODES_FROM` the writer makes a frame (a
centre, see `signs`) and with it the codes of all; it goes when they are less than half as many. It stays
the same until there are `OUTGROWN` times as many vectors as it was made of.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from itertools import islice
from secrets import token_hex
from typing import Final

import aiosqlite

from index.store.driver import Connection, File
from index.store.signs import BLOCK_BITS, Frame

CODES_FROM: Final = 10_000
"""Vectors. Measured among so many: all of them 7.5 ms of processor time, by codes 2.6; level at 1,000."""
OUTGROWN: Final = 16
SAMPLED: Final = 20_000
"""Vectors that the centre of a frame is the mean of, at most; never less than half of these, or of `CODES_FROM`."""
AT_ONCE: Final = 16
"""Blocks whose codes are made with one visit to the connection's thread: some 30 ms."""
STATE: Final = "codes.state"
"""Entry of `meta`, there while there are codes: another one after each change of any."""
_OF_BLOCK: Final = f"chunk_key BETWEEN block << {BLOCK_BITS} AND (block << {BLOCK_BITS}) + {2**BLOCK_BITS - 1}"
_NEXT: Final = "SELECT block FROM uncoded ORDER BY block LIMIT ?"


async def counts(connection: aiosqlite.Connection) -> tuple[int, int]:
    """Vectors, and how many of them have codes."""
    rows = await connection.execute_fetchall(
        "SELECT coalesce(sum(vectors), 0), coalesce(sum(iif(digest IS NULL, 0, vectors)), 0) FROM code"
    )
    [(vectors, coded)] = rows
    return int(vectors), int(coded)


async def take_in(connection: File) -> None:
    """Bring the codes into step with the vectors. `Store.transaction` ends with it."""
    if not await connection.run(lambda bare: bare.execute(_NEXT, (1,)).fetchall()):
        return
    made_of = await connection.run(_made_of)
    await _bring_in_step(connection, has_frame=made_of > 0)
    vectors, _ = await counts(connection)
    if vectors >= (CODES_FROM if not made_of else OUTGROWN * made_of):
        await connection.run(lambda bare: _begin(bare, vectors))
        await _bring_in_step(connection, has_frame=True)
    elif made_of and 2 * vectors < CODES_FROM:
        await connection.run(_end)


async def rewrite(connection: File) -> None:
    """Count all vectors and make all codes anew, in a new frame. Inside a transaction, whose end does it."""
    for statement in (
        "DELETE FROM frame",
        f"DELETE FROM meta WHERE name = '{STATE}'",
        "DELETE FROM code",
        "DELETE FROM uncoded",
        f"INSERT INTO uncoded(block) SELECT DISTINCT chunk_key >> {BLOCK_BITS} FROM vector",
    ):
        await connection.execute(statement)


async def out_of_step(connection: File) -> int:
    """Blocks whose codes are not what their vectors make, but for those that the transaction's end makes anew."""
    frame = await connection.run(_frame)
    states = list(await connection.execute_fetchall("SELECT 1 FROM meta WHERE name = ?", (STATE,)))
    wrong = int(bool(states) != (frame is not None))
    blocks = [
        int(row[0])
        for row in await connection.execute_fetchall(
            f"SELECT block FROM (SELECT block FROM code UNION SELECT chunk_key >> {BLOCK_BITS} FROM vector)"
            " WHERE block NOT IN (SELECT block FROM uncoded) ORDER BY block"
        )
    ]
    for first in range(0, len(blocks), AT_ONCE):
        some = blocks[first : first + AT_ONCE]
        wrong += await connection.run(partial(_wrong, blocks=some, frame=frame))
    return wrong


def _wrong(connection: Connection, blocks: Sequence[int], frame: Frame | None) -> int:
    wrong = 0
    for block in blocks:
        stored = connection.execute("SELECT vectors, digest, data FROM code WHERE block = ?", (block,)).fetchone()
        if frame is None:
            [(count,)] = connection.execute(
                f"SELECT count(*) FROM vector, (SELECT ? AS block) WHERE {_OF_BLOCK}", (block,)
            )
            made: tuple[object, ...] | None = (count, None, None) if count else None
        else:
            made = _made(connection, block, frame)
        wrong += stored != made
    return wrong


def _made_of(connection: Connection) -> int:
    """How many vectors there were when the frame was made; 0: there is none."""
    rows = connection.execute("SELECT vectors FROM frame").fetchall()
    return int(rows[0][0]) if rows else 0


def _frame(connection: Connection) -> Frame | None:
    rows = connection.execute("SELECT centre FROM frame").fetchall()
    return Frame(bytes(rows[0][0])) if rows else None


def _begin(connection: Connection, vectors: int) -> None:
    """A new frame, in which no block has codes yet."""
    every = -(-vectors // SAMPLED)
    sample = [bytes(row[0]) for row in islice(connection.execute("SELECT data FROM vector"), 0, None, every)]
    [(usual, _)] = Counter(map(len, sample)).most_common(1)
    frame = Frame.around([data for data in sample if len(data) == usual])
    connection.execute("DELETE FROM frame")
    connection.execute("INSERT INTO frame(vectors, centre) VALUES (?, ?)", (vectors, frame.centre))
    connection.execute(
        "INSERT INTO uncoded(block) SELECT block FROM code WHERE block NOT IN (SELECT block FROM uncoded)"
    )


def _end(connection: Connection) -> None:
    connection.execute("DELETE FROM frame")
    connection.execute("DELETE FROM meta WHERE name = ?", (STATE,))
    connection.execute("UPDATE code SET digest = NULL, data = NULL")


async def _bring_in_step(connection: File, *, has_frame: bool) -> None:
    if not has_frame:
        await connection.run(_count)
        return
    frame = await connection.run(_frame)
    assert frame is not None
    while await connection.run(lambda bare: _code(bare, frame)):
        pass
    await connection.execute(
        "INSERT INTO meta(name, value) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
        (STATE, token_hex(8)),
    )


def _count(connection: Connection) -> None:
    connection.execute(
        "INSERT INTO code(block, vectors)"
        f" SELECT block, (SELECT count(*) FROM vector WHERE {_OF_BLOCK}) FROM uncoded WHERE TRUE"
        " ON CONFLICT(block) DO UPDATE SET vectors = excluded.vectors"
    )
    connection.execute("DELETE FROM code WHERE vectors = 0 AND block IN (SELECT block FROM uncoded)")
    connection.execute("DELETE FROM uncoded")


def _code(connection: Connection, frame: Frame) -> bool:
    """The next blocks; False: there are none."""
    blocks = [int(row[0]) for row in connection.execute(_NEXT, (AT_ONCE,)).fetchall()]
    for block in blocks:
        if (made := _made(connection, block, frame)) is None:
            connection.execute("DELETE FROM code WHERE block = ?", (block,))
        else:
            connection.execute(
                "INSERT INTO code(block, vectors, digest, data) VALUES (?, ?, ?, ?) ON CONFLICT(block) DO UPDATE"
                " SET vectors = excluded.vectors, digest = excluded.digest, data = excluded.data",
                (block, *made),
            )
        connection.execute("DELETE FROM uncoded WHERE block = ?", (block,))
    return bool(blocks)


def _made(connection: Connection, block: int, frame: Frame) -> tuple[int, bytes, bytes] | None:
    """How many vectors of a block have codes, a digest of these, and themselves; None: it has no such vectors.

    A vector of another length than the frame's has none; `sources verify` finds it.
    """
    first = block << BLOCK_BITS
    rows = connection.execute(
        "SELECT chunk_key, data FROM vector WHERE chunk_key BETWEEN ? AND ? AND length(data) = ?"
        " ORDER BY chunk_key, part_key",
        (first, first + 2**BLOCK_BITS - 1, frame.dimension),
    ).fetchall()
    if not rows:
        return None
    data = frame.coded([int(row[0]) for row in rows], [row[1] for row in rows])
    return len(rows), blake2b(data, digest_size=8).digest(), data
