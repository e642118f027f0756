"""The one writer's side of the index: documents in, with what is searched of them, under one lock.

Sources are read side by side and written one at a time, since the index file has one transaction. Its documents are
written some at once, on the connection's thread. While the full-text indexes take in what was written, the next are
read and the keys of their words made: that is one long statement, and leaves the lock of the interpreter to others.
"""

import asyncio
from asyncio import Task
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from index.model import Cursor, Document, DocumentId, Fingerprint, SourceId
from index.store import documents, fulltext
from index.store.documents import Written
from index.store.store import Store
from index.text.searchable import DocumentKeys, Searchable, searchable
from ingest.report import Outcome, SourceReport

_AT_ONCE: Final = 50
_CHUNKS_AT_ONCE: Final = 500
_CHUNKS_AHEAD: Final = 3_000
"""Made, at most, while the full-text indexes take in what came before: 15 MB or so."""
_CHARS_OF_A_CHUNK: Final = 2_500
"""Of an ordinary one. A larger one counts as several, or some hundred pages of large ones would fill the memory."""
_TAKEN_IN_FROM: Final = 2_500
"""New chunks that the full-text indexes take in before the end: more cost less, and leave more to wait for there."""


@dataclass(slots=True)
class Batch:
    """One open transaction of one source. What was put is in the tables at its end, or before what follows needs it.

    Nothing is made while rows are written: many small statements would take turns with it for that lock.
    """

    store: Store
    source_key: int
    salt: str
    document_keys: DocumentKeys
    written: Written = field(default_factory=Written)  # all of it only at the end
    documents: int = 0
    documents_removed: int = 0
    _waiting: dict[DocumentId, tuple[Document, list[Searchable]]] = field(default_factory=dict)
    _waiting_chunks: int = 0
    _not_taken_in: int = 0
    _taking_in: Task[None] | None = None

    async def document_ids(self, source: SourceId) -> list[DocumentId]:
        """All that the index holds of a source."""
        await self.finish()
        return await documents.document_ids(self.store.connection, source)

    async def put(self, document: Document) -> None:
        """Make the stored document equal to this one. A fault may be that of an earlier one."""
        if document.id in self._waiting:
            await self._write_waiting()
        self._waiting[document.id] = document, searchable(document, self.document_keys)
        size = sum(len(chunk.text) for chunk in document.chunks)
        self._waiting_chunks += max(len(document.chunks), size // _CHARS_OF_A_CHUNK)
        self.documents += 1
        if len(self._waiting) >= _AT_ONCE or self._waiting_chunks >= _CHUNKS_AT_ONCE:
            is_idle = self._taking_in is None or self._taking_in.done()
            if is_idle or self._waiting_chunks >= _CHUNKS_AHEAD:
                await self._write_waiting()
        await asyncio.sleep(0)  # others have their turn

    async def remove(self, gone: Iterable[DocumentId]) -> None:
        """Forget documents with all that hangs on them; one that is not there is passed over."""
        left = list(gone)
        if not left:
            return
        if self._waiting.keys().isdisjoint(left):
            await self._wait()
        else:
            await self.finish()
        while left:
            written = await documents.remove(self.store.connection, left[:_AT_ONCE])
            del left[:_AT_ONCE]
            await self.store.ease_deleting()
            self.written += written
            self.documents_removed += written.documents_removed

    async def finish(self) -> None:
        """Until all that was put is written."""
        if self._waiting:
            await self._write_waiting()
        await self._wait()

    async def stop(self) -> None:
        """Begin nothing more. To be called before the transaction ends, or what is begun would outlive it."""
        if self._taking_in is not None:
            self._taking_in.cancel()
            await asyncio.gather(self._taking_in, return_exceptions=True)

    async def _wait(self) -> None:
        """Until the full-text indexes have what was given to them."""
        if self._taking_in is not None:
            await self._taking_in
            self._taking_in = None

    async def _write_waiting(self) -> None:
        await self._wait()
        group = list(self._waiting.values())
        self._waiting.clear()
        self._waiting_chunks = 0
        written = await documents.put_all(self.store.connection, self.source_key, group, salt=self.salt)
        self.written += written
        await self.store.ease_deleting()
        self._not_taken_in += written.chunks_added + written.chunks_changed
        if self._not_taken_in >= _TAKEN_IN_FROM:
            self._taking_in = asyncio.create_task(fulltext.take_in(self.store.connection))
            self._not_taken_in = 0

    async def save_cursor(self, cursor: Cursor) -> None:
        await self.store.save_cursor(cursor)

    def report(self, source: SourceId, outcome: Outcome, *, skipped: Mapping[str, int], seconds: float) -> SourceReport:
        """What came of it."""
        return SourceReport(
            source,
            outcome,
            documents=self.documents,
            documents_removed=self.documents_removed,
            chunks_added=self.written.chunks_added,
            chunks_changed=self.written.chunks_changed,
            chunks_removed=self.written.chunks_removed,
            skipped=dict(sorted(skipped.items())),
            seconds=seconds,
        )


class Writer:
    """Hands out transactions, one at a time."""

    def __init__(self, store: Store, fingerprint: Fingerprint, document_keys: DocumentKeys) -> None:
        self.store = store
        self.fingerprint = fingerprint
        self._document_keys = document_keys
        self._lock = asyncio.Lock()

    @property
    def salt(self) -> str:
        """What a chunk's text and keys are made with: a change makes every chunk differ."""
        made_with = self.fingerprint
        return f"{made_with.scrubber}.{made_with.chunker}.{made_with.words}.{','.join(made_with.languages)}"

    @asynccontextmanager
    async def batch(self, source: SourceId, *, label: str, is_public: bool) -> AsyncIterator[Batch]:
        """A transaction for one source: all of it is written, or nothing."""
        async with self._lock, self.store.transaction():
            key = await self.store.register(source, label=label, is_public=is_public)
            batch = Batch(self.store, key, self.salt, self._document_keys)
            try:
                yield batch
                await batch.finish()
            finally:
                await batch.stop()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Store]:
        """A transaction that belongs to no single source."""
        async with self._lock, self.store.transaction():
            yield self.store

    async def revisions(self, source: SourceId) -> Mapping[str, str]:
        return await documents.revisions(self.store.connection, source)
