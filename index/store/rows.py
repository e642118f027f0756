"""Many rows in few statements: with triggers or foreign keys, each statement of its own keeps copies of the pages that
it changes, to take them back should it fail, and that costs as much again as the row.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from index.store.driver import Connection

AT_ONCE: Final = 10
"""Rows of a statement. Counted by instructions, twenty of a chunk's save a hundredth of its row more."""


def insert(connection: Connection, into: str, rows: Sequence[tuple[object, ...]], *, or_else: str = "") -> None:
    """Rows, as long as each other, into a table with its columns, in this order. Inside a transaction.

    `or_else` is what stands behind the values: what a conflict does.
    """
    if not rows:
        return
    row = f"({', '.join('?' * len(rows[0]))})"
    whole = len(rows) - len(rows) % AT_ONCE
    if whole:
        connection.executemany(
            f"INSERT INTO {into} VALUES {', '.join([row] * AT_ONCE)} {or_else}",
            [tuple(chain.from_iterable(rows[first : first + AT_ONCE])) for first in range(0, whole, AT_ONCE)],
        )
    if whole < len(rows):
        connection.executemany(f"INSERT INTO {into} VALUES {row} {or_else}", rows[whole:])
