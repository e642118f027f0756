"""A refresh: the sources side by side, each for itself, then what is still without a vector, then what must be wiped.

One source failing stops no other. The order of work in a run: sources that are gone leave every search first; then each
source is brought up to date in a transaction that also moves its cursor; then pending vectors; then what was deleted is
wiped, for traces of it stand in the file until then.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from index.embed.base import Embedder
from index.errors import CredentialError, SourcesError
from index.model import NO_EMBEDDER, Corpus, Fingerprint, SourceId, corpus_of
from index.store import documents, sweeps, vectors
from index.store.erase import Wiped
from index.store.store import Store
from index.text.searchable import DocumentKeys
from ingest.report import CopyReport, Outcome, Report, SourceReport
from ingest.vectors import fill_pending, note_pending
from ingest.writing import Writer


class Worker(Protocol):
    """Brings one source, or the rooms of one account, up to date."""

    @property
    def source(self) -> SourceId: ...

    def owns(self, source: SourceId) -> bool:
        """Whether a source in the index is this worker's to keep or to remove."""

    async def refresh(self, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
        """One report per source that it found. A `SourcesError` fails the worker's own source alone."""


class Copy(Protocol):
    """The copy of the index in a cluster."""

    async def check(self, store: Store) -> None:
        """Before anything is read. Raises for a cluster that must not be written to, not for one that is away."""

    async def deliver(self, store: Store) -> CopyReport:
        """Tell the cluster what changed; a fault is reported, and the change waits."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a terminal shows: called with counts, never with text."""

    source_done: Callable[[SourceReport], None] = lambda report: None
    vectors_done: Callable[[int, int], None] = lambda done, total: None


@dataclass(frozen=True, slots=True)
class Plan:
    """`is_full` reads everything again; `is_partial` leaves sources without a worker alone."""

    workers: Sequence[Worker]
    parallel: int
    is_full: bool = False
    is_partial: bool = False


async def refresh(
    store: Store,
    plan: Plan,
    *,
    fingerprint: Fingerprint,
    document_keys: DocumentKeys,
    embedder: Embedder | None,
    progress: Progress = Progress(),
    copy: Copy | None = None,
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> Report:
    """Run the plan. The caller holds the write lock, opens the embedder and closes it.

    Raises `ReindexNeededError` when the index was built
    with something else and the plan is not full.
    """
    start = time.monotonic()
    if copy is not None:
        await copy.check(store)
    writer = Writer(store, await _prepare(store, fingerprint, is_full=plan.is_full), document_keys)
    reports = [] if plan.is_partial else await _remove_unowned(writer, plan.workers)
    for report in reports:
        progress.source_done(report)
    limit = asyncio.Semaphore(plan.parallel)

    async def run(worker: Worker) -> Sequence[SourceReport]:
        async with limit:
            done = await _run(worker, writer, is_full=plan.is_full)
        for report in done:
            progress.source_done(report)
        return done

    for done in await asyncio.gather(*(run(worker) for worker in plan.workers)):
        reports += done
    await _record(writer, reports, now_ms())
    delivered = None if copy is None else await copy.deliver(store)  # what was redacted does not wait for vectors
    filled = await fill_pending(writer, embedder, progress=progress.vectors_done)
    with suppress(SourcesError):  # as for `_record`
        await note_pending(writer, now_ms())
    if copy is not None and delivered is not None and (filled.embedded or filled.refused):
        delivered += await copy.deliver(store)
    with suppress(SourcesError):  # as for `_record`
        await store.merge()
    wiped = await _wipe(store)
    seconds = time.monotonic() - start
    return Report(
        tuple(reports), filled, is_erased=wiped.is_done, readers=wiped.readers, seconds=seconds, copy=delivered
    )


async def _prepare(store: Store, wanted: Fingerprint, *, is_full: bool) -> Fingerprint:
    """Hold the index to the fingerprint, or, in a full run, make it begin anew under the wanted one.

    Returns what the index is built with from now on. Without an embedder the vectors that are there stay what they are,
    and an index without vectors takes any embedder.
    """
    stored = await store.fingerprint()
    if stored is not None:
        stored = replace(stored, schema=wanted.schema)
        if wanted.embedder == NO_EMBEDDER and not is_full:
            wanted = wanted.with_embedder_of(stored)
        if stored.embedder == NO_EMBEDDER:
            stored = stored.with_embedder_of(wanted)
        if not is_full:
            await store.check_fingerprint(wanted)
            if stored == wanted:
                await _save(store, wanted)
                return wanted
    async with store.transaction():
        if stored is not None:
            await store.void_cursors()
            if wanted.with_embedder_of(stored) != wanted or await store.value(vectors.DRIFTED):
                await vectors.drop_all(store.connection)
        await store.save_fingerprint(wanted)
    return wanted


async def _save(store: Store, fingerprint: Fingerprint) -> None:
    if await store.fingerprint() != fingerprint:
        async with store.transaction():
            await store.save_fingerprint(fingerprint)


async def _remove_unowned(writer: Writer, workers: Sequence[Worker]) -> list[SourceReport]:
    """Sources that the configuration no longer names: out of the index in this run."""
    reports = []
    for known in await writer.store.sources():
        if any(worker.owns(known.id) for worker in workers):
            continue
        reports.append(await remove_source(writer, known.id, label=known.label))
    return reports


async def remove_source(writer: Writer, source: SourceId, *, label: str) -> SourceReport:
    """Erase everything of a source and forget it."""
    start = time.monotonic()
    async with writer.batch(source, label=label, is_public=False) as batch:
        await batch.remove(await documents.document_ids(writer.store.connection, source))
        await writer.store.forget(source)
        if corpus_of(source) is Corpus.CHAT:
            await sweeps.forget_account(writer.store.connection, source.partition(":")[2])
    return SourceReport(
        source,
        Outcome.REMOVED,
        documents_removed=batch.documents_removed,
        chunks_removed=batch.written.chunks_removed,
        seconds=time.monotonic() - start,
    )


async def _run(worker: Worker, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
    start = time.monotonic()
    try:
        reports = await worker.refresh(writer, is_full=is_full)
    except SourcesError as error:
        reports = [
            SourceReport(
                worker.source,
                Outcome.FAILED,
                fault=str(error),
                is_credential_fault=isinstance(error, CredentialError),
                seconds=time.monotonic() - start,
            )
        ]
    return reports


async def _wipe(store: Store) -> Wiped:
    """A full disk lets this fail as well; the next run makes up for it."""
    try:
        return await store.wipe()
    except SourcesError:
        return Wiped(is_done=False)


async def _record(writer: Writer, reports: Sequence[SourceReport], now_ms: int) -> None:
    """When each source was tried, for `status`. A full disk has failed the sources already: this may fail too."""
    with suppress(SourcesError):
        async with writer.transaction() as store:
            for report in reports:
                if report.outcome is not Outcome.REMOVED:
                    await store.record_outcome(report.source, now_ms=now_ms, fault=report.fault)
