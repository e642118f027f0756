"""What a refresh did, source by source. The same records go to the terminal, to `--json` and to the metrics."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from index.model import SourceId


class Outcome(StrEnum):
    UNCHANGED = "unchanged"
    UPDATED = "updated"
    FAILED = "failed"
    REMOVED = "removed"  # no longer configured, or no longer permitted


class SourceReport(Struct, frozen=True):
    """`skipped` counts files or events by the reason why they are not indexed; `label` is what people call a room."""

    source: SourceId
    outcome: Outcome
    documents: int = 0  # written
    documents_removed: int = 0
    chunks_added: int = 0
    chunks_changed: int = 0
    chunks_removed: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what a host should know: a gap, a file that could not be read
    fault: str | None = None
    is_credential_fault: bool = False
    seconds: float = 0.0
    label: str = ""


class VectorReport(Struct, frozen=True):
    embedded: int = 0
    refused: int = 0
    pending: int = 0
    fault: str | None = None
    seconds: float = 0.0


class CopyReport(Struct, frozen=True):
    """What a cluster was told. `waiting` chunks it has yet to hear of: after a fault the next run goes on with them.

    `is_settled` False: it acknowledged that points are deleted and has yet to rewrite the files that held them.
    """

    sent: int = 0
    removed: int = 0
    waiting: int = 0
    fault: str | None = None
    is_credential_fault: bool = False
    is_settled: bool = True
    seconds: float = 0.0

    def __add__(self, later: "CopyReport") -> "CopyReport":
        """Two deliveries of one run: what was done adds up, what is left is as the later one found it."""
        return CopyReport(
            self.sent + later.sent,
            self.removed + later.removed,
            later.waiting,
            later.fault,
            later.is_credential_fault,
            self.is_settled and later.is_settled,
            self.seconds + later.seconds,
        )


class Report(Struct, frozen=True):
    """A whole run. `uncovered` are folders that hold Markdown and belong to no source; `copy` is for a cluster."""

    sources: tuple[SourceReport, ...]
    vectors: VectorReport
    uncovered: tuple[str, ...] = ()
    is_erased: bool = True  # False: a long reader kept deleted pages alive; the next run tries again
    readers: tuple[int, ...] = ()  # those processes, as far as they could be found
    seconds: float = 0.0
    copy: CopyReport | None = None

    @property
    def has_changed(self) -> bool:
        """The index, or what the cluster has of it: that may follow runs later."""
        is_told = self.copy is not None and self.copy.sent + self.copy.removed > 0
        is_read = any(report.outcome is not Outcome.UNCHANGED for report in self.sources)
        return is_told or is_read or self.vectors.embedded > 0

    @property
    def failed(self) -> tuple[SourceReport, ...]:
        return tuple(report for report in self.sources if report.outcome is Outcome.FAILED)
