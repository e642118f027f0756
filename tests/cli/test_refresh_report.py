"""What a refresh tells: silence when nothing happened, each failure by name, codes that scripts can rely on."""

import json

from msgspec.structs import replace

from index.model import SourceId
from ingest.report import CopyReport, Outcome, Report, SourceReport, VectorReport
from sources.cli.report import exit_code, report_record, report_text

QUIET = SourceReport(SourceId("repo:docs"), Outcome.UNCHANGED)
GROWN = SourceReport(
    SourceId("repo:ops"), Outcome.UPDATED, documents=1200, chunks_added=3, chunks_removed=1, skipped={"binary": 2}
)
FAILED = SourceReport(SourceId("repo:gone"), Outcome.FAILED, fault="repo gone: no such host (check url)")
REFUSED = replace(FAILED, source=SourceId("repo:closed"), is_credential_fault=True)


def report(*sources: SourceReport, vectors: VectorReport | None = None) -> Report:
    return Report(sources, vectors or VectorReport(), seconds=1.5)


def test_nothing_is_said_when_nothing_happened() -> None:
    assert report_text(report(QUIET, QUIET)) == ""
    assert "unchanged" in report_text(report(QUIET), is_verbose=True)


def test_what_changed_is_a_row_with_counts() -> None:
    told = report_text(report(QUIET, GROWN))
    assert "repo:docs" not in told
    assert "+1,200" in told
    assert "+3 -1" in told
    assert "skipped in repo:ops: 2 × binary" in told


def test_a_failure_is_told_with_its_remedy_and_has_code_3() -> None:
    assert "failed: repo gone: no such host (check url)" in report_text(report(GROWN, FAILED))
    assert exit_code(report(GROWN, FAILED)) == 3
    assert exit_code(report(GROWN)) == 0


def test_what_is_said_of_a_room_names_it_as_people_do_and_by_its_id() -> None:
    room = SourceReport(
        SourceId("chat:!abc:hs"), Outcome.FAILED, label="#kitchen:hs", fault="hs: /messages: 502 (run again later)",
        notes=("a stretch is given up",), skipped={"encrypted": 3},
    )  # fmt: skip
    told = report_text(report(room))
    assert "failed: #kitchen:hs (chat:!abc:hs): hs: /messages: 502 (run again later)" in told
    assert (
        "note on #kitchen:hs (chat:!abc:hs): a stretch" in told and "skipped in #kitchen:hs (chat:!abc:hs): 3" in told
    )
    account = replace(room, source=SourceId("chat:@reader:hs"), label="")
    assert "failed: chat:@reader:hs: hs: /messages" in report_text(report(account))
    assert report_record(report(room))["sources"][0]["label"] == "#kitchen:hs"  # type: ignore[index]


def test_refused_credentials_alone_have_code_4() -> None:
    assert exit_code(report(GROWN, REFUSED)) == 4
    assert exit_code(report(FAILED, REFUSED)) == 3


def test_pending_vectors_are_told_with_what_will_happen() -> None:
    told = report_text(report(QUIET, vectors=VectorReport(pending=7, fault="embedder m: no answer (start it)")))
    assert "vectors: 7 pending; the next refresh tries again" in told
    assert "embedder m: no answer (start it)" in told


def test_a_quiet_run_says_nothing_unless_it_ends_badly() -> None:
    assert report_text(report(GROWN), is_quiet=True) == ""
    assert "no such host" in report_text(report(FAILED), is_quiet=True)
    away = replace(report(QUIET), copy=CopyReport(waiting=1, fault="qdrant: cannot be reached"))
    assert "cannot be reached" in report_text(away, is_quiet=True)


def test_a_delivery_that_caught_up_is_a_change() -> None:
    assert Report((), VectorReport(), copy=CopyReport(sent=1)).has_changed
    assert not Report((), VectorReport(), copy=CopyReport()).has_changed


def test_the_json_has_every_field_of_the_report() -> None:
    record = report_record(report(GROWN, FAILED))
    assert json.loads(json.dumps(record)) == record
    assert record["version"] == 1
    assert record["exit"] == 3
    assert set(record) == {
        "version", "exit", "changed", "seconds", "erased", "readers", "uncovered", "vectors", "copy", "sources",
    }  # fmt: skip
