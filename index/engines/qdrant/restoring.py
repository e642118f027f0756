"""An index file made from a collection, without embedding anything: after the loss of the writer's disk, or to go back.

Documents are put one by one in the order of their ids, some in each transaction, so a run that is stopped goes on where
it was. What the cluster never had is not there afterwards: cursors, clones and the ledger of chat. So the next refresh
reads every source from its beginning; pages that did not change keep their chunks and vectors, and rooms are read anew.
"""

import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from typing import Any, Final

from msgspec import structs
from qdrant_client import models
from qdrant_client.conversions.common_types import Record

from index.engines.qdrant import label as labels
from index.engines.qdrant import records
from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.comparison import scroll
from index.engines.qdrant.delivery import MADE, REVISION, Progress, counted
from index.engines.qdrant.engine import consistency_of
from index.engines.qdrant.label import Label
from index.engines.qdrant.layout import DENSE
from index.engines.qdrant.points import stored_chunk, stored_parts
from index.errors import EngineError, StoreError
from index.model import Document, Fingerprint, SourceId, Vector
from index.store import documents, outgoing, rooms, vectors
from index.store.outgoing import StoredPart
from index.store.store import Store
from index.text.searchable import DocumentKeys, Searchable, searchable

RESTORING: Final = "copy.restoring"
"""Entry of `meta`: which state of the collection is being restored; empty when it is done."""
_AT_ONCE: Final = 50


@dataclass(frozen=True, slots=True)
class _Vectors:
    """What a chunk does not say of itself."""

    parts: tuple[StoredPart, ...]
    digest: bytes


Restored = Mapping[int, _Vectors]
"""By the chunk's id."""


async def restore(
    store: Store,
    cluster: Cluster,
    *,
    document_keys: DocumentKeys,
    salt: Callable[[Fingerprint], str],
    writer: str,
    progress: Progress = lambda done, total: None,
) -> int:
    """Fill an empty file, or one that an earlier run began to fill; returns the documents put in this run.

    In the end the file is the collection's writer, under the new name `writer`, and nobody else is. `StoreError` for a
    file that holds an index already.
    """
    label = await labels.read_label(cluster)
    labels.check_restorable(label, cluster)
    await _begin(store, label)
    said = await records.read_all(cluster)
    await _put_sources(store, said)
    keys = {source.id: source.key for source in await store.sources()}
    await _list(store, cluster)
    rows = list(await store.connection.execute_fetchall("SELECT count(DISTINCT document) FROM temp.listed"))
    total, done, put = int(rows[0][0]), 0, 0
    made_with = salt(label.fingerprint)
    async for batch in _batches(store):
        found = await _documents(cluster, batch)
        async with store.transaction():
            for document, parts in found:
                if await _is_there(store, document):
                    continue
                key = keys.get(document.source)
                if key is None:
                    what = f"{cluster.name}: chunks of {document.source} are there, and its record is not"
                    raise EngineError(f"{what} (are both collections of the same time?)")
                items = [_as_digested(item, parts, made_with) for item in searchable(document, document_keys)]
                await documents.put(store.connection, key, document, items, salt=made_with)
                await _put_vectors(store, parts)
                put += 1
        done += len(batch)
        progress(done, total)
    await _take_over(store, cluster, label, said, writer)
    return put


async def _begin(store: Store, label: Label) -> None:
    state = f"{label.made} {counted(label)}"
    begun = await store.value(RESTORING)
    if begun == state:
        return
    if begun:
        what = f"{store.name}: was begun from a collection that was written to since"
        raise StoreError(f"{what} (delete the file and run it again, with no refresh running)")
    if await store.fingerprint() is not None or await store.sources():
        raise StoreError(f"{store.name}: holds an index already (name another state_dir, or move it away)")
    async with store.transaction():
        await store.set_value(RESTORING, state)
        await store.save_fingerprint(label.fingerprint)


async def _put_sources(store: Store, said: dict[str, str]) -> None:
    """With the keys that they have in the cluster, and without cursors; rooms as if they had never been read."""
    async with store.transaction():
        for name, record in said.items():
            if name.startswith(records.SOURCE):
                one = records.source_of(record).source
                await store.connection.execute(
                    "INSERT OR IGNORE INTO source(source_key, id, corpus, label, is_public, is_hidden, tried_ms,"
                    " succeeded_ms, fault) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (one.key, one.id, one.corpus.value, one.label, one.is_public, one.is_hidden, one.tried_ms,
                     one.succeeded_ms, one.fault),
                )  # fmt: skip
            elif name.startswith(records.ROOM):
                room = records.room_of(record)
                await rooms.save_room(store.connection, replace(room, phase=rooms.NEW, is_stale=True, state_ms=0))


async def _list(store: Store, cluster: Cluster) -> None:
    """Which points make which document. Points come in the order of their ids, which says nothing of documents."""
    connection = store.connection
    await connection.execute("CREATE TEMP TABLE IF NOT EXISTS listed(document TEXT, chunk INTEGER)")
    await connection.execute("DELETE FROM temp.listed")
    page: list[tuple[str, int]] = []
    async for record in scroll(cluster, ["document"]):
        page.append((str((record.payload or {})["document"]), int(record.id)))
        if len(page) == 1_000:
            await connection.executemany("INSERT INTO temp.listed VALUES (?, ?)", page)
            page.clear()
    await connection.executemany("INSERT INTO temp.listed VALUES (?, ?)", page)
    await connection.execute("CREATE INDEX IF NOT EXISTS temp.listed_document ON listed(document)")


