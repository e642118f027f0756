"""The textfile for Prometheus: whole at any moment, true after a run that failed, and silent about rooms and people."""

import asyncio
import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from index.audit import Upgrade
from index.errors import BusyError, ConfigError, CredentialError, StoreError
from index.model import RoomId, SourceId, corpus_of
from ingest.lock import write_lock
from ingest.report import Outcome, Report, SourceReport, VectorReport
from sources.cli.exits import Exit
from sources.config.load import load
from sources.metrics.families import FAMILIES
from sources.metrics.recording import recorded
from sources.metrics.samples import Run, samples
from sources.metrics.textfile import MetricsError, read, render, update
from sources.status import SourceStatus, Status
from tests.cli.conftest import Community

HOUR_MS = 3_600_000


def status(*names: str, **more: object) -> Status:
    sources = tuple(
        SourceStatus(
            SourceId(name),
            corpus_of(SourceId(name)),
            5,
            is_public=True,
            is_hidden=False,
            tried_ms=HOUR_MS,
            succeeded_ms=HOUR_MS,
            fault=None,
        )
        for name in names
    )
    plain = Status(Path("index"), 1_000, None, sources, (), vectors=8, pending=2, free_bytes=10, rooms={"admitted": 2})
    return replace(plain, **more)


def run(report: Report | None = None, found: Status | None = None, **more: object) -> Run:
    plain = Run(Exit.FINE, 2 * HOUR_MS, 1.5, "1.0", is_whole=True, report=report, status=found)
    return replace(plain, **more)


def report(*names: str, **more: object) -> Report:
    one = SourceReport(SourceId(""), Outcome.UPDATED, documents=3, chunks_added=4, skipped={"binary": 2}, seconds=0.5)
    made = (replace(one, source=SourceId(name), **more) for name in names)
    return Report(tuple(made), VectorReport(embedded=7))


def test_counters_go_on_and_gauges_are_replaced() -> None:
    first = samples({}, run(report("repo:a"), status("repo:a")))
    second = samples(first, run(report("repo:a"), status("repo:a", pending=0)))
    assert second["sources_chunks_total", ("repo:a", "added")] == 8
    assert second["sources_skipped_total", ("repo:a",)] == 4
    assert second["sources_vectors_embedded_total", ()] == 14
    assert second["sources_refresh_runs_total", ("fine",)] == 2
    assert second["sources_vectors_pending", ()] == 0


def test_rooms_that_went_on_elsewhere_are_counted() -> None:
    heirs = (Upgrade("#ops:hs", RoomId("!heir")),) * 2
    assert samples({}, run(report(), status("chat:!a", upgrades=heirs)))["sources_chat_rooms_upgraded", ()] == 2
    assert samples({}, run(report(), status("chat:!a")))["sources_chat_rooms_upgraded", ()] == 0


def test_a_run_that_failed_as_a_whole_leaves_what_it_does_not_know() -> None:
    before = samples({}, run(report("repo:a"), status("repo:a")))
    after = samples(before, run(exit=Exit.REINDEX, ended_ms=9 * HOUR_MS))
    changed = {key[0] for key in after if after[key] != before.get(key)}
    assert changed == {
        "sources_refresh_runs_total",
        "sources_refresh_exit_code",
        "sources_refresh_last_run_timestamp_seconds",
    }
    assert after["sources_refresh_last_success_timestamp_seconds", ()] == 2 * 3_600


def test_what_waits_for_a_cluster_is_told_only_where_there_is_one() -> None:
    name = ("sources_cluster_chunks_waiting", ())
    behind = samples({}, run(None, status("repo:a", uncopied=3)))
    assert behind[name] == 3
    assert name not in samples(behind, run(None, status("repo:a")))


def test_only_a_run_of_all_sources_is_a_success() -> None:
    after = samples({}, run(report("repo:a"), status("repo:a"), is_whole=False))
    assert ("sources_refresh_last_success_timestamp_seconds", ()) not in after


