"""The other triggers: a line of cron, a hook of a git server, a flow of Prefect (without Prefect)."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.lock import write_lock
from tests.cli.conftest import Community, community, git, packed
from tests.systemd.unit_files import ROOT

__all__ = ["community", "packed"]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which `sources` is the program of this tree."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "sources"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from sources.cli.main import main\nmain()\n"
    )
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_cron_sends_no_mail_while_nothing_goes_wrong(packed: Community, path: str, tmp_path: Path) -> None:
    """Both lines as they stand, run each minute: first reading, nothing new, another run not over yet, a fault."""
    lines = [line for line in (EXAMPLES / "sources.cron").read_text().splitlines() if "/usr/local/bin/sources" in line]
    assert [line.split()[5] for line in lines] == ["sources", "sources"]  # the user
    refresh, audit = (
        line.split(maxsplit=6)[6]
        .replace("/usr/local/bin/sources", "sources")
        .replace("/etc/sources/sources.toml", str(packed.config_file))
        .replace("/etc/sources/credentials", str(tmp_path))
        for line in lines
    )

    def cron(command: str) -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "-c", command], env={"PATH": path}, cwd="/", capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout + done.stderr

    assert cron(refresh) == (0, "")
    assert cron(refresh) == (0, "")
    with write_lock(packed.folder / "state" / "refresh.lock"):
        assert cron(refresh) == (0, "")
    assert cron(audit) == (0, "")
    (packed.folder / "handbook").rename(packed.folder / "away")
    code, mail = cron(refresh)
    assert code == 3 and "repo:handbook" in mail and len(mail.splitlines()) == 1, mail


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """A bare repository with the hook, and a clone of it to push from."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "handbook.git")
    hook = tmp_path / "handbook.git" / "hooks" / "post-receive"
    hook.write_text((EXAMPLES / "post-receive").read_text())
    hook.chmod(0o755)
    git(tmp_path, "init", "-q", "-b", "main", "work")
    git(tmp_path / "work", "remote", "add", "origin", str(tmp_path / "handbook.git"))
    (tmp_path / "wanted").mkdir()
    return tmp_path


def push(server: Path) -> str:
    git(server / "work", "commit", "-q", "--allow-empty", "-m", "x")
    done = subprocess.run(
        ["git", "-C", str(server / "work"), "push", "-q", "origin", "main"],
        env={**os.environ, "SOURCES_WANTED": str(server / "wanted")},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stderr


def test_a_push_leaves_one_wish_named_like_the_source(server: Path) -> None:
    assert push(server) == ""
    assert push(server) == ""
    assert [(one.name, one.read_bytes()) for one in (server / "wanted").iterdir()] == [("handbook", b"")]
    git(server / "handbook.git", "config", "sources.name", "forge:community")
    push(server)
    assert {one.name for one in (server / "wanted").iterdir()} == {"handbook", "forge:community"}


def test_a_push_neither_fails_nor_waits_nor_writes_elsewhere(server: Path) -> None:
    precious = server / "precious"
    precious.write_text("content")
    (server / "wanted" / "handbook").symlink_to(precious)
    assert push(server) == ""
    assert precious.read_text() == "content"
    (server / "wanted" / "handbook").unlink()
    (server / "wanted" / "handbook").symlink_to(server / "not-there")
    assert "the timer will index this push" in push(server)
    assert not (server / "not-there").exists()
    (server / "wanted" / "handbook").unlink()
    os.mkfifo(server / "wanted" / "handbook")  # to open it would wait for a reader
    assert push(server) == ""
    (server / "wanted" / "handbook").unlink()
    (server / "wanted").rmdir()
    assert "the timer will index this push" in push(server)


def flow(path: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """In a process that finds no Prefect, installed or not."""
    hidden = "import runpy, sys; sys.modules['prefect'] = None; sys.argv = sys.argv[1:]; "
    run = f"{hidden}runpy.run_path(sys.argv[0], run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-c", run, str(EXAMPLES / "prefect_flow.py"), *arguments],
        env={"PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_flow_refreshes_rebuilds_and_audits_without_prefect(packed: Community, path: str) -> None:
    config = ("--config", str(packed.config_file))
    rebuilt = flow(path, "rebuild", *config)
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert {one["outcome"] for one in json.loads(rebuilt.stdout)["sources"]} == {"updated"}
    told = json.loads(flow(path, "nightly", *config).stdout)
    assert (told["refresh"]["changed"], told["audit"]["counts"]["error"]) == (False, 0)
    # A fault of a source is what the flow fails for, with what the program said.
    (packed.folder / "handbook").rename(packed.folder / "away")
    failed = flow(path, "refresh", *config)
    assert failed.returncode == 1
    assert re.search(r"refresh --if-busy wait: exit code 3: .*handbook", failed.stderr), failed.stderr
    broken = flow(path, "refresh", "--config", "/nowhere.toml")
    assert broken.returncode == 1 and "exit code 2: sources: /nowhere.toml: cannot be read" in broken.stderr
