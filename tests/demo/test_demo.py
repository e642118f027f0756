"""`sources demo` for real: it proves what it claims, a client can join what it keeps, and nothing is left behind."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from index.errors import SourcesError
from sources.demo import acts
from sources.demo.community import Community
from sources.demo.homeserver import Account, Homeserver, http_on_loopback
from sources.demo.place import Place
from sources.demo.proof import PIECE_BYTES, words_in
from sources.demo.scenario import CLAIMS
from sources.demo.show import Show

RUN = ["-c", "from sources.cli.main import main; main()", "demo", "--quick"]


@contextmanager
def demo(folder: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Its temporary folder is made in `folder`."""
    environment = {
        **os.environ,
        "TMPDIR": str(folder),
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
    }
    with subprocess.Popen(
        [sys.executable, *RUN, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def lines_until(process: "subprocess.Popen[str]", end: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if end in line:
            return lines
    raise AssertionError("\n".join(["it ended before its time:", *lines[-40:]]))


def remains(folder: Path) -> list[str]:
    """Files of a demo that ran in the folder, and processes that name it."""
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return [*map(str, folder.iterdir()), *(repr(one) for one in commands if bytes(folder) in one)]


def value(lines: list[str], name: str) -> str:
    return next(found[1] for line in lines if (found := re.match(rf"  {name}  +(\S+)", line)))


@pytest.mark.timeout(900)  # a busy machine is no failure
def test_it_proves_its_claims_is_open_to_clients_and_leaves_nothing(tmp_path: Path) -> None:
    with demo(tmp_path, "--keep") as process:
        shown = lines_until(process, "A refresh runs every")
        text = "\n".join(shown)
        assert "\x1b" not in text, "no colours where nobody watches"
        assert not re.search(r"ghp_\w{20}", text), "not even its own terminal sees the token"
        for claim in CLAIMS:
            row = next(line for line in shown if line.startswith(claim.what))
            told = ["yes" if one else "no" for one in (claim.is_told, claim.is_found, claim.is_kept)]
            assert re.split(r"\s{2,}", row)[1:5] == [*told, "yes"], row
        homeserver, room = value(shown, "homeserver"), value(shown, "room")
        login = {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": value(shown, "user")},
            "password": value(shown, "password"),
        }
        with httpx.Client(base_url=f"{homeserver}/_matrix/client/v3", trust_env=False, timeout=30) as http:
            token = http.post("/login", json=login).raise_for_status().json()["access_token"]
            headers = {"Authorization": f"Bearer {token}"}
            http.post(f"/join/{room.replace('#', '%23')}", json={}, headers=headers).raise_for_status()
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert "nothing was left" in process.stdout.read().replace("no process and no file", "nothing")
        assert process.wait() == 0
    assert remains(tmp_path) == []


def test_a_kept_demo_ends_with_a_line_when_its_bot_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def has_ended() -> None:
        raise SourcesError("demo: the bot has ended")

    monkeypatch.setattr(acts, "_REFRESH_S", 0.0)
    account = Account(user="@mira:community.example", token="t", password="p")
    with http_on_loopback(timeout_s=1) as http:
        community = Community(Homeserver(tmp_path), http, accounts={"mira": account}, watch=has_ended)
        with pytest.raises(SourcesError, match="the bot has ended"):
            acts.Demo(Place(tmp_path), Show(Console(quiet=True)))._stay(community)


def test_told_to_end_in_the_middle_it_leaves_nothing(tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        lines_until(process, "$ sources refresh")
        process.terminate()
        assert process.wait() == 130
    deadline_s = time.monotonic() + 20  # a command that was just being started ends by itself, with its parent
    while remains(tmp_path) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert remains(tmp_path) == []


def test_words_are_found_in_any_file_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "over the edge").write_bytes(b"\0" * (PIECE_BYTES - 5) + b"bulanefimoda")
    (tmp_path / "shared prefix").write_bytes(b"\x07bolanefimoda")
    (tmp_path / "upper").write_bytes(b"GHP_AbCdEfGhIjKl")
    words = {"bulanefimoda", "xxbolanefimoda", "ghp_abcdefghijkl", "rubanesotiki"}
    assert words_in(tmp_path, words) == words - {"rubanesotiki"}
