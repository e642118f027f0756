"""A chunk as a point of the cluster, and back. Pure.

The id of the point is that of the chunk. The payload holds all that an answer shows, all that a filter looks at, and
what it takes to write the chunk into a SQLite file again without embedding it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from qdrant_client import models

from index.engines.qdrant.layout import DENSE, WORDS, ZERO
from index.engines.qdrant.weights import of_chunk
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
from index.store.outgoing import OutgoingChunk, StoredPart
from index.store.reading import Candidate, StoredChunk
from index.store.store import Source
from index.text.fold import tokens

TITLE_END: Final = "titleendshere"
"""Between the words of title and text, so that no phrase runs from one into the other."""
_LABELS: Final = {"tag": "tags", "area": "area", "confidence": "confidence"}
SHOWN: Final = (
    "source", "source_key", "corpus", "document", "kind", "title", "path", "room", "revision", "first_ms", "last_ms",
    "payload", "ordinal", "text", "heading", "section_name", "paragraph", "lines", "flags", "messages", "digest",
)  # fmt: skip
"""Fields that a hit is made of."""
COMPARED: Final = (
    "source", "corpus", "document", "kind", "title", "path", "room", "first_ms", "last_ms", "text", "heading",
    "section_name",
)  # fmt: skip
"""Fields that the order of hits depends on."""


@dataclass(frozen=True, slots=True)
class SourceFields:
    """What a point says of its source; changed in place when the source is renamed or hidden."""

    key: int
    id: SourceId
    corpus: Corpus
    repo_names: tuple[str, ...]
    room_names: tuple[str, ...]
    is_hidden: bool

    @property
    def payload(self) -> dict[str, Any]:
        return {
            "source": self.id,
            "source_key": self.key,
            "corpus": self.corpus.value,
            "repo_names": list(self.repo_names),
            "room_names": list(self.room_names),
            "is_hidden": int(self.is_hidden),
        }


def source_fields(source: Source) -> SourceFields:
    """A repository answers to its configured name, `owner/name` and the bare last part; a room to id and alias."""
    kind, _, name = source.id.partition(":")
    names = {name, source.label, name.rpartition("/")[2], name.partition("/")[2]} - {""}
    return SourceFields(
        key=source.key,
        id=source.id,
        corpus=source.corpus,
        repo_names=tuple(sorted(names)) if kind in ("repo", "forge", "notes") else (),
        room_names=tuple(sorted({name, source.label} - {""})) if kind == "chat" else (),
        is_hidden=source.is_hidden,
    )


def point_of(one: OutgoingChunk, source: SourceFields) -> models.PointStruct:
    stored, chunk = one.stored, one.stored.chunk
    sparse = of_chunk(one.title, chunk.text, one.keys, one.size)
    named: dict[str, Any] = {WORDS: models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))}
    rows = [row(part.vector) for part in one.parts if part.vector is not None]
    if rows:
        named[DENSE] = rows
    in_title, in_text = tokens(one.title), tokens(chunk.text)
    payload = {
        **source.payload,
        "document": stored.document,
        "kind": stored.kind.value,
        "title": stored.title,
        "path": stored.path,
        "room": stored.room,
        "revision": stored.revision,
        "first_ms": stored.first_ms,
        "last_ms": stored.last_ms,
        "has_link": int(one.has_link),
        "payload": {name: list(value) if isinstance(value, tuple) else value for name, value in stored.payload.items()},
        **{name: _folded(stored.payload.get(field)) for name, field in _LABELS.items()},
        "ordinal": chunk.ordinal,
        "text": chunk.text,
        "heading": list(chunk.heading),
        "section": chunk.section.upper() if chunk.section else None,
        "section_name": chunk.section,
        "paragraph": chunk.paragraph,
        "lines": list(chunk.lines) if chunk.lines else None,
        "flags": list(chunk.flags),
        "messages": [[m.event, m.sender, m.sent_ms, m.span.start, m.span.end] for m in chunk.messages],
        "sender": sorted({m.sender for m in chunk.messages}),
        "event": [m.event for m in chunk.messages],
        "digest": stored.digest.hex(),
        "parts": [[p.span.start, p.span.end, p.vector is not None, p.refusal] for p in one.parts],
        "pending": sum(p.vector is None and p.refusal is None for p in one.parts),
        "terms": sorted({*in_title, *in_text}),
        "keys": " ".join(sorted(set(one.keys.split()))),
        "words": " ".join([*in_title, TITLE_END, *in_text]),
    }
    return models.PointStruct(id=chunk.id, vector=named, payload=payload)


def row(vector: bytes) -> list[int]:
    """Signed bytes as the cluster keeps them."""
    return [(value ^ 0x80) for value in vector]


def signed(numbers: Sequence[float]) -> bytes:
    """The bytes that `row` was given."""
    return bytes((round(number) - ZERO) & 0xFF for number in numbers)


def stored_chunk(identity: int, payload: Mapping[str, Any]) -> StoredChunk:
    """The chunk as the SQLite file would give it. A field that is missing or of another kind is a `ValueError`."""
    try:
        return _stored(identity, payload)
    except (KeyError, TypeError) as error:
        raise ValueError(f"point {identity} is not one of ours: {error}") from error


def _stored(identity: int, payload: Mapping[str, Any]) -> StoredChunk:
    first_line, last_line = payload["lines"] or (None, None)
    return StoredChunk(
        key=payload["source_key"] << 32,
        chunk=Chunk(
            id=ChunkId(identity),
            ordinal=payload["ordinal"],
            text=payload["text"],
            heading=tuple(payload["heading"]),
            section=payload["section_name"],
            paragraph=payload["paragraph"],
            lines=None if first_line is None or last_line is None else (first_line, last_line),
            flags=tuple(payload["flags"]),
            messages=tuple(
                Message(EventId(event), UserId(sender), sent_ms, Span(start, end))
                for event, sender, sent_ms, start, end in payload["messages"]
            ),
        ),
        document=DocumentId(payload["document"]),
        source=SourceId(payload["source"]),
        corpus=Corpus(payload["corpus"]),
        kind=Kind(payload["kind"]),
        title=payload["title"],
        path=payload["path"],
        room=None if payload["room"] is None else RoomId(payload["room"]),
        revision=payload["revision"],
        first_ms=payload["first_ms"],
        last_ms=payload["last_ms"],
        payload=_front_matter(payload["payload"]),
        digest=bytes.fromhex(payload["digest"]),
    )


def candidate(identity: int, payload: Mapping[str, Any]) -> Candidate:
    """As the SQLite file would give it. A field that is missing or of another kind is a `ValueError`."""
    try:
        corpus = Corpus(payload["corpus"])
        return Candidate(
            document=DocumentId(payload["document"]),
            source=SourceId(payload["source"]),
            corpus=corpus,
            kind=Kind(payload["kind"]),
            title=payload["title"],
            heading=payload["heading"][-1] if payload["heading"] else payload["title"],
            section=payload["section_name"],
            path=payload["path"],
            room=None if payload["room"] is None else RoomId(payload["room"]),
            first_ms=payload["first_ms"],
            last_ms=payload["last_ms"],
            text="" if corpus is Corpus.CHAT else payload["text"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"point {identity} is not one of ours: {error}") from error


def stored_parts(payload: Mapping[str, Any], rows: Sequence[Sequence[float]]) -> tuple[StoredPart, ...]:
    """The parts of a point with their vectors, in order."""
    left = iter(rows)
    return tuple(
        StoredPart(Span(first, past), signed(next(left)) if has_vector else None, refusal)
        for first, past, has_vector, refusal in payload["parts"]
    )


def _front_matter(fields: Mapping[str, Any]) -> Payload:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _folded(value: str | tuple[str, ...] | None) -> list[str]:
    values = (value,) if isinstance(value, str) else value or ()
    return sorted({one.casefold() for one in values})
