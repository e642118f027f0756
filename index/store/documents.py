"""Documents and chunks in and out of the tables. Every function runs inside `Store.transaction`.

A chunk whose digest did not change is not touched, so its postings and vectors stay as they are; of a changed one, the
parts whose embedded text is the same keep their vectors. Documents are written in one visit to the connection's thread.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from json import dumps

import aiosqlite

from index.model import Chunk, ChunkId, Document, DocumentId, SourceId, Span
from index.store import tallies
from index.store.driver import Connection, File
from index.store.rows import insert
from index.text.parts import embedding_text
from index.text.searchable import Searchable, embedded_title

LABELS = ("tags", "area", "confidence")
"""Fields of the front matter that become rows of `document_label`; the name there is the operator's."""
LABEL_NAMES = {"tags": "tag", "area": "area", "confidence": "confidence"}
_EMPTY = "[]"
_PART = "part(chunk_key, ordinal, first, past, digest)"


@dataclass(frozen=True, slots=True)
class Written:
    """What one `put` changed."""

    chunks_added: int = 0
    chunks_changed: int = 0
    chunks_removed: int = 0
    documents_removed: int = 0

    def __add__(self, other: "Written") -> "Written":
        return Written(
            self.chunks_added + other.chunks_added,
            self.chunks_changed + other.chunks_changed,
            self.chunks_removed + other.chunks_removed,
            self.documents_removed + other.documents_removed,
        )

    @property
    def total(self) -> int:
        return self.chunks_added + self.chunks_changed + self.chunks_removed


async def put(
    connection: File, source_key: int, document: Document, indexed: Sequence[Searchable], *, salt: str
) -> Written:
    """Make the stored document equal to this one. `salt` names what text and keys were made with."""
    return await put_all(connection, source_key, [(document, indexed)], salt=salt)


async def put_all(
    connection: File, source_key: int, documents: Sequence[tuple[Document, Sequence[Searchable]]], *, salt: str
) -> Written:
    """The same for several, no two of which have one id. Cheaper than one by one: like statements follow each other."""
    return await connection.run(lambda bare: _put_all(bare, source_key, documents, salt))


@dataclass(frozen=True, slots=True)
class _Fresh:
    """A chunk that is not in the index yet."""

    document_key: int
    document: Document
    item: Searchable
    digest: bytes


def _put_all(
    connection: Connection, source_key: int, documents: Sequence[tuple[Document, Sequence[Searchable]]], salt: str
) -> Written:
    keys = [_put_document(connection, source_key, document) for document, _ in documents]
    fresh: list[_Fresh] = []
    changed = removed = 0
    for (document, indexed), (document_key, has_chunks) in zip(documents, keys, strict=True):
        stored = _stored(connection, document_key) if has_chunks else {}
        wanted = {item.chunk.id for item in indexed}
        gone = [key for identity, (key, _) in stored.items() if identity not in wanted]
        _remove_chunks(connection, gone)
        removed += len(gone)
        for item in indexed:
            digest = digest_of(item, salt)
            known = stored.get(item.chunk.id)
            if known is None:
                fresh.append(_Fresh(document_key, document, item, digest))
            elif known[1] != digest:
                _update(connection, known[0], document, item, digest)
                changed += 1
            else:
                _move(connection, known[0], item.chunk)
    _insert(connection, source_key, fresh)
    if growing := [item.chunk.id for document, indexed in documents if document.may_grow for item in indexed]:
        _mark_growing(connection, growing)
    return Written(len(fresh), changed, removed)


def _mark_growing(connection: Connection, chunks: Sequence[ChunkId]) -> None:
    """Those of the chunks that the full-text indexes are yet to take in: what did not change stays where it is."""
    connection.execute(
        f"UPDATE unindexed SET may_grow = 1 WHERE chunk_key IN (SELECT chunk_key FROM chunk WHERE id IN {_THESE})",
        (dumps(chunks),),
    )


def _stored(connection: Connection, document_key: int) -> dict[ChunkId, tuple[int, bytes]]:
    """Keys and digests of a document's chunks."""
    rows = connection.execute("SELECT id, chunk_key, digest FROM chunk WHERE document_key = ?", (document_key,))
    return {ChunkId(row[0]): (int(row[1]), bytes(row[2])) for row in rows}


