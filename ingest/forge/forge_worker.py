"""All repositories of a forge brought up to date: those that its listing names, each as a source of its own.

The listing decides what there is, before anything is fetched: a repository that vanished, or may not be read any more,
leaves the index; a renamed one keeps everything under its new name; one that left the listing for no reason that the
forge would tell is hidden until it does. A listing that fails changes nothing. Then each repository is asked where it
is, some at a time, unless the forge's own word proves that nothing was pushed (`settled`).
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from index.errors import CredentialError, ForgeError, SourcesError
from index.model import SourceId
from index.store import forges
from index.store.forges import ForgeRepo
from index.wording import counted
from ingest.forge.clone import clone_name, forget_others
from ingest.forge.listed import Flag, Listed
from ingest.forge.roster import Roster, Seen
from ingest.forge.settled import Trust
from ingest.forge.worker import RepoWorker
from ingest.refresh import remove_source
from ingest.report import Outcome, SourceReport
from ingest.writing import Writer


@dataclass(frozen=True, slots=True)
class Found:
    """A repository that is read. `source` holds its name, `identity` its number: documents are known by that."""

    source: SourceId
    identity: SourceId
    label: str
    clone: str  # name of its private clone
    listed: Listed


@dataclass(frozen=True, slots=True)
class ForgeWorker:
    """`source` is `forge:<name>`; `timeout_s` bounds the listing, each repository has its own limit."""

    source: SourceId
    roster: Roster
    worker_of: Callable[[Found], RepoWorker]
    scrub: Callable[[str], str]
    clones: Path
    trust: Trust
    timeout_s: float
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000

    def owns(self, source: SourceId) -> bool:
        return source == self.source or source.startswith(f"{self.source}/")

    async def refresh(self, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
        start = time.monotonic()
        connection = writer.store.connection
        known = {repo.number: repo for repo in await forges.repositories(connection, self.source)}
        kept_pages = {} if is_full else await forges.pages(connection, self.source)
        try:
            async with asyncio.timeout(self.timeout_s):
                seen = await self.roster.listed(kept_pages)
                gone, unsure = await self.roster.missing(sorted(known), seen)
        except TimeoutError:
            about = self.roster.api.about
            message = f"{about}: its listing is not done after {self.timeout_s:g} s; the index stays as it was"
            raise ForgeError(f"{message} (raise refresh.source_timeout, or look at the forge)") from None
        removed = await self._remove(writer, known, gone)
        found, clashes = self._named({n: repo for n, repo in known.items() if n not in gone}, seen)
        renamed = await self._adopt(writer, known, found, unsure, seen)
        done = await self._each(writer, list(found.values()), told_ms=seen.told_ms, is_full=is_full)
        clones = {one.clone for one in found.values()} | {clone_of(number) for number in known.keys() - gone.keys()}
        await asyncio.to_thread(forget_others, self.clones, clones)
        own = self._report(seen, unsure, renamed)
        return [replace(own, seconds=time.monotonic() - start), *removed, *clashes, *done]

    async def _remove(
        self, writer: Writer, known: Mapping[str, ForgeRepo], gone: Mapping[str, str]
    ) -> list[SourceReport]:
        reports = []
        for number, reason in gone.items():
            report = await remove_source(writer, known[number].source, label=known[number].label)
            reports.append(replace(report, notes=(reason,)))
        tied = {self.source} | {repo.source for repo in known.values()}
        for stray in await writer.store.sources():  # a run was killed while the forge was being taken out
            if self.owns(stray.id) and stray.id not in tied:
                report = await remove_source(writer, stray.id, label=stray.label)
                reports.append(report)
        return reports

    def _named(self, known: Mapping[str, ForgeRepo], seen: Seen) -> tuple[dict[str, Found], list[SourceReport]]:
        """What is to be read, by number, and a fault for each whose name is taken by one that nobody can tell of."""
        taken = {known[number].source for number in known.keys() - seen.repos.keys()}
        found: dict[str, Found] = {}
        clashes: list[SourceReport] = []
        for number, repo in sorted(seen.repos.items()):
            one = self._found(number, repo)
            if one.source in taken:
                fault = f"{one.label}: two repositories have this name for now (the next run looks again)"
                clashes.append(SourceReport(one.source, Outcome.FAILED, fault=fault))
            else:
                taken.add(one.source)
                found[number] = one
        return found, clashes

    async def _adopt(
        self,
        writer: Writer,
        known: Mapping[str, ForgeRepo],
        found: Mapping[str, Found],
        unsure: Sequence[str],
        seen: Seen,
    ) -> list[str]:
        """Names, addresses and visibility as the forge tells them, in one transaction and before anything is read.

        Hides what is unsure; returns what was renamed, in words.
        """
        renamed = {n: one for n, one in found.items() if n in known and known[n].source != one.source}
        connection = writer.store.connection
        async with writer.batch(self.source, label=self.source.partition(":")[2], is_public=False) as batch:
            await forges.rename(connection, {known[number].key: one.source for number, one in renamed.items()})
            for number, one in found.items():
                if _differs(known.get(number), one):
                    key = await writer.store.register(one.source, label=one.label, is_public=one.listed.is_public)
                    await forges.adopt(connection, batch.source_key, key, number, one.listed.clone_url)
                    await writer.store.hide(one.source, is_hidden=False)
            for number in unsure:
                await writer.store.hide(known[number].source, is_hidden=True)
            if not seen.faults:
                await forges.keep_pages(connection, batch.source_key, seen.pages)
        return [f"{known[number].label} is now {one.label}" for number, one in renamed.items()]

    async def _each(
        self, writer: Writer, found: Sequence[Found], *, told_ms: int, is_full: bool
    ) -> Sequence[SourceReport]:
        """Bring each up to date, `parallel` at a time; one failing stops no other."""
        stored = {repo.source: repo for repo in await forges.repositories(writer.store.connection, self.source)}
        limit = asyncio.Semaphore(self.roster.parallel)
        settled: list[tuple[int, str]] = []

        async def one(repo: Found) -> SourceReport:
            known = stored[repo.source]
            is_empty = Flag.EMPTY in repo.listed.flags and known.position is None
            if not is_full and (is_empty or self.trust.is_settled(known, repo.listed, self.now_ms())):
                return SourceReport(repo.source, Outcome.UNCHANGED)
            async with limit:
                report = await _refreshed(self.worker_of(repo), writer, is_full=is_full)
            if report.outcome is not Outcome.FAILED:
                settled.append(
                    (known.key, self.trust.settled(known, repo.listed, told_ms=told_ms, now_ms=self.now_ms()))
                )
            return report

        done = await asyncio.gather(*(one(repo) for repo in found))
        if settled:
            async with writer.transaction() as store:
                await forges.settle(store.connection, settled)
        return done

    def _found(self, number: str, repo: Listed) -> Found:
        label = self.scrub(repo.full_name)
        if label != repo.full_name:  # two that differ only in what was scrubbed stay two
            label = f"{label}#{repo.id}"
        source, identity = SourceId(f"{self.source}/{label}"), SourceId(f"{self.source}#{repo.id}")
        return Found(source, identity, label, clone_of(number), repo)

    def _report(self, seen: Seen, unsure: Sequence[str], renamed: Sequence[str]) -> SourceReport:
        """Of the listing itself."""
        skipped = Counter(seen.left_out.values())
        if seen.odd:
            skipped["not understood"] = seen.odd
        faults = [str(fault) for fault in seen.faults]
        if seen.faults:
            faults.append("of what is missing nothing was removed")
        if unsure:
            left = counted(len(unsure), "repository", "repositories")
            faults.append(
                f"{self.roster.api.about}: {left} left its listing and cannot be looked up, hidden until that works"
                " (the next run asks again)"
            )
        return SourceReport(
            self.source,
            Outcome.FAILED if faults else Outcome.UPDATED if renamed else Outcome.UNCHANGED,
            skipped=dict(sorted(skipped.items())),
            notes=tuple(renamed),
            fault="; ".join(faults) or None,
            is_credential_fault=any(isinstance(fault, CredentialError) for fault in seen.faults),
        )


async def _refreshed(worker: RepoWorker, writer: Writer, *, is_full: bool) -> SourceReport:
    start = time.monotonic()
    try:
        (report,) = await worker.refresh(writer, is_full=is_full)
    except SourcesError as error:
        return SourceReport(
            worker.source,
            Outcome.FAILED,
            fault=str(error),
            is_credential_fault=isinstance(error, CredentialError),
            seconds=time.monotonic() - start,
        )
    return report


def clone_of(number: str) -> str:
    """Named by number, so that a renamed repository keeps its clone."""
    return clone_name(number.rpartition("#")[2], number)


def _differs(known: ForgeRepo | None, now: Found) -> bool:
    return (
        known is None
        or known.is_hidden
        or (known.source, known.label, known.is_public, known.url)
        != (now.source, now.label, now.listed.is_public, now.listed.clone_url)
    )
