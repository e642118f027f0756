"""`sources refresh` from outside: codes, silence, and each source for itself."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from click import UsageError

from index.errors import BusyError, ConfigError, ReindexNeededError, StoreError
from ingest.lock import write_lock
from tests.cli.conftest import Community

ROOT = Path(__file__).parents[2]


def process(community: Community, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from sources.cli.main import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, "SOURCES_CONFIG": str(community.config_file)},
    )


def test_a_first_refresh_indexes_and_a_second_says_nothing(community: Community) -> None:
    first = process(community, "refresh")
    assert first.returncode == 0, first.stderr
    assert "event=refresh.done" in first.stderr
    second = process(community, "refresh")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    found = json.loads(community.sources("search", "--json", "signing key").stdout)
    assert {hit["source"] for hit in found["hits"]} == {"repo:handbook", "notes:wiki"}


@pytest.mark.parametrize(
    ("command", "spared"),
    [
        (["refresh"], ("nio", "matrix", "ingest.chat")),
        (["get", "wiki guides/start.md"], ("nio", "matrix.session", "aiohttp")),
        (["chat-purge", "--list"], ("nio", "matrix.session", "aiohttp")),
    ],
)
def test_what_is_no_chat_loads_nothing_of_matrix(
    indexed: Community, command: list[str], spared: tuple[str, ...]
) -> None:
    code = (
        "import sys\nfrom sources.cli.main import run\n"
        f"code = run(['--config', {str(indexed.config_file)!r}, *{command!r}])\n"
        f"print(code, sorted(name for name in sys.modules if name.startswith({spared!r})))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert ended.stdout.splitlines()[-1] == "0 []", ended.stderr


def test_a_source_that_fails_stops_no_other_and_is_told_with_code_3(community: Community) -> None:
    text = community.config_file.read_text() + '[[repo]]\nname = "gone"\nurl = "no-such-folder"\n'
    community.config_file.write_text(text)
    result = community.sources("refresh", "--json")
    assert result.return_value == 3
    outcomes = {one["source"]: one["outcome"] for one in json.loads(result.stdout)["sources"]}
    assert outcomes == {"repo:handbook": "updated", "repo:gone": "failed", "notes:wiki": "updated"}
    told = json.loads(community.sources("status", "--json").stdout)
    assert [one["source"] for one in told["sources"] if one["fault"]] == ["repo:gone"]


def test_a_living_refresh_is_named_and_nothing_is_done(community: Community) -> None:
    with (
        write_lock(community.folder / "state" / "refresh.lock"),
        pytest.raises(BusyError, match=rf"process {os.getpid()}"),
    ):
        community.sources("refresh")


@pytest.mark.parametrize("place", ["file", "file/below", "link"])
def test_a_state_folder_that_is_none_is_named_with_what_to_do(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with (
        pytest.raises(StoreError, match=rf"^{tmp_path / place}: is not a folder \(name another one\)$"),
        write_lock(tmp_path / place / "refresh.lock"),
    ):
        pass


def test_a_busy_index_can_be_left_to_the_other_run_or_waited_for(community: Community) -> None:
    with ThreadPoolExecutor() as pool:
        with write_lock(community.folder / "state" / "refresh.lock"):
            skipped = community.sources("refresh", "--if-busy", "skip")
            assert (skipped.return_value, skipped.output) == (0, "")
            waiting = pool.submit(community.sources, "refresh", "--if-busy", "wait")
            assert not wait([waiting], timeout=1.5).done
        assert waiting.result(timeout=60).return_value == 0
    assert json.loads(community.sources("status", "--json").stdout)["missing"] == []


def test_one_source_can_be_refreshed_alone(community: Community) -> None:
    assert community.sources("refresh", "--source", "wiki").return_value == 0
    assert json.loads(community.sources("status", "--json").stdout)["missing"] == ["repo:handbook"]
    with pytest.raises(ConfigError, match="no such source"):
        community.sources("refresh", "--source", "wikki")
    with pytest.raises(UsageError, match="leave --source out"):
        community.sources("refresh", "--full", "--source", "wiki")


def test_other_languages_need_a_full_refresh_which_mends_it(community: Community) -> None:
    community.sources("refresh")
    text = community.config_file.read_text().replace("embed =", 'index = { languages = ["en"] }\nembed =')
    community.config_file.write_text(text)
    for command in (["refresh"], ["search", "key"]):
        with pytest.raises(ReindexNeededError, match="sources refresh --full"):
            community.sources(*command)
    assert community.sources("refresh", "--full").return_value == 0
    assert community.sources("search", "key").return_value == 0


def test_a_dry_run_leaves_no_trace(community: Community) -> None:
    result = community.sources("refresh", "--dry-run", "--json")
    assert [one["put"] for one in json.loads(result.stdout)["sources"]] == [
        ["bin/send", "ops/keys.md"],
        ["guides/start.md"],
    ]
    assert "+ ops/keys.md" in community.sources("refresh", "--dry-run").stdout
    assert not (community.folder / "state").exists()


def test_check_knows_the_index(community: Community) -> None:
    community.sources("refresh")
    findings = json.loads(community.sources("check", "--json").stdout)["findings"]
    assert {one["name"]: one["verdict"] for one in findings}["index"] == "ok"