def _put_document(connection: Connection, source_key: int, document: Document) -> tuple[int, bool]:
    """The document's key, and whether it has chunks already."""
    rows = connection.execute(
        "INSERT INTO document(id, source_key, kind, title, path, room, revision, first_ms, last_ms, has_link, payload)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET kind = excluded.kind,"
        " title = excluded.title, path = excluded.path, room = excluded.room, revision = excluded.revision,"
        " first_ms = excluded.first_ms, last_ms = excluded.last_ms, has_link = excluded.has_link,"
        " payload = excluded.payload RETURNING document_key,"
        " EXISTS (SELECT 1 FROM chunk WHERE chunk.document_key = document.document_key),"
        " EXISTS (SELECT 1 FROM document_label AS label WHERE label.document_key = document.document_key)",
        (
            document.id,
            source_key,
            document.kind.value,
            document.title,
            document.path,
            document.room,
            document.revision,
            document.first_ms,
            document.last_ms,
            document.has_link,
            dumps(dict(document.payload), ensure_ascii=False),
        ),
    )
    [(key, has_chunks, has_labels)] = rows.fetchall()
    if has_labels:
        connection.execute("DELETE FROM document_label WHERE document_key = ?", (key,))
    labels = [
        (key, LABEL_NAMES[name], value.casefold()) for name in LABELS for value in _values(document.payload.get(name))
    ]
    if labels:
        connection.executemany(
            "INSERT OR IGNORE INTO document_label(document_key, name, value) VALUES (?, ?, ?)", labels
        )
    return int(key), bool(has_chunks)


