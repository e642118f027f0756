"""One git repository brought up to date: what changed in it becomes documents, in one transaction with its cursor.

All of a run's documents are made and validated inside that transaction; a fault in one rolls everything back, so a
source is either at its new commit or where it was.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from index.errors import ForgeError
from index.model import Corpus, Cursor, DocumentId, SourceId
from ingest.forge.documents import Rules, id_of
from ingest.forge.filing import Filing
from ingest.forge.position import rules_of, with_rules
from ingest.forge.repository import Changes, Repository, Unchanged
from ingest.forge.validation import Validation
from ingest.report import Outcome, SourceReport
from ingest.writing import Batch, Writer


@dataclass(frozen=True, slots=True)
class RepoWorker:
    """`source` is `repo:<name>`, or a repository of a forge, whose name can change: then `identity` is what its
    documents are known by. `timeout_s` bounds the whole of it, so that a hanging remote holds nobody up."""

    source: SourceId
    repository: Repository
    scrub: Callable[[str], str]
    timeout_s: float
    is_public: bool = False
    rules: Rules = field(default_factory=Rules)
    identity: SourceId | None = None
    validation: Validation = field(default_factory=Validation)

    def owns(self, source: SourceId) -> bool:
        return source == self.source

    async def refresh(self, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
        start = time.monotonic()
        try:
            async with asyncio.timeout(self.timeout_s):
                report = await self._refresh(writer, is_full=is_full, start=start)
        except TimeoutError:
            message = f"{self.repository.about}: not done after {self.timeout_s:g} s; its index stays as it was"
            raise ForgeError(f"{message} (raise refresh.source_timeout, or look at the remote)") from None
        return [report]

    async def _refresh(self, writer: Writer, *, is_full: bool, start: float) -> SourceReport:
        known = await writer.store.source(self.source)
        position = None if known is None or is_full else known.position
        if position is not None and rules_of(position) != self.validation.digest:
            position = None
        # Without a cursor everything is read again: what the index holds may have been made by other rules.
        held = await writer.revisions(self.source)
        changes = await self.repository.changes(position, held if position is not None else None)
        if isinstance(changes, Unchanged):
            await self.repository.forget_former(changes.commit)  # a run may have died before it did
            return SourceReport(self.source, Outcome.UNCHANGED, seconds=time.monotonic() - start)
        skipped = Counter(reason for _, reason in changes.skipped)
        name = self.repository.settings.name
        async with writer.batch(self.source, label=name, is_public=self.is_public) as batch:
            await self._write(batch, changes, skipped)
            await batch.remove(await self._gone(batch, changes))
            await batch.save_cursor(Cursor(self.source, with_rules(changes.position, self.validation.digest)))
        await self.repository.forget_former(changes.commit)
        return batch.report(self.source, Outcome.UPDATED, skipped=skipped, seconds=time.monotonic() - start)

    async def _gone(self, batch: Batch, changes: Changes) -> list[DocumentId]:
        """By id, since the path that is stored is the scrubbed one."""
        if changes.kept is None:
            return [id_of(self.identity or self.source, path, self.scrub) for path in changes.removed]
        kept = {id_of(self.identity or self.source, path, self.scrub) for path in changes.kept}
        return [held for held in await batch.document_ids(self.source) if held not in kept]

    async def _write(self, batch: Batch, changes: Changes, skipped: Counter[str]) -> None:
        filing = Filing(
            batch, self.source, Corpus.FORGE, self.scrub, self.rules, self.validation, skipped, self.identity
        )
        async with aclosing(self.repository.read(changes.put)) as files:
            async for entry, data in files:
                await filing.put(entry.path, entry.blob, data)
        filing.end(self.repository.about)
