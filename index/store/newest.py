"""What changed last, inside a scope: documents by their times, and of each the first chunk that the scope leaves."""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import islice
from typing import Final

from index.model import ChunkId
from index.store.driver import Connection
from index.store.lists import as_json
from index.store.postings import passing
from index.store.scope import Scope, within

Row = tuple[int | None, str, int]
"""Of a document: its time, its id, its key."""
_AT_ONCE: Final = 100
_LOOKED_AT: Final = 10_000
"""Documents that are looked at one by one; beyond, all that the filters leave are put in order at once."""


def newest(connection: Connection, scope: Scope, *, limit: int) -> list[ChunkId]:
    """One chunk of each of at most `limit` documents, newest first; at the end those of which no time is known.

    Documents of one time are in the order of their ids. Reads what stands in the scope, and nothing beside it.
    """
    if scope.is_empty or limit < 1:
        return []
    order = _walked(connection, scope, limit) if scope.keys is None else None
    if order is None:
        condition, values = _documents(scope)
        rows = connection.execute(
            f"SELECT document_key FROM document WHERE {condition} ORDER BY last_ms DESC, id LIMIT ?", (*values, limit)
        )
        order = [int(row[0]) for row in rows]
    first = _first_chunks(connection, order, scope)
    return [first[document] for document in order if document in first]


def _walked(connection: Connection, scope: Scope, limit: int) -> list[int] | None:
    """From the newest of all sources on, as far as needed; None where a filter lets too few of them through."""
    newer = _by_time(connection, scope)
    order: list[int] = []
    looked_at = 0
    while some := [int(row[2]) for row in islice(newer, max(limit, _AT_ONCE))]:
        order += _passing(connection, some, scope)
        looked_at += len(some)
        if len(order) >= limit:
            break
        if scope.predicate and looked_at >= _LOOKED_AT:
            return None
    return order[:limit]


def _by_time(connection: Connection, scope: Scope) -> Iterator[Row]:
    """All documents of the sources in a scope, newest first. A source is looked into once its newest one has come."""
    inside, bounds = within("source.source_key << 32", scope.ranges)
    rows = "FROM document INDEXED BY document_last WHERE source_key = {} ORDER BY last_ms DESC, id"
    heads = connection.execute(
        "SELECT newest.last_ms, newest.id, newest.document_key, source.source_key FROM source"
        " CROSS JOIN document AS newest ON newest.document_key ="
        f" (SELECT document_key {rows.format('source.source_key')} LIMIT 1) WHERE source.chunks > 0 AND {inside}",
        bounds,
    ).fetchall()
    heap: list[tuple[tuple[bool, int, str], Row, int, Iterator[Row] | None]]
    heap = [(_newest_first(head[:3]), head[:3], head[3], None) for head in heads]
    heapify(heap)
    while heap:
        _, row, source, others = heap[0]
        yield row
        if others is None:
            others = iter(connection.execute(f"SELECT last_ms, id, document_key {rows.format('?')}", (source,)))
            next(others)  # the one that came
        if (further := next(others, None)) is None:
            heappop(heap)
        else:
            heapreplace(heap, (_newest_first(further), further, source, others))


def _newest_first(row: Row) -> tuple[bool, int, str]:
    return row[0] is None, -(row[0] or 0), row[1]


def _passing(connection: Connection, documents: list[int], scope: Scope) -> list[int]:
    if not scope.predicate:
        return documents
    rows = connection.execute(
        "SELECT asked.value FROM json_each(?) AS asked CROSS JOIN document ON document_key = asked.value"
        " WHERE EXISTS (SELECT 1 FROM chunk WHERE chunk.document_key = document.document_key"
        f" AND {scope.predicate}) ORDER BY asked.key",
        (as_json(documents), *scope.values),
    )
    return [int(row[0]) for row in rows]


def _documents(scope: Scope) -> tuple[str, list[object]]:
    """SQL over `document`, with its values."""
    if scope.keys is not None:
        held = "SELECT document_key FROM chunk WHERE chunk_key IN (SELECT value FROM json_each(?))"
        return f"document_key IN ({held})", [as_json(sorted(scope.keys))]
    sources = None if scope.ranges is None else [(low >> 32, high >> 32) for low, high in scope.ranges]
    inside, bounds = within("source_key", sources)
    if not scope.predicate:
        return inside, list(bounds)
    held = f"SELECT 1 FROM chunk WHERE chunk.document_key = document.document_key AND {scope.predicate}"
    return f"{inside} AND EXISTS ({held})", [*bounds, *scope.values]


def _first_chunks(connection: Connection, documents: Sequence[int], scope: Scope) -> dict[int, ChunkId]:
    rows = connection.execute(
        "SELECT chunk_key, document_key, id FROM chunk WHERE document_key IN (SELECT value FROM json_each(?))"
        " ORDER BY document_key, ordinal",
        (as_json(documents),),
    ).fetchall()
    inside = set(passing(connection, [int(row[0]) for row in rows if scope.may_hold(int(row[0]))], scope))
    found: dict[int, ChunkId] = {}
    for key, document, identity in rows:
        if int(key) in inside:
            found.setdefault(int(document), ChunkId(int(identity)))
    return found