def _values(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


def _first_chunk_key(connection: Connection, source_key: int, wanted: int) -> int:
    """The lowest of so many keys, one after the other, that no chunk ever had."""
    rows = connection.execute(
        "UPDATE source SET next_chunk = next_chunk + ? WHERE source_key = ? RETURNING next_chunk", (wanted, source_key)
    ).fetchall()
    if not rows:
        raise AssertionError("documents are put into registered sources only")
    return (source_key << 32) | (int(rows[0][0]) - wanted + 1)


def _columns(item: Searchable, digest: bytes) -> tuple[object, ...]:
    chunk = item.chunk
    first_line, last_line = chunk.lines or (None, None)
    return (
        chunk.ordinal,
        item.size,
        item.title,
        chunk.text,
        item.keys,
        dumps(chunk.heading, ensure_ascii=False) if chunk.heading else _EMPTY,
        chunk.section,
        chunk.paragraph,
        first_line,
        last_line,
        dumps(chunk.flags) if chunk.flags else _EMPTY,
        _messages(chunk),
        digest,
    )


def _messages(chunk: Chunk) -> str:
    if not chunk.messages:
        return _EMPTY
    return dumps([[m.event, m.sender, m.sent_ms, m.span.start, m.span.end] for m in chunk.messages])


def _insert(connection: Connection, source_key: int, fresh: Sequence[_Fresh]) -> None:
    if not fresh:
        return
    keyed = list(enumerate(fresh, start=_first_chunk_key(connection, source_key, len(fresh))))
    insert(
        connection,
        "chunk(chunk_key, id, document_key, ordinal, size, title, body, keys, heading, section, paragraph, first_line,"
        " last_line, flags, messages, digest)",
        [(key, new.item.chunk.id, new.document_key, *_columns(new.item, new.digest)) for key, new in keyed],
    )
    tallies.put(connection, [(key, new.item.tally) for key, new in keyed])
    _put_senders(connection, [(key, new.item.chunk) for key, new in keyed])
    insert(
        connection,
        _PART,
        [
            (key, number, span.start, span.end, part_digest)
            for key, new in keyed
            for number, (span, part_digest) in enumerate(_parts(new.document, new.item))
        ],
    )


def _update(connection: Connection, key: int, document: Document, item: Searchable, digest: bytes) -> None:
    connection.execute(
        "UPDATE chunk SET ordinal = ?, size = ?, title = ?, body = ?, keys = ?, heading = ?, section = ?,"
        " paragraph = ?, first_line = ?, last_line = ?, flags = ?, messages = ?, digest = ? WHERE chunk_key = ?",
        (*_columns(item, digest), key),
    )
    tallies.put(connection, [(key, item.tally)])
    connection.execute("DELETE FROM chunk_sender WHERE chunk_key = ?", (key,))
    _put_senders(connection, [(key, item.chunk)])
    spare: dict[bytes, list[int]] = {}
    for part_key, part_digest in connection.execute(
        "SELECT part_key, digest FROM part WHERE chunk_key = ? ORDER BY ordinal DESC", (key,)
    ):
        spare.setdefault(bytes(part_digest), []).append(int(part_key))
    fresh = []
    for number, (span, part_digest) in enumerate(_parts(document, item)):
        if same := spare.get(part_digest):
            connection.execute(
                "UPDATE part SET ordinal = ?, first = ?, past = ? WHERE part_key = ?",
                (number, span.start, span.end, same.pop()),
            )
        else:
            fresh.append((key, number, span.start, span.end, part_digest))
    _remove_parts(connection, [part for parts in spare.values() for part in parts])
    insert(connection, _PART, fresh)


def _move(connection: Connection, key: int, chunk: Chunk) -> None:
    """An edit above it moves a chunk without changing it."""
    first_line, last_line = chunk.lines or (None, None)
    connection.execute(
        "UPDATE chunk SET ordinal = ?1, first_line = ?2, last_line = ?3 WHERE chunk_key = ?4"
        " AND (ordinal, first_line, last_line) IS NOT (?1, ?2, ?3)",
        (chunk.ordinal, first_line, last_line, key),
    )


def _put_senders(connection: Connection, chunks: Sequence[tuple[int, Chunk]]) -> None:
    rows = [(sender, key) for key, chunk in chunks for sender in sorted({message.sender for message in chunk.messages})]
    insert(connection, "chunk_sender(sender, chunk_key)", rows)


def _parts(document: Document, item: Searchable) -> list[tuple[Span, bytes]]:
    spans = item.chunk.parts or (Span(0, len(item.chunk.text)),)
    return [(span, _hash(embedding_text(embedded_title(document), item.chunk, span))) for span in spans]


def digest_of(item: Searchable, salt: str) -> bytes:
    """Of all that is stored or embedded of a chunk. `salt` names what its text and keys were made with."""
    chunk = item.chunk
    return _hash(
        salt,
        item.title,
        chunk.text,
        item.keys,
        dumps(chunk.heading) if chunk.heading else _EMPTY,
        chunk.section or "",
        chunk.paragraph or "",
        dumps(chunk.flags) if chunk.flags else _EMPTY,
        _messages(chunk),
        dumps([[span.start, span.end] for span in chunk.parts]) if chunk.parts else _EMPTY,
    )


def _hash(*texts: str) -> bytes:
    """Of each text its length and itself."""
    told: list[bytes] = []
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        told += (len(data).to_bytes(8, "big"), data)
    return blake2b(b"".join(told), digest_size=16).digest()


async def remove(connection: File, documents: Iterable[DocumentId]) -> Written:
    """Forget the named documents with their chunks, postings and vectors. Safe to repeat.

    Cheaper for many at once, since each statement makes the full-text indexes write out what they have.
    """
    return await connection.run(lambda bare: _remove(bare, documents))


def _remove(connection: Connection, documents: Iterable[DocumentId]) -> Written:
    keys = _keys(connection, "SELECT document_key FROM document WHERE id IN", list(documents))
    chunks = _keys(connection, "SELECT chunk_key FROM chunk WHERE document_key IN", keys)
    _remove_chunks(connection, chunks)
    for table in ("document_label", "document"):
        connection.execute(f"DELETE FROM {table} WHERE document_key IN {_THESE}", (dumps(keys),))
    return Written(chunks_removed=len(chunks), documents_removed=len(keys))


_THESE = "(SELECT value FROM json_each(?))"


def _keys(connection: Connection, question: str, values: Sequence[object]) -> list[int]:
    return [int(row[0]) for row in connection.execute(f"{question} {_THESE}", (dumps(values),))]


def _remove_chunks(connection: Connection, keys: Sequence[int]) -> None:
    if not keys:
        return
    _remove_parts(connection, _keys(connection, "SELECT part_key FROM part WHERE chunk_key IN", keys))
    for table in ("chunk_sender", "chunk"):
        connection.execute(f"DELETE FROM {table} WHERE chunk_key IN {_THESE}", (dumps(keys),))


def _remove_parts(connection: Connection, parts: Sequence[int]) -> None:
    if not parts:
        return
    connection.execute(
        "DELETE FROM vector WHERE (chunk_key, part_key) IN"
        f" (SELECT chunk_key, part_key FROM part WHERE part_key IN {_THESE})",
        (dumps(parts),),
    )
    connection.execute(f"DELETE FROM part WHERE part_key IN {_THESE}", (dumps(parts),))


async def revisions(connection: aiosqlite.Connection, source: SourceId) -> dict[str, str]:
    """The revision of each path of a source that is in the index."""
    rows = await connection.execute_fetchall(
        "SELECT path, revision FROM document JOIN source USING (source_key) WHERE source.id = ? AND path IS NOT NULL",
        (source,),
    )
    return {str(path): str(revision) for path, revision in rows}


async def document_ids(connection: aiosqlite.Connection, source: SourceId) -> list[DocumentId]:
    """All documents of a source, in the order of their ids."""
    rows = await connection.execute_fetchall(
        "SELECT document.id FROM document JOIN source USING (source_key) WHERE source.id = ? ORDER BY document.id",
        (source,),
    )
    return [DocumentId(row[0]) for row in rows]
