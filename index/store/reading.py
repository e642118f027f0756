"""Chunks and documents read back: what a hit, a table of contents or a status needs."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import aiosqlite
from msgspec import Struct
from msgspec.json import Decoder

from index.model import (
    Chunk,
    ChunkId,
    Corpus,
    DocumentId,
    EventId,
    Kind,
    Message,
    Payload,
    RoomId,
    SourceId,
    Span,
    UserId,
)
from index.store.driver import Connection, File
from index.store.lists import as_json


class StoredChunk(Struct, frozen=True):
    """A chunk as the index holds it, with what a citation needs of its document."""

    key: int
    chunk: Chunk
    document: DocumentId
    source: SourceId
    corpus: Corpus
    kind: Kind
    title: str
    path: str | None
    room: RoomId | None
    revision: str
    first_ms: int | None
    last_ms: int | None
    payload: Payload
    digest: bytes


class Candidate(NamedTuple):
    """What decides about the place of a chunk among others. Whole chunks are read of those alone that are shown.

    `heading` is the nearest one above the chunk, or the title of its document. In chat there are no others, nor
    sections, and `text` is empty, since equal texts are no copies of each other there.
    """

    document: DocumentId
    source: SourceId
    corpus: Corpus
    kind: Kind
    title: str
    heading: str
    section: str | None
    path: str | None
    room: RoomId | None
    first_ms: int | None
    last_ms: int | None
    text: str


_ROWS: Final = Decoder(list[tuple[int, ChunkId, Candidate]])
_SAID: Final = Decoder(list[tuple[EventId, UserId, int, int, int]])
_TEXTS: Final = Decoder(tuple[str, ...])
_PAYLOAD: Final = Decoder(dict[str, str | tuple[str, ...]])


class Entry(Struct, frozen=True):
    """One line of a table of contents."""

    source: SourceId
    path: str | None
    kind: Kind
    title: str
    payload: Payload
    chunks: int


async def chunks_by_id(connection: File, identities: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
    """Those of the named chunks that are there."""
    found = await _load(connection, "chunk.id IN (SELECT value FROM json_each(?))", as_json(identities))
    return {stored.chunk.id: stored for stored in found.values()}


def candidates(connection: Connection, identities: Sequence[ChunkId]) -> dict[ChunkId, Candidate]:
    """Those of the named chunks that are there, as far as their order depends on them."""
    return dict(_candidates(connection, "chunk.id", identities).values())


def candidates_by_key(connection: Connection, keys: Sequence[int]) -> dict[int, tuple[ChunkId, Candidate]]:
    """The same by chunk key, with their ids, which stand in the same rows."""
    return _candidates(connection, "chunk.chunk_key", keys)


def _candidates(connection: Connection, named_by: str, names: Sequence[int]) -> dict[int, tuple[ChunkId, Candidate]]:
    # Windows have neither headings nor sections: what stands behind their texts, often on further pages, is not read.
    is_chat = f"source.corpus = '{Corpus.CHAT.value}'"
    [(rows,)] = connection.execute(
        "SELECT json_group_array(json_array(chunk.chunk_key, chunk.id, json_array("
        "document.id, source.id, source.corpus, document.kind, document.title,"
        f" iif({is_chat}, document.title, coalesce(chunk.heading ->> '$[#-1]', document.title)),"
        f" iif({is_chat}, NULL, chunk.section), document.path, document.room, document.first_ms, document.last_ms,"
        f" iif({is_chat}, '', chunk.body))))"
        " FROM chunk JOIN document USING (document_key) JOIN source USING (source_key)"
        f" WHERE {named_by} IN (SELECT value FROM json_each(?))",
        (as_json(names),),
    ).fetchall()
    return {key: (identity, candidate) for key, identity, candidate in _ROWS.decode(rows)}


async def document_chunks(connection: File, document: DocumentId) -> list[StoredChunk]:
    """In their order; empty for a document that is not there."""
    found = await _load(connection, "document.id = ?", document)
    return sorted(found.values(), key=lambda stored: stored.chunk.ordinal)


async def _load(connection: File, condition: str, value: object) -> dict[int, StoredChunk]:
    """Made into records where they are read: a search has a few hundred of them, and a bot other things to do."""
    question = (
        "SELECT chunk.chunk_key, chunk.id, chunk.ordinal, chunk.body, chunk.heading, chunk.section, chunk.paragraph,"
        " chunk.first_line, chunk.last_line, chunk.flags, chunk.messages, chunk.digest, document.id, source.id,"
        " source.corpus, document.kind, document.title, document.path, document.room, document.revision,"
        " document.first_ms, document.last_ms, document.payload"
        " FROM chunk JOIN document USING (document_key) JOIN source USING (source_key)"
        f" WHERE {condition}"
    )
    return await connection.run(
        lambda bare: {int(row[0]): _stored(tuple(row)) for row in bare.execute(question, (value,))}
    )


def _stored(row: tuple[object, ...]) -> StoredChunk:
    key, identity, ordinal, body, heading, section, paragraph, first, last, flags, messages, digest, *rest = row
    document, source, corpus, kind, title, path, room, revision, first_ms, last_ms, payload = rest
    return StoredChunk(
        key=_int(key),
        chunk=Chunk(
            id=ChunkId(_int(identity)),
            ordinal=_int(ordinal),
            text=str(body),
            heading=_TEXTS.decode(str(heading)),
            section=_text(section),
            paragraph=_text(paragraph),
            lines=None if first is None else (_int(first), _int(last)),
            flags=_TEXTS.decode(str(flags)),
            messages=tuple(
                Message(event, sender, sent_ms, Span(start, end))
                for event, sender, sent_ms, start, end in _SAID.decode(str(messages))
            ),
        ),
        document=DocumentId(str(document)),
        source=SourceId(str(source)),
        corpus=Corpus(str(corpus)),
        kind=Kind(str(kind)),
        title=str(title),
        path=_text(path),
        room=None if room is None else RoomId(str(room)),
        revision=str(revision),
        first_ms=None if first_ms is None else _int(first_ms),
        last_ms=None if last_ms is None else _int(last_ms),
        payload=_PAYLOAD.decode(str(payload)),
        digest=bytes(digest) if isinstance(digest, bytes) else b"",
    )


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"the index holds {type(value).__name__} where a number belongs")
    return value


def _text(value: object) -> str | None:
    return None if value is None else str(value)


async def entries(connection: aiosqlite.Connection, *, source: SourceId | None, tag: str | None) -> list[Entry]:
    """The table of contents by source and path; chat windows are left out."""
    conditions = ["document.path IS NOT NULL", "NOT source.is_hidden"]
    values: list[object] = []
    if source is not None:
        conditions.append("source.id = ?")
        values.append(source)
    if tag is not None:
        conditions.append(
            "document.document_key IN (SELECT document_key FROM document_label WHERE name = 'tag' AND value = ?)"
        )
        values.append(tag.casefold())
    rows = await connection.execute_fetchall(
        "SELECT source.id, document.path, document.kind, document.title, document.payload,"
        " (SELECT count(*) FROM chunk WHERE chunk.document_key = document.document_key)"
        " FROM document JOIN source USING (source_key)"
        f" WHERE {' AND '.join(conditions)} ORDER BY source.id, document.path",
        values,
    )
    return [Entry(SourceId(row[0]), row[1], Kind(row[2]), row[3], _PAYLOAD.decode(row[4]), row[5]) for row in rows]


async def document_counts(connection: aiosqlite.Connection) -> dict[int, int]:
    """Documents of each source, by its key."""
    rows = await connection.execute_fetchall("SELECT source_key, count(*) FROM document GROUP BY source_key")
    return {int(key): int(count) for key, count in rows}


async def holds_event(connection: aiosqlite.Connection, source: SourceId, event: EventId) -> bool:
    """Whether any window of a room holds a message; reads all of them, so ask only where the chunk is not known."""
    rows = await connection.execute_fetchall(
        "SELECT 1 FROM source JOIN chunk ON chunk.chunk_key BETWEEN source_key << 32 AND source_key << 32 | 4294967295,"
        " json_each(chunk.messages) AS message"
        " WHERE source.id = ? AND json_extract(message.value, '$[0]') = ? LIMIT 1",
        (source, event),
    )
    return bool(list(rows))


async def first_ms(connection: aiosqlite.Connection, source_key: int) -> int | None:
    """The time of the oldest thing that the index holds of a source; None while it holds nothing."""
    rows = list(
        await connection.execute_fetchall(
            "SELECT min(coalesce(first_ms, 0)) FROM document WHERE source_key = ?", (source_key,)
        )
    )
    return None if rows[0][0] is None else int(rows[0][0])
