"""From what a run did and what the index holds to samples, on top of those of the run before. Pure.

A textfile is read as if it stood there all the time, so a run that knows nothing of a value leaves it as it was.
Counters go on from the former value; they begin anew with a new file, which Prometheus takes for a restart.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from ingest.report import Report, SourceReport
from sources.cli.exits import Exit
from sources.metrics.families import BY_NAME, Scope
from sources.status import SourceStatus, Status, group_of

Key = tuple[str, tuple[str, ...]]
"""Name of a family, and the values of its labels in their order."""
Samples = Mapping[Key, float]

_DONE: Final = (Exit.FINE, Exit.SOURCE_FAILED, Exit.CREDENTIAL)


class Run(Struct, frozen=True):
    """One run. `report` is None when it failed as a whole, `status` when the index could not be read afterwards."""

    exit: Exit
    ended_ms: int
    seconds: float
    version: str
    is_whole: bool  # of all sources
    report: Report | None = None
    status: Status | None = None


class _Page(Struct):
    values: dict[Key, float] = field(default_factory=dict)

    def set(self, name: str, value: float, *labels: str) -> None:
        self.values[name, labels] = float(value)

    def add(self, name: str, value: float, *labels: str) -> None:
        key = (name, labels)
        self.values[key] = self.values.get(key, 0.0) + value

    def drop(self, name: str) -> None:
        self.values = {key: value for key, value in self.values.items() if key[0] != name}


def samples(before: Samples, run: Run) -> Samples:
    """Everything the file says after this run. Unknown families and misfit labels in `before` are dropped."""
    page = _Page({key: value for key, value in before.items() if _fits(key)})
    _add_run(page, run)
    if run.report is not None:
        _add_report(page, run.report, is_whole=run.is_whole)
    if run.status is not None:
        _put_index(page, run.status)
    return page.values


def _fits(key: Key) -> bool:
    family = BY_NAME.get(key[0])
    return family is not None and len(family.labels) == len(key[1])


def _add_run(page: _Page, run: Run) -> None:
    page.drop("sources_build_info")
    page.set("sources_build_info", 1, run.version)
    for code in Exit:  # those that did not happen yet too, so that a first one is an increase
        if code in (*_DONE, Exit.REINDEX, Exit.USAGE, Exit.BUG, Exit.INTERRUPTED):
            page.add("sources_refresh_runs_total", code is run.exit, code.name.lower())
    page.set("sources_refresh_last_run_timestamp_seconds", run.ended_ms / 1000)
    page.set("sources_refresh_duration_seconds", run.seconds)
    page.set("sources_refresh_exit_code", run.exit)
    if run.exit is Exit.FINE and run.is_whole:
        page.set("sources_refresh_last_success_timestamp_seconds", run.ended_ms / 1000)


def _add_report(page: _Page, report: Report, *, is_whole: bool) -> None:
    durations: dict[str, float] = {}
    for one in report.sources:
        group = group_of(one.source)
        durations[group] = max(durations.get(group, 0.0), one.seconds)
        _add_source(page, group, one)
    for group, seconds in durations.items():
        page.set("sources_source_duration_seconds", seconds, group)
    page.add("sources_vectors_embedded_total", report.vectors.embedded)
    page.add("sources_vectors_refused_total", report.vectors.refused)
    page.add("sources_vectors_seconds_total", report.vectors.seconds)
    if is_whole:
        page.set("sources_uncovered_folders", len(report.uncovered))


def _add_source(page: _Page, group: str, one: SourceReport) -> None:
    page.add("sources_source_runs_total", 1, group, one.outcome.value)
    page.add("sources_documents_written_total", one.documents, group)
    page.add("sources_documents_removed_total", one.documents_removed, group)
    page.add("sources_chunks_total", one.chunks_added, group, "added")
    page.add("sources_chunks_total", one.chunks_changed, group, "changed")
    page.add("sources_chunks_total", one.chunks_removed, group, "removed")
    page.add("sources_skipped_total", sum(one.skipped.values()), group)


def _put_index(page: _Page, status: Status) -> None:
    """All of it anew: a source that is gone takes its lines with it, its counters too."""
    groups: dict[str, list[SourceStatus]] = {}
    for one in status.sources:
        groups.setdefault(group_of(one.source), []).append(one)
    names = {*groups, *map(group_of, status.missing)}
    page.values = {key: value for key, value in page.values.items() if _stays(key, names)}
    for group, members in groups.items():
        times = [one.succeeded_ms for one in members if not one.is_hidden]
        page.set("sources_source_failed_members", sum(one.fault is not None for one in members), group)
        page.set("sources_source_last_success_timestamp_seconds", _oldest(times), group)
        page.set("sources_source_documents", sum(one.documents for one in members), group)
    page.set("sources_vectors", status.vectors)
    page.set("sources_vectors_pending", status.pending)
    page.set("sources_vectors_drifted", status.is_drifted)
    if status.uncopied is not None:
        page.set("sources_cluster_chunks_waiting", status.uncopied)
    for outcome in {"admitted", "refused", "suspended", *status.rooms} if status.rooms else ():
        page.set("sources_chat_rooms", status.rooms.get(outcome, 0), outcome)
    page.set("sources_chat_rooms_upgraded", len(status.upgrades))
    page.set("sources_chat_gaps", status.gaps)
    page.set("sources_chat_unknown_stretches", status.unknown_stretches)
    page.set("sources_index_size_bytes", status.size_bytes)
    if status.free_bytes is not None:
        page.set("sources_state_free_bytes", status.free_bytes)
    page.set("sources_purge_orders_waiting", status.waiting_orders)
    page.set("sources_erasure_owed", status.owes_erasure)


def _oldest(times_ms: Iterable[int | None]) -> float:
    """In seconds; 0 where one was never brought up to date, so that its age is alarming by itself."""
    return min((0 if time_ms is None else time_ms for time_ms in times_ms), default=0) / 1000


def _stays(key: Key, sources: set[str]) -> bool:
    family = BY_NAME[key[0]]
    if family.scope is Scope.INDEX:
        return False
    return "source" not in family.labels or key[1][family.labels.index("source")] in sources
