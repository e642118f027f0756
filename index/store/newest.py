"""What changed last, inside a scope: documents by their times, and of each the first chunk that the scope leaves."""

from collections.abc import Sequence

from index.model import ChunkId
from index.store.driver import Connection
from index.store.lists import as_json
from index.store.postings import passing
from index.store.scope import Scope, within


def newest(connection: Connection, scope: Scope, *, limit: int) -> list[ChunkId]:
    """One chunk of each of at most `limit` documents, newest first; at the end those of which no time is known.

    Documents of one time are in the order of their ids. Reads what stands in the scope, and nothing beside it.
    """
    if scope.is_empty or limit < 1:
        return []
    condition, values = _documents(scope)
    rows = connection.execute(
        f"SELECT document_key FROM document WHERE {condition} ORDER BY last_ms DESC, id LIMIT ?", (*values, limit)
    )
    order = [int(row[0]) for row in rows]
    first = _first_chunks(connection, order, scope)
    return [first[document] for document in order if document in first]


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
