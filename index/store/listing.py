"""The keys of all chunks that filters let through, where those are not too many to be listed.

A filter that an index answers is asked first, and the others of what it finds; what it finds is counted before, so that
one that leaves nearly everything costs next to nothing.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from index.model import Filters
from index.store.driver import Connection
from index.store.lists import as_json, numbers_of
from index.store.predicates import LABELS, marks_for, predicate

LISTED: Final = 100_000
"""Keys that are listed at most, in a microsecond each; each look at a candidate that spares takes four."""


class _Start(NamedTuple):
    """Rows of an index that are found by one filter. `joined` leads from them to `document` and `chunk`, `shortest` to
    no more than a `column` of keys.
    """

    rows: str
    values: tuple[object, ...]
    others: Filters
    joined: str = "CROSS JOIN chunk ON chunk.document_key = document.document_key"
    shortest: str = joined
    column: str = "chunk.chunk_key"

    def rows_found(self, connection: Connection, most: int) -> int:
        question = f"SELECT count(*) FROM (SELECT 1 FROM {self.rows} LIMIT ?)"
        [(count,)] = connection.execute(question, (*self.values, most)).fetchall()
        return int(count)

    def keys(self, connection: Connection, most: int) -> list[int]:
        """Some of them more than once."""
        others, values = predicate(self.others)
        found = f"{self.rows} {self.joined} WHERE {others}" if others else f"{self.rows} {self.shortest}"
        [(keys,)] = connection.execute(
            f"SELECT group_concat(chunk_key) FROM (SELECT {self.column} AS chunk_key FROM {found} LIMIT ?)",
            (*self.values, *values, most),
        ).fetchall()
        return numbers_of(keys)


def listed_keys(connection: Connection, filters: Filters, sources: Sequence[int]) -> frozenset[int] | None:
    """Of chunks in the sources with these keys; None for more than `LISTED`, or where that many have to be looked at.

    Kinds and sections have no index; documents that have others than windows are few enough to be looked at.
    """
    most = LISTED
    starts = list(_starts(filters, as_json(sources)))
    counts = [start.rows_found(connection, most + 1) for start in starts]
    is_indexed = not (filters.kinds or filters.sections)
    if is_indexed and min(counts, default=0) > most:
        return None
    start = starts[counts.index(min(counts))] if counts else _of_all(filters, as_json(sources))
    found = start.keys(connection, most + 1)
    return frozenset(found) if len(found) <= most else None


_SOURCES: Final = "json_each(?) AS source CROSS JOIN"


def _starts(filters: Filters, sources: str) -> Iterator[_Start]:
    if filters.senders:
        yield _Start(
            f"{_SOURCES} chunk_sender AS said ON said.sender IN ({marks_for(filters.senders)})"
            " AND said.chunk_key BETWEEN source.value << 32 AND source.value << 32 | 4294967295",
            (sources, *sorted(filters.senders)),
            replace(filters, senders=frozenset()),
            "CROSS JOIN chunk ON chunk.chunk_key = said.chunk_key CROSS JOIN document USING (document_key)",
            "",
            "said.chunk_key",
        )
    if filters.after_ms is not None:
        yield _by_index("document_last", "last_ms >= ?", (sources, filters.after_ms), replace(filters, after_ms=None))
    if filters.before_ms is not None:
        yield _by_index(
            "document_first", "first_ms < ?", (sources, filters.before_ms), replace(filters, before_ms=None)
        )
    if filters.has_link:
        yield _by_index("document_link", "has_link = 1", (sources,), replace(filters, has_link=False))
    for name, field in LABELS.items():
        if values := getattr(filters, field):
            yield _Start(
                f"document_label AS label CROSS JOIN document ON label.name = '{name}'"
                f" AND label.value IN ({marks_for(values)}) AND document.document_key = label.document_key"
                " AND document.source_key IN (SELECT value FROM json_each(?))",
                (*sorted(value.casefold() for value in values), sources),
                replace(filters, **{field: frozenset()}),
            )


def _by_index(index: str, test: str, values: tuple[object, ...], others: Filters) -> _Start:
    rows = f"{_SOURCES} document INDEXED BY {index} ON document.source_key = source.value AND document.{test}"
    return _Start(rows, values, others)


def _of_all(filters: Filters, sources: str) -> _Start:
    return _Start(f"{_SOURCES} document ON document.source_key = source.value", (sources,), filters)
