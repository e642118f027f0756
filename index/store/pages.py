"""Stale bytes inside pages: copies of rows that SQLite leaves behind when it shares rows out among pages.

`secure_delete` overwrites a row where it stood when it was deleted. Before that the row may have moved: balancing a
tree writes pages anew and leaves the old bytes in the unallocated space between a page's list of cells and its content.
Such a copy outlives its row, for deleting that one touches another page. No switch of SQLite reaches it but a VACUUM of
the whole file. So after each run the unallocated space of every page that the run wrote is made zero, in the file.

That is safe under three conditions, which `zero_gaps` cannot check and `erase.wipe` brings about: the write-ahead log
is empty, nobody else can write, and this process keeps the descriptor open for as long as it has any connection to the
file, since closing one drops the POSIX locks of all. The bytes mean nothing to SQLite, so readers may look meanwhile.

Format: https://sqlite.org/fileformat2.html, sections 1.6 (b-tree pages) and 4.1 (the log).
"""

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LOG_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_PAGE_BYTES_OF_LOG: Final = 8
_SALTS_OF_LOG: Final = 16
_SALTS_OF_FRAME: Final = 8
"""The same as the log's in those that were written since it last began anew."""
_SALTS_BYTES: Final = 8
_BEGINNING_OF_LOG: Final = 12
_BEGINNING_BYTES: Final = 12
"""How often it began anew, and its salts."""
_FILE_HEADER_BYTES: Final = 100  # on the first page only
_INTERIOR: Final = frozenset({2, 5})
_LEAF: Final = frozenset({10, 13})
_MOST_PAGES: Final = 0x02000000
"""In a larger file the first byte of an overflow page, part of a number, could pass for the type of a tree page."""

_open: dict[Path, int] = {}  # connections of this process, by file
_descriptors: dict[Path, int] = {}


@contextmanager
def in_use(file: Path) -> Iterator[None]:
    """Around every connection to `file`: a descriptor of it is closed only when the last of them is."""
    file = file.absolute()
    _open[file] = _open.get(file, 0) + 1
    try:
        yield
    finally:
        _open[file] -= 1
        if not _open[file]:
            del _open[file]
            if (descriptor := _descriptors.pop(file, None)) is not None:
                os.close(descriptor)


def log_bytes(log: Path) -> int:
    """Size of a write-ahead log; 0 when there is none. It does not shrink when the log begins anew."""
    try:
        return log.stat().st_size
    except FileNotFoundError:
        return 0


def current_log_bytes(log: Path) -> int:
    """The same without what stands in it from before it last began anew."""
    with _frames(log) as (descriptor, frame_bytes, frames):
        salts = os.pread(descriptor, _SALTS_BYTES, _SALTS_OF_LOG) if frames else b""

        def is_older(number: int) -> bool:
            at = _LOG_HEADER_BYTES + number * frame_bytes + _SALTS_OF_FRAME
            return os.pread(descriptor, _SALTS_BYTES, at) != salts

        current = bisect_left(range(frames), 1, key=is_older)
        return _LOG_HEADER_BYTES + frame_bytes * current if current else 0


def beginning(log: Path) -> bytes:
    """Other bytes each time that a write-ahead log begins anew; none where it is empty or there is none."""
    try:
        with log.open("rb", buffering=0) as file:
            return os.pread(file.fileno(), _BEGINNING_BYTES, _BEGINNING_OF_LOG)
    except FileNotFoundError:
        return b""


def pages_in(log: Path) -> set[int]:
    """The pages that stand in a write-ahead log, those from before it last began anew among them."""
    with _frames(log) as (descriptor, frame_bytes, frames):
        places = range(_LOG_HEADER_BYTES, _LOG_HEADER_BYTES + frame_bytes * frames, frame_bytes or 1)
        return {int.from_bytes(os.pread(descriptor, 4, place), "big") for place in places}


@contextmanager
def _frames(log: Path) -> Iterator[tuple[int, int, int]]:
    """A descriptor of a log, the bytes of a frame, and how many frames stand in it.

    SQLite takes no locks on the log itself, so it may be opened and closed.
    """
    if log_bytes(log) < _LOG_HEADER_BYTES:
        yield -1, 0, 0
        return
    with log.open("rb", buffering=0) as file:
        descriptor = file.fileno()
        frame_bytes = _FRAME_HEADER_BYTES + int.from_bytes(os.pread(descriptor, 4, _PAGE_BYTES_OF_LOG), "big")
        yield descriptor, frame_bytes, max(0, log_bytes(log) - _LOG_HEADER_BYTES) // frame_bytes


def zero_gaps(file: Path, pages: Iterable[int] | None, page_bytes: int) -> int:
    """Make the unallocated space of these pages zero, or that of all (None); returns in how many it was not.

    Inside `in_use`. What was written is on the disk when this returns.
    """
    file = file.absolute()
    if (descriptor := _descriptors.get(file)) is None:
        if file not in _open:
            raise AssertionError("a descriptor has to outlive the connections to its file")
        descriptor = _descriptors[file] = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    count = os.fstat(descriptor).st_size // page_bytes
    if count >= _MOST_PAGES:
        raise AssertionError("a file of this size needs a map of its overflow pages")
    dirty = 0
    for number in range(1, count + 1) if pages is None else sorted(pages):
        if not 1 <= number <= count:
            continue
        at = (number - 1) * page_bytes
        start, end = gap(os.pread(descriptor, page_bytes, at), is_first=number == 1)
        if start < end:
            os.pwrite(descriptor, bytes(end - start), at + start)
            dirty += 1
    if dirty:
        os.fdatasync(descriptor)
    return dirty


def gap(page: bytes, *, is_first: bool = False) -> tuple[int, int]:
    """Where the unallocated space of a tree page begins and ends; (0, 0) where there is none, or only zeros in it."""
    at = _FILE_HEADER_BYTES if is_first else 0
    if page[at] in _LEAF:
        header = 8
    elif page[at] in _INTERIOR:
        header = 12
    else:
        return 0, 0
    cells = int.from_bytes(page[at + 3 : at + 5], "big")
    start = at + header + 2 * cells
    end = int.from_bytes(page[at + 5 : at + 7], "big") or 65536
    if not start < end <= len(page) or page.count(0, start, end) == end - start:
        return 0, 0
    return start, end
