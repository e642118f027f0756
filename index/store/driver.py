"""Which sqlite3 module this process uses, and how every connection is opened.

The newer of `pysqlite3` and the standard library's `sqlite3` wins. The two drivers' rows and errors do not mix, so
`Row` and the error classes are imported from here and nowhere else.
"""

import importlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self, TypeVar

import aiosqlite

from index.errors import StoreError

if TYPE_CHECKING:
    import sqlite3 as _sqlite3
else:

    def _newest() -> object:
        found = [importlib.import_module("sqlite3")]
        with suppress(ImportError):
            found.insert(0, importlib.import_module("pysqlite3"))
        return max(found, key=lambda module: module.sqlite_version_info)

    _sqlite3 = _newest()

Row = _sqlite3.Row
Connection = _sqlite3.Connection
DatabaseError = _sqlite3.DatabaseError
OperationalError = _sqlite3.OperationalError

DRIVER: Final = _sqlite3.__name__.partition(".")[0]
VERSION: Final = _sqlite3.sqlite_version
LEAST: Final = (3, 42, 0)
"""FTS5's secure-delete came with 3.42; below it a deleted word stays readable, so we refuse to start."""
SAFE: Final = (3, 51, 3)
"""Below it several checkpointers can lose rows (the WAL-reset race); `status` and `check` warn."""

# Of each value that is neither a number nor a text the driver asks whether it has to be adapted, which takes longer
# than to bind it, unless it is told: 1.4 µs for none and 1.2 for bytes, and so 0.2.
_sqlite3.register_adapter(type(None), lambda none: none)
_sqlite3.register_adapter(bytes, bytearray)

Result = TypeVar("Result")

BUSY_TIMEOUT_MS: Final = 10_000
WRITER_CACHE_KB: Final = 32_768
"""Twice as much takes that memory and saves no time, at 20,000 chunks and at 80,000 (`python -m bench.writing`)."""
READER_CACHE_KB: Final = 16_384
"""A question in one room of a million windows takes 1,400 pages from the system with the two megabytes that SQLite has
by itself, and 500 with this; twice as much would spare another 100."""
CACHED_STATEMENTS: Final = 64
DAMAGED: Final = "look with `sources verify`, or delete it: it is built again"
"""What to do with a file that SQLite cannot make sense of."""


def is_damage(error: Exception) -> bool:
    """Whether SQLite could not make sense of the file, or the disk not give it: nobody's mistake in a statement."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (_sqlite3.SQLITE_CORRUPT, _sqlite3.SQLITE_NOTADB, _sqlite3.SQLITE_IOERR)


def version_info() -> tuple[int, int, int]:
    """Of the SQLite library in use."""
    return _sqlite3.sqlite_version_info


def connector(path: Path, *, is_writer: bool) -> Callable[[], "_sqlite3.Connection"]:
    """A function that opens `path`; a reader cannot create the file or write to it.

    `secure_delete` is per connection and off by default: here is the one place that sets it.
    """

    def connect() -> "_sqlite3.Connection":
        if version_info() < LEAST:
            message = (
                f"SQLite {VERSION} ({DRIVER}) is too old to erase text for good (3.42 is needed: install pysqlite3)"
            )
            raise StoreError(message)
        mode = "rwc" if is_writer else "ro"
        try:
            connection = _sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=CACHED_STATEMENTS,
            )
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA temp_store = MEMORY")  # sorted rows hold text: never a temporary file
            if is_writer:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KB}")
            else:
                connection.execute("PRAGMA query_only = ON")
                connection.execute(f"PRAGMA cache_size = -{READER_CACHE_KB}")
        except _sqlite3.Error as error:
            from index.store.remedies import remedy  # most programs never need it

            if error.sqlite_errorcode & 0xFF == _sqlite3.SQLITE_CORRUPT:  # `cache_size` has the schema read
                raise StoreError(f"{path.name}: cannot be read: {error} ({DAMAGED})") from error
            means = remedy(error, path) or "move it away: it is made anew"
            raise StoreError(f"{path.name}: cannot be opened: {error} ({means})") from error
        return connection

    return connect


class File(aiosqlite.Connection):
    """A connection with a thread of its own, on which it is used and nowhere else."""

    async def __aenter__(self) -> Self:
        """aiosqlite does not wait for the thread of a connection that could not be made; the loop may end before it."""
        try:
            await self
        except BaseException:
            self._thread.join(BUSY_TIMEOUT_MS / 1000)
            raise
        return self

    async def run(self, work: Callable[[Connection], Result]) -> Result:
        """`work` on that thread, with the bare connection: one change of threads, however many statements it has.

        On a busy machine each change of threads waits its turn. A task that is cancelled does not end the work.
        """
        result: Result = await self._execute(work, self._conn)  # type: ignore[no-untyped-call]  # aiosqlite gives it none
        return result

    async def end(self, how: Literal["COMMIT", "ROLLBACK"]) -> None:
        """End the transaction if there is one, also where a task was cancelled while its BEGIN was still waiting."""
        await self.run(lambda bare: bare.execute(how) if bare.in_transaction else None)


def open_file(path: Path, *, is_writer: bool) -> File:
    """An unopened aiosqlite connection: use it in `async with`, for one left open keeps the process alive."""
    return File(connector(path, is_writer=is_writer), CACHED_STATEMENTS)
