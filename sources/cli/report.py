"""What a refresh did, as a table and as JSON. Pure. The JSON is a contract: fields are added, never changed."""

from collections.abc import Iterable
from typing import Final

from index.model import Corpus, corpus_of
from index.wording import counted
from ingest.report import CopyReport, Outcome, Report, SourceReport
from sources.cli.exits import Exit
from sources.cli.style import PLAIN, Style, one_line, table

VERSION: Final = 1
_COLOURS: Final = {Outcome.FAILED: "red", Outcome.REMOVED: "yellow", Outcome.UPDATED: "green", Outcome.UNCHANGED: ""}


def exit_code(report: Report) -> Exit:
    """A refused credential has its own code when nothing else failed: waiting does not mend it."""
    faults = [one.is_credential_fault for one in report.failed]
    if report.copy is not None and report.copy.fault:
        faults.append(report.copy.is_credential_fault)
    if not faults:
        return Exit.FINE
    return Exit.CREDENTIAL if all(faults) else Exit.SOURCE_FAILED


def report_text(report: Report, *, style: Style = PLAIN, is_verbose: bool = False, is_quiet: bool = False) -> str:
    """Empty when nothing happened, so that a timer's mail stays empty too; `is_verbose` shows unchanged sources.

    `is_quiet` is empty too as long as the exit code is 0.
    """
    if is_quiet and exit_code(report) is Exit.FINE:
        return ""
    shown = [one for one in report.sources if is_verbose or one.outcome is not Outcome.UNCHANGED or one.notes]
    blocks = []
    if shown:
        blocks.append(
            table(
                ("source", "is", "documents", "chunks", "skipped", "time"),
                [_row(one) for one in shown],
                style,
                colours=[_COLOURS[one.outcome] for one in shown],
            )
        )
    tail = list(_tail(report, style))
    if tail:
        blocks.append("\n".join(tail))
    return "\n".join(blocks)


def _row(one: SourceReport) -> tuple[str, ...]:
    chunks = _signed(("+", one.chunks_added), ("~", one.chunks_changed), ("-", one.chunks_removed))
    documents = _signed(("+", one.documents), ("-", one.documents_removed))
    return (
        one.source,
        one.outcome.value,
        documents,
        chunks,
        str(sum(one.skipped.values()) or ""),
        f"{one.seconds:.1f} s",
    )


def _name_of(one: SourceReport) -> str:
    """`#kitchen:example.org (chat:!abc:example.org)`, or the source where nobody calls it otherwise."""
    return f"{one.label} ({one.source})" if one.label and one.label not in one.source else one.source


def _signed(*counts: tuple[str, int]) -> str:
    return " ".join(f"{sign}{count:,}" for sign, count in counts if count)


def _tail(report: Report, style: Style) -> Iterable[str]:
    for one in report.sources:
        name = one_line(_name_of(one))
        if one.fault:  # what concerns a repository or a folder says so itself, a homeserver says only what it was asked
            about = f"{name}: " if corpus_of(one.source) is Corpus.CHAT else ""
            yield style.paint(f"failed: {about}{one_line(one.fault)}", "red")
        for reason, count in one.skipped.items():
            yield style.paint(f"skipped in {name}: {count:,} × {one_line(reason)}", "dim")
        for note in one.notes:
            yield style.paint(f"note on {name}: {one_line(note)}", "yellow")
    vectors = report.vectors
    if vectors.embedded:
        yield f"vectors: {vectors.embedded:,} in {vectors.seconds:.1f} s"
    if vectors.refused:
        refused = counted(vectors.refused, "text was", "texts were")
        yield style.paint(f"vectors: {refused} refused by the embedder, found by words alone", "yellow")
    if vectors.pending:
        yield style.paint(f"vectors: {vectors.pending:,} pending; the next refresh tries again", "yellow")
    if vectors.fault:
        yield style.paint(f"vectors: {one_line(vectors.fault)}", "yellow")
    if report.copy is not None:
        yield from _copy_lines(report.copy, style)
    for folder in report.uncovered:
        yield style.paint(f"not covered by any source: {one_line(folder)}", "yellow")
    if not report.is_erased:
        who = f" (process {', '.join(map(str, report.readers))})" if report.readers else ""
        yield style.paint(f"note: erased text is still in the log{who}; the next refresh wipes it", "yellow")


def _copy_lines(copy: CopyReport, style: Style) -> Iterable[str]:
    told = _signed(("~", copy.sent), ("-", copy.removed))
    if told:
        yield f"cluster: {told} chunks in {copy.seconds:.1f} s"
    if copy.fault:
        yield style.paint(f"failed: {one_line(copy.fault)}", "red")
    if copy.waiting:
        yield style.paint(
            f"cluster: {counted(copy.waiting, 'chunk waits', 'chunks wait')}; the next refresh goes on", "yellow"
        )
    if not copy.is_settled:
        yield style.paint("note: the cluster is still rewriting files that held deleted points", "yellow")


def report_record(report: Report) -> dict[str, object]:
    return {
        "version": VERSION,
        "exit": int(exit_code(report)),
        "changed": report.has_changed,
        "seconds": round(report.seconds, 3),
        "erased": report.is_erased,
        "readers": list(report.readers),
        "uncovered": list(report.uncovered),
        "vectors": {
            "embedded": report.vectors.embedded,
            "refused": report.vectors.refused,
            "pending": report.vectors.pending,
            "fault": report.vectors.fault,
            "seconds": round(report.vectors.seconds, 3),
        },
        "copy": None
        if report.copy is None
        else {
            "sent": report.copy.sent,
            "removed": report.copy.removed,
            "waiting": report.copy.waiting,
            "fault": report.copy.fault,
            "settled": report.copy.is_settled,
            "seconds": round(report.copy.seconds, 3),
        },
        "sources": [
            {
                "source": one.source,
                "label": one.label,
                "outcome": one.outcome.value,
                "documents": one.documents,
                "documents_removed": one.documents_removed,
                "chunks_added": one.chunks_added,
                "chunks_changed": one.chunks_changed,
                "chunks_removed": one.chunks_removed,
                "skipped": dict(one.skipped),
                "notes": list(one.notes),
                "fault": one.fault,
                "credential_refused": one.is_credential_fault,
                "seconds": round(one.seconds, 3),
            }
            for one in report.sources
        ],
    }
