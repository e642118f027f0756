"""The codes of all vectors in the memory of a reader, kept between questions for as long as nothing changes them.

When something did, only the blocks that changed are read again. One reader may ask on several connections and threads
at once: each gets the codes of the state that its own transaction sees.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

from index.store.codes import STATE
from index.store.driver import Connection
from index.store.estimates import Codes
from index.store.signs import BLOCK_BITS, Frame

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_AT_ONCE: Final = 64
"""Blocks that are read at once: a megabyte or so."""


@dataclass(frozen=True, slots=True)
class Coded:
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
        """As the connection's transaction sees them; None: there are none, and the vectors are few."""
        rows = connection.execute("SELECT value FROM meta WHERE name = ?", (STATE,)).fetchall()
        with self._lock:
            if not rows:
                self._held = None
            elif self._held is None or self._held.state != rows[0][0]:
                self._held = _read(connection, str(rows[0][0]), self._held)
            return self._held


def _read(connection: Connection, state: str, former: Coded | None) -> Coded:
    import numpy

    [(centre,)] = connection.execute("SELECT centre FROM frame").fetchall()
    frame = Frame(bytes(centre))
    if former is not None and former.frame != frame:
        former = None
    listed = connection.execute("SELECT block, vectors, digest FROM code ORDER BY block").fetchall()
    count = sum(row[1] for row in listed)
    chunks = numpy.empty(count, numpy.int64)
    planes = [numpy.empty(count, numpy.uint64) for _ in range(frame.words)]
    lengths, factors = numpy.empty(count, numpy.float32), numpy.empty(count, numpy.float32)
    blocks: dict[int, tuple[bytes, int, int]] = {}
    at = 0
    for block, vectors, digest in listed:
        blocks[block] = (bytes(digest), at, at + vectors)
        at += vectors
    for known, run in _runs(blocks, former.blocks if former else {}):
        first, past = blocks[run[0]][1], blocks[run[-1]][2]
        if known and former is not None:
            old = slice(former.blocks[run[0]][1], former.blocks[run[-1]][2])
            chunks[first:past] = former.codes.chunks[old]
            for plane, former_plane in zip(planes, former.codes.planes, strict=True):
                plane[first:past] = former_plane[old]
            lengths[first:past] = former.codes.lengths[old]
            factors[first:past] = former.codes.factors[old]
        else:
            records = _records(connection, run, frame)
            keys = numpy.repeat(numpy.array(run, numpy.int64), [blocks[one][2] - blocks[one][1] for one in run])
            chunks[first:past] = (keys << BLOCK_BITS) | records["chunk"]
            for number, plane in enumerate(planes):
                plane[first:past] = records["signs"][:, number]
            lengths[first:past] = records["length"]
            factors[first:past] = records["factor"]
    return Coded(state, frame, Codes(chunks, planes, lengths, factors), blocks)


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


def _records(connection: Connection, run: Sequence[int], frame: Frame) -> "NDArray[numpy.void]":
    """Of blocks that are neighbours, in order."""
    import numpy

    rows = connection.execute("SELECT data FROM code WHERE block BETWEEN ? AND ? ORDER BY block", (run[0], run[-1]))
    return numpy.frombuffer(b"".join(row[0] for row in rows), frame.records())