def test_a_source_that_is_gone_takes_its_lines_with_it() -> None:
    before = samples({}, run(report("repo:a", "repo:b"), status("repo:a", "repo:b")))
    after = samples(before, run(report("repo:a"), status("repo:a")))
    assert not [key for key in after if "repo:b" in key[1]]
    assert after["sources_source_documents", ("repo:a",)] == 5


def test_rooms_and_repositories_of_a_forge_are_counted_and_never_named() -> None:
    names = ("chat:@reader:hs", "chat:!secret:hs", "forge:club", "forge:club/secret")
    page = render(samples({}, run(report(*names), status(*names)))).decode()
    assert "secret" not in page and "reader" not in page
    assert 'sources_source_documents{source="chat"} 10.0' in page
    assert 'sources_documents_written_total{source="forge:club"} 6.0' in page


def test_the_oldest_of_many_tells_when_they_were_brought_up_to_date() -> None:
    found = status("chat:!a:hs", "chat:!b:hs")
    late = replace(found.sources[0], succeeded_ms=None, fault="x")
    after = samples({}, run(None, replace(found, sources=(late, found.sources[1]))))
    assert after["sources_source_last_success_timestamp_seconds", ("chat",)] == 0
    assert after["sources_source_failed_members", ("chat",)] == 1


def test_what_is_written_is_read_back_whatever_a_label_holds(tmp_path: Path) -> None:
    hostile = 'a"} 1\n# HELP x \\ \u2028 evil{'
    page = samples({}, run(report(f"repo:{hostile}"), status(f"repo:{hostile}")))
    file = tmp_path / "x.prom"
    update(file, lambda before: page)
    assert read(file) == page
    families = {family.name for family in text_string_to_metric_families(file.read_text())}
    assert families <= {family.name.removesuffix("_total") for family in FAMILIES}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"garbage {{{",
        b'sources_vectors{a="b"} 1\n',
        b"sources_vectors NaN\nother 3\n",
        b"# TYPE sources_vectors\n",
        b'sources_chunks_total{source="a" 1\n',
    ],
)
def test_a_file_that_cannot_be_understood_is_made_anew(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "x.prom"
    file.write_bytes(text)
    assert read(file) == {}
    update(file, lambda before: samples(before, run()))
    assert read(file)["sources_refresh_runs_total", ("fine",)] == 1


def test_the_collector_may_read_it_and_finds_nothing_half_written(tmp_path: Path) -> None:
    file = tmp_path / "x.prom"
    mask = os.umask(0o077)
    try:
        update(file, lambda before: samples(before, run()))
    finally:
        os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    inode = file.stat().st_ino
    with pytest.raises(ZeroDivisionError):
        update(file, lambda before: {("sources_vectors", ()): 1 / 0})
    assert file.stat().st_ino == inode
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".prom"] == ["x.prom"]


def test_a_link_planted_in_the_folder_leads_nowhere(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / ".x.prom.new").symlink_to(target)
    with pytest.raises(MetricsError, match=r"x\.prom: metrics could not be written"):
        update(tmp_path / "x.prom", lambda before: samples(before, run()))
    assert target.read_text() == "mine"


