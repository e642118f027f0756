"""What `sources refresh` promises as a whole."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from index.errors import StoreError
from index.model import Fingerprint
from index.store import fulltext, segments
from index.store.store import Store
from sources.app import run_refresh
from sources.config.load import load
from sources.credentials import Credentials
from tests.refresh.conftest import Place, git, page


def chunks_of(place: Place, state: str) -> int:
    return len(place.dump(state)["chunks"])


def test_the_second_run_says_nothing_and_changes_nothing(place: Place) -> None:
    place.refresh("state")
    before = place.dump("state")
    done = place.refresh("state")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert place.dump("state") == before


def test_one_changed_file_embeds_its_own_chunks_only(place: Place) -> None:
    place.refresh("state")
    file = place.root / "repos" / "repo2" / "page20.md"
    file.write_text(file.read_text().replace("## Part 2", "## Part two"))
    git(file.parent, "commit", "-q", "-a", "-m", "one heading")
    report = json.loads(place.refresh("state", "--json").stdout)
    changed = [source for source in report["sources"] if source["outcome"] != "unchanged"]
    assert [source["source"] for source in changed] == ["repo:repo2"]
    assert 1 <= report["vectors"]["embedded"] <= 3
    assert report["vectors"]["pending"] == 0


def test_a_broken_source_stops_no_other_and_keeps_what_it_had(place: Place) -> None:
    place.refresh("state")
    before = place.dump("state")
    (place.root / "repos" / "repo1").rename(place.root / "elsewhere")
    (place.root / "repos" / "repo1").mkdir()
    (place.root / "notes" / "more.md").write_text(page(7))
    done = place.refresh("state", "--json")
    assert done.returncode == 3
    outcomes = {source["source"]: source["outcome"] for source in json.loads(done.stdout)["sources"]}
    assert outcomes["repo:repo1"] == "failed"
    assert outcomes["notes:notes"] == "updated"
    after = place.dump("state")
    assert [row for row in after["documents"] if "repo1" in str(row[0])] == [
        row for row in before["documents"] if "repo1" in str(row[0])
    ]
    cursors = {row[0]: row[4] for row in after["sources"]}
    assert cursors["repo:repo1"] == {row[0]: row[4] for row in before["sources"]}["repo:repo1"]


def test_a_source_that_is_no_longer_configured_leaves_the_index(place: Place) -> None:
    place.refresh("state")
    (place.root / "repos" / "repo1").rename(place.root / "elsewhere")
    report = json.loads(place.refresh("state", "--json").stdout)
    assert {source["source"]: source["outcome"] for source in report["sources"]}["repo:repo1"] == "removed"
    assert not [row for row in place.dump("state")["documents"] if "repo1" in str(row[0])]
    data = b"".join(path.read_bytes() for path in Path(place.root / "state").glob("index.sqlite*"))
    assert b"Page 13" not in data


def test_a_second_refresh_names_the_first_and_exits_6(place: Place) -> None:
    import fcntl
    import os

    place.refresh("state")
    with (place.root / "state" / "refresh.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        done = place.refresh("state")
    assert done.returncode == 6
    assert str(os.getpid()) in done.stderr
    assert place.refresh("state").returncode == 0


def test_another_embedder_asks_for_a_full_run_which_then_is_what_a_fresh_index_is(place: Place) -> None:
    place.refresh("state")
    config = place.config("state")
    wider = config.read_text().replace("dimension = 32", "dimension = 16")

    def run(*options: str) -> tuple[int, str]:
        import subprocess

        from tests.refresh.conftest import PROGRAM, environment

        file = place.root / "wider.toml"
        file.write_text(wider)
        done = subprocess.run(
            [*PROGRAM, "--config", str(file), "refresh", *options], capture_output=True, text=True, env=environment(),
            check=False,
        )  # fmt: skip
        return done.returncode, done.stderr

    code, told = run()
    assert code == 5
    assert "reindex needed" in told
    assert "dimension: 32 -> 16" in told
    assert run("--full")[0] == 0
    assert run()[0] == 0
    assert {len(str(row[6])) for row in place.dump("state")["vectors"]} == {32}


def test_a_raised_scrubber_version_scrubs_again_without_being_asked(place: Place) -> None:
    import sqlite3
    from contextlib import closing

    place.refresh("state")
    fresh = place.dump("state")
    with closing(sqlite3.connect(place.root / "state" / "index.sqlite")) as index:
        (stored,) = index.execute("SELECT value FROM meta WHERE name = 'fingerprint'").fetchone()
        fields = json.loads(stored)
        index.execute("UPDATE meta SET value = ? WHERE name = 'fingerprint'", (json.dumps({**fields, "scrubber": 0}),))
        index.commit()
    report = json.loads(place.refresh("state", "--json").stdout)
    assert {source["outcome"] for source in report["sources"]} == {"updated"}
    assert place.dump("state") == fresh


def test_an_index_of_an_older_schema_is_brought_along_and_not_read_again(place: Place) -> None:
    import sqlite3
    from contextlib import closing

    place.refresh("state")
    before = place.dump("state")
    with closing(sqlite3.connect(place.root / "state" / "index.sqlite")) as index:
        (stored,) = index.execute("SELECT value FROM meta WHERE name = 'fingerprint'").fetchone()
        older = json.dumps({**json.loads(stored), "schema": 1})
        index.execute("UPDATE meta SET value = ? WHERE name = 'fingerprint'", (older,))
        index.commit()
    report = json.loads(place.refresh("state", "--json").stdout)
    assert {source["outcome"] for source in report["sources"]} == {"unchanged"}
    assert place.dump("state") == before


def test_what_differs_is_told_as_people_write_it_and_blanks_can_be_seen() -> None:
    built = Fingerprint(1, 1, 1, 1, ("en", "cs", "de"), "e5", 384, "query: ", "")
    wanted = Fingerprint(1, 1, 1, 1, ("en",), "other", 384, "", "")
    assert wanted.differences(built) == [
        "languages: en, cs, de -> en",
        "embedder: e5 -> other",
        "query_prefix: 'query: ' -> ''",
    ]


async def test_many_segments_of_the_full_text_indexes_are_merged_at_the_end(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count() -> list[int]:
        with closing(sqlite3.connect(place.root / "state" / "index.sqlite")) as index:
            return [
                index.execute(f"SELECT count(DISTINCT segid) FROM {table}_idx").fetchone()[0]
                for table in fulltext.SETTLED
            ]

    place.refresh("state")
    assert min(count()) > 1, "each source was written by itself"
    monkeypatch.setattr(segments, "LEAST_CHUNKS", 0)
    monkeypatch.setattr(segments, "MOST", 1)
    report = await run_refresh(load(place.config("state")), Credentials(None))
    assert not report.failed
    assert count() == [1, 1]


async def test_a_merge_that_fails_costs_nothing_else(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: Store) -> None:
        raise StoreError("index.sqlite: nothing was written: the disk is full")

    monkeypatch.setattr(Store, "merge", fail)
    report = await run_refresh(load(place.config("state")), Credentials(None))
    assert not report.failed
    assert report.is_erased
