"""A second connection to the index file, on which a question is ranked by meaning while the first ranks it by words.

Both must see one state of the file. A connection is told whether another one has committed since it was last asked
(`PRAGMA data_version`), so it is asked before the first connection's transaction begins and again inside of its own:
if nothing was committed in between, both see the same rows. If something was, the first connection does both.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from index.errors import StoreError
from index.store.driver import Connection, File
from index.store.store import Store

Result = TypeVar("Result")


class Beside:
    """Opened for the second question that is ranked both ways, since a program that asks one has no use for it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_wanted = False
        self._file: File | None = None
        self._seen: int | None = None

    async def look(self) -> None:
        """Before the transaction of the first connection begins."""
        self._seen = None
        if self._is_wanted and self._file is None:
            with suppress(StoreError):  # too many open files, say: the first connection can be asked all the same
                self._file = await self._store.another()
            self._is_wanted = self._file is not None
        if self._file is not None:
            self._seen = await self._file.run(version)

    async def run(self, work: Callable[[Connection], Result]) -> Result:
        """`work` in a transaction that sees what that of the first connection sees, which has to have begun."""
        if self._file is not None and self._seen is not None:
            found = await self._file.run(lambda connection: self._run(connection, work))
            if found is not None:
                return found[0]
        self._is_wanted = True
        return await self._store.connection.run(work)

    def _run(self, connection: Connection, work: Callable[[Connection], Result]) -> tuple[Result] | None:
        """In one visit to its thread; None where it does not see the same rows."""
        connection.execute("BEGIN")
        try:
            return (work(connection),) if version(connection) == self._seen else None
        finally:
            if connection.in_transaction:
                connection.execute("COMMIT")


def version(connection: Connection) -> int:
    """Another number as soon as another connection has committed; outside of a transaction, as of now."""
    [(number,)] = connection.execute("PRAGMA data_version").fetchall()
    return int(number)
