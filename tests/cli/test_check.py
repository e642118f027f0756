"""`sources check` tries everything the configuration names, changes nothing, and is whole whatever fails."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from index.errors import ForgeError
from sources.checks.base import Finding, Verdict, failure, in_the_clear
from sources.checks.registry import check
from sources.cli.check import drawn
from sources.cli.main import group
from sources.cli.style import PLAIN
from sources.config.model import Config
from sources.credentials import Credentials

Check = Callable[..., Result]


def git(*arguments: str, cwd: Path) -> None:
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments],
        cwd=cwd,
        check=True,
        capture_output=True,
        timeout=30,
    )


@pytest.fixture
def run(tmp_path: Path) -> Check:
    """Check a configuration with one good repository, one good folder, and what the test adds."""
    repo, wiki = tmp_path / "repo", tmp_path / "wiki"
    repo.mkdir()
    (wiki / "guides").mkdir(parents=True)
    git("init", "-q", "-b", "trunk", cwd=repo)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=repo)
    (tmp_path / "credentials").mkdir(mode=0o700)

    def run(more: str = "", *options: str) -> Result:
        file = tmp_path / "sources.toml"
        file.write_text(
            f"""
            state_dir = "state"
            embed = {{ kind = "off" }}
            [[repo]]
            name = "docs"
            url = "repo"
            [[notes]]
            name = "wiki"
            root = "wiki"
            paths = ["guides"]
            {more}
            """
        )
        arguments = ["check", "--config", str(file), "--credentials-dir", str(tmp_path / "credentials"), *options]
        return CliRunner().invoke(group, arguments, standalone_mode=False, catch_exceptions=False)

    return run


def verdicts(result: Result) -> dict[str, str]:
    return {finding["name"]: finding["verdict"] for finding in json.loads(result.stdout)["findings"]}


def test_a_sound_setup_is_all_ok_and_nothing_is_written(run: Check, tmp_path: Path) -> None:
    result = run("", "--json")
    assert result.return_value == 0, result.stdout
    assert verdicts(result) | {"sqlite": "", "disk": ""} == {
        "configuration": "ok",
        "sqlite": "",
        "git": "ok",
        "state_dir": "ok",
        "disk": "",
        "index": "warn",
        "embed": "ok",
        "repo docs": "ok",
        "notes wiki": "ok",
    }
    assert not (tmp_path / "state").exists()


def test_a_configuration_without_any_source_is_not_taken_for_a_sound_one(tmp_path: Path) -> None:
    file = tmp_path / "sources.toml"
    file.write_text('state_dir = "state"\nembed = { kind = "off" }\n')
    result = CliRunner().invoke(group, ["check", "--config", str(file), "--json"], standalone_mode=False)
    assert result.return_value == 0 and verdicts(result)["configuration"] == "warn"
    assert "names nothing to read" in result.stdout


@pytest.mark.parametrize(
    ("url", "is_told"),
    [
        ("http://matrix.example.org", True),
        ("http://8.8.8.8:8008", True),
        ("https://matrix.example.org", False),
        ("http://127.0.0.1:8008", False),
        ("http://[::1]:8008", False),
        ("http://10.0.0.7:8008", False),
        ("http://synapse:8008", False),
        ("http://matrix.home.arpa", False),
    ],
)
def test_a_token_that_would_travel_unencrypted_is_told(url: str, *, is_told: bool) -> None:
    assert [one.verdict for one in in_the_clear("chat", url)] == [Verdict.WARN] * is_told


def test_each_fault_is_a_row_of_its_own_and_the_rest_is_still_tried(run: Check) -> None:
    result = run(
        """
        [[repo]]
        name = "gone"
        url = "no-such-folder"
        [[notes]]
        name = "away"
        root = "not-mounted"
        paths = ["."]
        [[notes]]
        name = "half"
        root = "wiki"
        paths = ["guides", "old"]
        """,
        "--json",
    )
    assert result.return_value == 1
    told = verdicts(result)
    assert (told["repo gone"], told["notes away"], told["notes half"]) == ("fail", "fail", "warn")
    assert (told["repo docs"], told["notes wiki"]) == ("ok", "ok")
    for finding in json.loads(result.stdout)["findings"]:
        assert finding["verdict"] == "ok" or finding["remedy"]


def test_a_credential_is_tried_by_reading_it_and_never_shown(run: Check, tmp_path: Path) -> None:
    more = '[[repo]]\nname = "closed"\nurl = "https://localhost:9/x"\ncredential = "git-closed"'
    assert verdicts(run(more, "--json"))["credential git-closed"] == "fail"
    file = tmp_path / "credentials" / "git-closed"
    file.write_text("no-colon-in-it")
    file.chmod(0o600)
    result = run(more, "--json")
    assert "not of the form user:token" in result.stdout
    assert "no-colon-in-it" not in result.stdout


def test_a_reader_without_a_token_is_told(run: Check) -> None:
    result = run('[chat]\nhomeserver = "https://localhost:9"\nuser = "@reader:localhost"', "--json")
    assert verdicts(result)["chat"] == "fail"
    assert "matrix-reader-token" in result.stdout


def test_quiet_shows_what_fails_and_nothing_else(run: Check) -> None:
    assert run("", "--quiet").stdout == ""
    lines = run('[[repo]]\nname = "gone"\nurl = "no-such-folder"', "--quiet").stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["what", "repo gone"]


async def test_a_probe_that_fails_as_a_whole_is_one_row() -> None:
    async def broken(_config: Config, _credentials: Credentials) -> Sequence[Finding]:
        raise ForgeError("forge: no answer (start it)")

    async def sound(_config: Config, _credentials: Credentials) -> Sequence[Finding]:
        return [Finding("sound", Verdict.OK, "yes")]

    found = await check(Config(), Credentials(None), {"forge": broken, "sound": sound})
    assert found == [Finding("forge", Verdict.FAIL, "no answer", "start it"), Finding("sound", Verdict.OK, "yes")]


def test_the_remedy_of_an_error_is_what_its_last_brackets_say() -> None:
    error = ForgeError("repo a (https://x.org): is empty (push (something), or take it out)")
    assert failure("repo a", error) == Finding("repo a", Verdict.FAIL, "is empty", "push (something), or take it out")
    assert failure("x", ForgeError("no brackets")) == Finding("x", Verdict.FAIL, "no brackets")


def test_the_table_says_what_to_do() -> None:
    text = drawn([Finding("git", Verdict.FAIL, "is not there", "install it")], PLAIN)
    assert text.splitlines() == ["what  is    found", "git   fail  is not there  → install it"]
