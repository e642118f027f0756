"""The one writer's side of the index: documents in, with what is searched of them, under one lock.

Sources are read side by side and written one at a time, since the index file has one transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from index.model import Cursor, Document, DocumentId, Fingerprint, SourceId
from index.store import documents
from index.store.documents import Written
from index.store.store import Store
from index.text.searchable import searchable
from ingest.report import Outcome, SourceReport

_AT_ONCE: Final = 50


@dataclass(slots=True)
class Batch:
    """One open transaction of one source."""

    store: Store
    source_key: int
    salt: str
    document_keys: Callable[[str], str]
    written: Written = field(default_factory=Written)
    documents: int = 0
    documents_removed: int = 0

    async def document_ids(self, source: SourceId) -> list[DocumentId]:
        """All that the index holds of a source."""
        return await documents.document_ids(self.store.connection, source)

    async def put(self, document: Document) -> None:
        """Make the stored document equal to this one."""
        items = searchable(document, self.document_keys)
        self.written += await documents.put(self.store.connection, self.source_key, document, items, salt=self.salt)
        await self.store.ease_deleting()
        self.documents += 1

    async def remove(self, gone: Iterable[DocumentId]) -> None:
        """Forget documents with all that hangs on them; one that is not there is passed over."""
        left = list(gone)
        while left:
            written = await documents.remove(self.store.connection, left[:_AT_ONCE])
            del left[:_AT_ONCE]
            await self.store.ease_deleting()
            self.written += written
            self.documents_removed += written.documents_removed

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

    def __init__(self, store: Store, fingerprint: Fingerprint, document_keys: Callable[[str], str]) -> None:
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
            yield Batch(self.store, key, self.salt, self._document_keys)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Store]:
        """A transaction that belongs to no single source."""
        async with self._lock, self.store.transaction():
            yield self.store

    async def revisions(self, source: SourceId) -> Mapping[str, str]:
        return await documents.revisions(self.store.connection, source)
