"""The codes of all vectors in the memory of a reader, kept between questions for as long as nothing changes them.

When something did, only the blocks that changed are read again. One reader may ask on several connections and threads
at once: each gets the codes of the state that its own transaction sees.
"""

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Final

from msgspec import Struct

from index.errors import StoreError
from index.store.codes import STATE
from index.store.driver import Connection
from index.store.estimates import Codes
from index.store.signs import BLOCK_BITS, Frame

_AT_ONCE: Final = 64
"""Blocks that are read at once: a megabyte or so."""


class Coded(Struct, frozen=True):
    """All codes of one state of the file, with what they were made with."""

    state: str
    frame: Frame
    codes: Codes
    blocks: dict[int, tuple[bytes, int, int]]  # digest, and where its codes stand: from where to before where


class HeldCodes:
    """Those of one index file."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: Coded | None = None

    def at(self, connection: Connection) -> Coded | None:
        """As the connection's transaction sees them; None: there are none, for few vectors or right after an update.

        Raises StoreError for rows that `codes` did not write.
        """
        rows = connection.execute("SELECT value FROM meta WHERE name = ?", (STATE,)).fetchall()
        with self._lock:
            if not rows:
                self._held = None
            elif self._held is None or self._held.state != rows[0][0]:
                try:
                    self._held = _read(connection, str(rows[0][0]), self._held)
                except (TypeError, ValueError) as error:  # of numpy, for the most part
                    message = "the codes of vectors are damaged (run `sources verify --repair`)"
                    raise StoreError(message) from error
            return self._held


def _read(connection: Connection, state: str, former: Coded | None) -> Coded:
    import numpy

    [(centre,)] = connection.execute("SELECT centre FROM frame").fetchall()
    frame = Frame(bytes(centre))
    if former is not None and former.frame != frame:
        former = None
    listed = connection.execute("SELECT block, vectors, digest FROM code ORDER BY block").fetchall()
    blocks: dict[int, tuple[bytes, int, int]] = {}
    at = 0
    for block, vectors, digest in listed:
        blocks[block] = (bytes(digest), at, at + vectors)
        at += vectors
    codes = Codes(at, frame.words)
    for is_known, run in _runs(blocks, former.blocks if former else {}):
        first = blocks[run[0]][1]
        if is_known and former is not None:
            codes.copy(first, former.codes, former.blocks[run[0]][1], former.blocks[run[-1]][2])
        else:
            rows = connection.execute(
                "SELECT data FROM code WHERE block BETWEEN ? AND ? ORDER BY block", (run[0], run[-1])
            )
            records = numpy.frombuffer(b"".join(row[0] for row in rows), frame.records())
            keys = numpy.repeat(numpy.array(run, numpy.int64), [blocks[one][2] - blocks[one][1] for one in run])
            codes.fill(first, (keys << BLOCK_BITS) | records["chunk"], records)
    return Coded(state, frame, codes, blocks)


def _runs(
    blocks: dict[int, tuple[bytes, int, int]], former: dict[int, tuple[bytes, int, int]]
) -> Iterator[tuple[bool, Sequence[int]]]:
    """Neighbouring blocks that are the same as in the former state and were neighbours there, or that are not."""
    run: list[int] = []
    was_known, past = False, -1
    for block, (digest, _, _) in blocks.items():
        found = former.get(block)
        is_known = found is not None and found[0] == digest
        goes_on = found is not None and found[1] == past if is_known else len(run) < _AT_ONCE
        if run and (is_known != was_known or not goes_on):
            yield was_known, run
            run = []
        run.append(block)
        was_known, past = is_known, found[2] if found else -1
    if run:
        yield was_known, run
