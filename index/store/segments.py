"""Segments of the full-text indexes, merged into one where there are many.

FTS5 looks for each word of a question in every segment. It merges four of a size by itself, which leaves a dozen in an
index of a million chunks; in one of them ranking by words takes a fifth less (docs/scale.md). To write a whole index
once more takes 45 seconds of processor time for a million chunks, so it is done where there are many segments, a part
at a time: what is merged stays merged if a run ends amid it.
"""

from typing import Final

from index.store.driver import Connection
from index.store.fulltext import SETTLED

MOST: Final = 8
"""With more in either index, both are merged. A first fill of a million chunks leaves twelve."""
LEAST_CHUNKS: Final = 50_000
"""A smaller index is asked in a few milliseconds anyway."""
PAGES_AT_ONCE: Final = 2_000
"""Of about 4 kB; half a second."""


def many(connection: Connection) -> list[str]:
    """The indexes whose segments are to be merged; all of them or none."""
    [(chunks,)] = connection.execute("SELECT coalesce(sum(chunks), 0) FROM source").fetchall()
    if chunks < LEAST_CHUNKS or max(_segments(connection, table) for table in SETTLED) <= MOST:
        return []
    return list(SETTLED)


def merge_some(connection: Connection, table: str) -> bool:
    """Whether something was left to merge. Inside a transaction."""
    before = connection.total_changes
    connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('merge', ?)", (-PAGES_AT_ONCE,))
    return connection.total_changes - before > 1  # one for the statement itself, as FTS5 documents


def _segments(connection: Connection, table: str) -> int:
    """Each has an entry for its first page."""
    [(segments,)] = connection.execute(f"SELECT count(DISTINCT segid) FROM {table}_idx").fetchall()
    return int(segments)