async def _batches(store: Store) -> AsyncIterator[list[list[int]]]:
    """The points of some documents at a time, by document."""
    after = ""
    while True:
        rows = list(
            await store.connection.execute_fetchall(
                "SELECT document, chunk FROM temp.listed WHERE document IN (SELECT DISTINCT document FROM temp.listed"
                " WHERE document > ? ORDER BY document LIMIT ?) ORDER BY document",
                (after, _AT_ONCE),
            )
        )
        if not rows:
            return
        after = rows[-1][0]
        grouped: dict[str, list[int]] = {}
        for document, chunk in rows:
            grouped.setdefault(document, []).append(chunk)
        yield list(grouped.values())


def _as_digested(item: Searchable, restored: Restored, salt: str) -> Searchable:
    """A chunk that is embedded whole may have been cut into one part or into none, which only its digest tells."""
    whole = structs.replace(item, chunk=structs.replace(item.chunk, parts=()))
    is_whole = len(item.chunk.parts) == 1 and documents.digest_of(whole, salt) == restored[item.chunk.id].digest
    return whole if is_whole else item


async def _documents(cluster: Cluster, batch: Sequence[Sequence[int]]) -> list[tuple[Document, Restored]]:
    ids: list[models.ExtendedPointId] = [chunk for chunks in batch for chunk in chunks]
    found = await cluster.write(
        lambda client: client.retrieve(
            cluster.settings.collection,
            ids,
            with_payload=True,
            with_vectors=[DENSE],
            consistency=consistency_of(cluster),
        )
    )
    by_id = {int(record.id): record for record in found}
    try:
        return [_document([by_id[chunk] for chunk in chunks if chunk in by_id]) for chunks in batch]
    except (KeyError, ValueError, IndexError) as error:
        raise EngineError(f"{cluster.name}: a point cannot be read: {error} (is a refresh running?)") from error


def _document(found: Sequence[Record]) -> tuple[Document, Restored]:
    payloads = {int(record.id): record.payload or {} for record in found}
    parts = {
        int(record.id): _Vectors(
            stored_parts(payloads[int(record.id)], _rows(record.vector)),
            stored_chunk(int(record.id), payloads[int(record.id)]).digest,
        )
        for record in found
    }
    chunks = []
    for identity, payload in payloads.items():
        chunk = stored_chunk(identity, payload).chunk
        chunks.append(structs.replace(chunk, parts=tuple(part.span for part in parts[identity].parts)))
    chunks.sort(key=lambda chunk: chunk.ordinal)
    first = stored_chunk(chunks[0].id, payloads[chunks[0].id])
    document = Document(
        id=first.document,
        source=SourceId(first.source),
        corpus=first.corpus,
        kind=first.kind,
        title=first.title,
        revision=first.revision,
        chunks=tuple(chunks),
        path=first.path,
        room=first.room,
        first_ms=first.first_ms,
        last_ms=first.last_ms,
        has_link=bool(payloads[chunks[0].id]["has_link"]),
        payload=first.payload,
    )
    return document, parts


def _rows(vector: Any) -> list[list[float]]:
    return list(vector.get(DENSE) or ()) if isinstance(vector, dict) else []


async def _is_there(store: Store, document: Document) -> bool:
    rows = list(
        await store.connection.execute_fetchall(
            "SELECT count(*) FROM chunk JOIN document USING (document_key) WHERE document.id = ?", (document.id,)
        )
    )
    return int(rows[0][0]) == len(document.chunks)


async def _put_vectors(store: Store, parts: Restored) -> None:
    """To the parts that the document was just put with, all of them new, in order and pending."""
    connection = store.connection
    keys: dict[int, int] = {}
    first = count = 0
    for chunk, identity, part, number in await connection.execute_fetchall(
        "SELECT chunk.chunk_key, chunk.id, min(part_key), count(*) FROM chunk JOIN part USING (chunk_key)"
        " WHERE chunk.id IN (SELECT value FROM json_each(?)) GROUP BY chunk.chunk_key",
        (dumps(list(parts)),),
    ):
        keys[int(chunk)] = int(identity)
        first = int(part) if not first else min(first, int(part))
        count += int(number)
    left = {identity: iter(found.parts) for identity, found in parts.items()}
    saved = []
    for part in await vectors.pending(connection, after=first - 1, limit=count):
        stored = next(left[keys[part.chunk]])
        if stored.vector is not None:
            saved.append((part, unquantised(stored.vector)))
        elif stored.refusal is not None:
            await vectors.refuse(connection, part, stored.refusal)
    await vectors.save(connection, saved)


def unquantised(data: bytes) -> Vector:
    """A vector that `index.store.vectors.quantise` makes the same bytes of."""
    factor = vectors.scale(len(data))
    numbers = struct.unpack(f"<{len(data)}b", data)
    return Vector(struct.pack(f"<{len(data)}f", *(number / factor for number in numbers)))


async def _take_over(store: Store, cluster: Cluster, label: Label, said: dict[str, str], writer: str) -> None:
    """From here on this file writes to the collection and an older one is refused. Repeated, it changes nothing.

    The older one may have been stopped in the middle of a delivery, so what was said of sources is doubtful.
    """
    if await labels.read_label(cluster) != label:
        what = f"{cluster.name}: was written to while it was read, and {store.name} is not what it holds"
        raise EngineError(f"{what} (delete that file and run it again, with no refresh running)")
    async with store.transaction():
        await store.set_value(outgoing.WRITER, writer)
        await store.set_value(outgoing.COPIED_TO, cluster.settings.collection)
        await store.set_value(MADE, label.made)
        await store.set_value(REVISION, counted(label))
        await outgoing.doubt(store.connection, said)
    await labels.relabel(cluster, replace(label, writer=writer))
    async with store.transaction():
        await store.set_value(RESTORING, "")
    await outgoing.watch(store.connection)