def test_counts_of_runs_that_end_at_once_are_not_lost(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from sources.metrics.textfile import update\n"
        "key = ('sources_vectors_refused_total', ())\n"
        "for _ in range(15): update(Path(sys.argv[1]), lambda old: {key: old.get(key, 0) + 1})"
    )
    file = tmp_path / "x.prom"
    root = Path(__file__).parents[2]
    both = [subprocess.Popen([sys.executable, "-c", script, str(file)], cwd=root) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert read(file) == {("sources_vectors_refused_total", ()): 30}


def configured(community: Community) -> Path:
    file = community.folder / "sources.prom"
    community.config_file.write_text(community.config_file.read_text() + f'[metrics]\ntextfile = "{file}"\n')
    return file


def test_a_refresh_leaves_its_metrics_and_one_that_fails_too(community: Community) -> None:
    file = configured(community)
    assert community.sources("refresh", "--quiet").return_value == 0
    found = read(file)
    assert found["sources_source_documents", ("repo:handbook",)] == 2
    assert found["sources_source_runs_total", ("notes:wiki", "updated")] == 1
    assert found["sources_erasure_owed", ()] == 0
    (community.folder / "state" / "index.sqlite").write_bytes(b"no database" * 1_000)
    with pytest.raises(StoreError):
        community.sources("refresh", "--quiet")
    after = read(file)
    assert after["sources_refresh_runs_total", ("source_failed",)] == 1
    assert after["sources_source_documents", ("repo:handbook",)] == 2


def test_a_refresh_that_finds_another_at_work_leaves_the_metrics_to_it(community: Community) -> None:
    file = configured(community)
    with write_lock(community.folder / "state" / "refresh.lock"), pytest.raises(BusyError):
        community.sources("refresh", "--quiet")
    assert not file.exists()


def test_metrics_that_cannot_be_written_fail_no_refresh(community: Community) -> None:
    configured(community)
    config = load(community.config_file)
    config = replace(config, metrics=replace(config.metrics, textfile=community.folder / "no" / "x.prom"))
    told: list[Exception] = []

    async def refresh() -> Report:
        return report("repo:a")

    done = asyncio.run(recorded(config, refresh, is_whole=True, on_trouble=told.append))
    assert done == report("repo:a")
    assert "check [metrics] textfile" in str(told[0])


def test_an_index_that_is_damaged_inside_fails_no_refresh(community: Community) -> None:
    file = configured(community)
    assert community.sources("refresh", "--quiet").return_value == 0
    index = community.folder / "state" / "index.sqlite"
    damaged = bytearray(index.read_bytes())
    damaged[4096 * 2 :] = b"\x55" * (len(damaged) - 4096 * 2)
    index.write_bytes(damaged)

    async def refresh() -> Report:
        return report("repo:handbook")

    done = asyncio.run(recorded(load(community.config_file), refresh, is_whole=True, on_trouble=lambda error: None))
    assert done == report("repo:handbook")
    assert read(file)["sources_refresh_runs_total", ("fine",)] == 2


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (OSError(errno.ENOSPC, "full"), "source_failed"),
        (OSError(errno.EBADF, "odd"), "bug"),
        (ZeroDivisionError(), "bug"),
        (CredentialError("refused"), "credential"),
        (asyncio.CancelledError(), "interrupted"),
    ],
)
def test_a_run_that_ends_by_an_error_is_counted_by_its_exit_code(
    community: Community, error: BaseException, outcome: str
) -> None:
    file = configured(community)

    async def refresh() -> Report:
        raise error

    with pytest.raises(type(error)):
        asyncio.run(recorded(load(community.config_file), refresh, is_whole=True, on_trouble=lambda error: None))
    assert [key[1] for key, value in read(file).items() if key[0].endswith("runs_total") and value] == [(outcome,)]


def test_a_name_that_the_collector_would_pass_over_is_refused(community: Community) -> None:
    text = community.config_file.read_text()
    community.config_file.write_text(text + '[metrics]\ntextfile = "x.txt"\n')
    with pytest.raises(ConfigError, match="does not end in"):
        load(community.config_file)


def test_check_says_whether_the_file_can_be_written(community: Community) -> None:
    from sources.checks.metrics import probe
    from sources.credentials import Credentials

    file = configured(community)
    config = load(community.config_file)
    [fine] = asyncio.run(probe(config, Credentials(None)))
    assert (fine.verdict, fine.detail) == ("ok", str(file))
    config = replace(config, metrics=replace(config.metrics, textfile=community.folder / "no" / "x.prom"))
    [missing] = asyncio.run(probe(config, Credentials(None)))
    assert missing.verdict == "fail"
