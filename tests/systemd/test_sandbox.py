"""The program works under the restrictions of its units, and the restrictions hold."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.bot.conftest import alice, town
from tests.bot.town import ANSWER_S, Town, word
from tests.cli.conftest import git
from tests.embed.tiny_model import write_tiny_model
from tests.matrix.people import Person
from tests.systemd.conftest import Confined, least_applied, namespaces
from tests.systemd.unit_files import ROOT, unit

__all__ = ["alice", "town"]

PROGRAM = (sys.executable, "-c", "from sources.cli.main import main; main()")

PROBES = {
    "ProtectSystem": "open('/usr/here', 'w')",
    "PrivateTmp": "os.stat('%(witness)s')",
    "PrivateDevices": "os.stat('/dev/kmsg')",
    "MemoryDenyWriteExecute": "mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)",
    "RestrictAddressFamilies": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "RestrictNamespaces": "check(libc.unshare(0x10000000))",
    "RestrictSUIDSGID": "open('%(folder)s/s', 'w'); os.chmod('%(folder)s/s', 0o4755)",
    "LockPersonality": "check(libc.personality(0x0040000) == -1)",
    "SystemCallFilter": "os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "CapabilityBoundingSet": "os.chown('%(folder)s', 1, 1)",
    "ProtectProc": "os.stat('/proc/%(pid)s')",
    "NoNewPrivileges": "assert 'NoNewPrivs:\\t1' not in open('/proc/self/status').read()",
    "LimitCORE": "assert resource.getrlimit(resource.RLIMIT_CORE) != (0, 0)",
    "loopback": "s = socket.create_connection(('192.0.2.1', 9), 2)",
}
"""What each layer forbids, as something that fails once it holds."""
TRY = """
import ctypes, json, mmap, os, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result: raise OSError(ctypes.get_errno(), 'refused')
held = {}
for name, probe in json.loads(%(probes)r).items():
    try:
        exec(probe)
    except (OSError, AssertionError) as error:
        held[name] = repr(error)
print(json.dumps(held))
"""


def test_the_restrictions_that_could_be_had_hold(
    confined: Callable[[str], Confined], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Else the other tests here would say nothing."""
    here = confined("state")
    (tmp_path / "witness").touch()
    places = {"folder": str(here.folder), "witness": str(tmp_path / "witness"), "pid": os.getpid()}
    probes = {name: probe % places for name, probe in PROBES.items()}
    done = here.run(unit("sources-refresh.service"), sys.executable, "-c", TRY % {"probes": json.dumps(probes)})
    assert done.returncode == 0, done.stderr
    held = json.loads(done.stdout)
    applied = {name for name, outcome in here.took_hold.items() if outcome == "applied"}
    record_property("layers", here.took_hold)
    assert applied & set(PROBES) <= set(held), {name: probes[name] for name in applied - set(held) if name in probes}
    assert least_applied() <= applied, str(here.took_hold)
    left_out = {name: why for name, why in here.took_hold.items() if why != "applied"}
    print(f"left out here: {left_out or 'nothing'}")  # noqa: T201  # shown with -s, and when a test fails


@pytest.fixture
def tiny_community(confined: Callable[[str], Confined]) -> Confined:
    """A repository, notes, and a model that onnxruntime runs, in one folder with the state directory."""
    here = confined("community")
    folder = here.folder
    git(here.folder, "init", "-q", "-b", "main", "handbook")
    (folder / "handbook" / "restore.md").write_text("# Restore\n\nTo restore a backup take the newest one.\n")
    git(folder / "handbook", "add", "-A")
    git(folder / "handbook", "commit", "-q", "-m", "x")
    (folder / "wiki").mkdir()
    (folder / "wiki" / "bread.md").write_text("# Bread\n\nKeep the bread dry.\n")
    (folder / "model").mkdir()
    write_tiny_model(folder / "model")
    (folder / "sources.toml").write_text(
        """
        state_dir = "state"
        embed = { kind = "local", model = "./model" }
        [[repo]]
        name = "handbook"
        url = "handbook"
        public = true
        [[notes]]
        name = "wiki"
        root = "wiki"
        paths = ["."]
        """
    )
    return here


def test_refresh_search_and_audit_work_in_it(tiny_community: Confined) -> None:
    """Git, SQLite and onnxruntime, with a read-only root, no network, no privilege, few calls."""
    here = tiny_community
    config = ("--config", str(here.folder / "sources.toml"))
    home = {"HOME": str(here.folder)}
    refreshed = here.run(unit("sources-refresh.service"), *PROGRAM, *config, "refresh", "--json", environment=home)
    assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
    # What onnxruntime misses of the machine it tells there; what it reports to its maker begins with an id in the home.
    assert "onnxruntime" not in refreshed.stderr
    assert not (here.folder / ".cache").exists()
    report = json.loads(refreshed.stdout)
    assert {one["source"]: one["documents"] for one in report["sources"]} == {"repo:handbook": 1, "notes:wiki": 1}
    assert (report["vectors"]["embedded"], report["vectors"]["pending"]) == (2, 0)
    searched = here.run(unit("sources-bot.service"), *PROGRAM, *config, "search", "--json", "restore backup")
    assert searched.returncode == 0, searched.stdout + searched.stderr
    found = json.loads(searched.stdout)
    assert [hit["source"] for hit in found["hits"]][:1] == ["repo:handbook"]
    assert found["hits"][0]["origins"] or found["hits"][0], found
    audited = here.run(unit("sources-audit.service"), *PROGRAM, *config, "audit", "--json", "--fail-on", "error")
    assert (audited.returncode, json.loads(audited.stdout)["counts"]["error"]) == (0, 0), audited.stderr


async def test_the_bot_starts_answers_and_stops_in_it(town: Town, alice: Person, tmp_path: Path) -> None:
    here = Confined(tmp_path, tmp_path / "layers.json")
    needle = word()
    room = await town.room(alice, f"here is {needle}")
    town.permit({room: ["here"]})
    file = tmp_path / "sources.toml"
    file.write_text(town.written())
    common = ("--config", str(file), "--credentials-dir", str(tmp_path / "credentials"))
    await town.refresh()
    heard: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(0)
        bot = await asyncio.create_subprocess_exec(
            *here.command(unit("sources-bot.service"), *PROGRAM, *common, "bot", is_alone=False),
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "NOTIFY_SOCKET": str(tmp_path / "notify")},
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(ANSWER_S):
                while "READY=1" not in heard:
                    heard.append((await asyncio.get_running_loop().sock_recv(manager, 200)).decode())
            answer = await town.ask(alice, room, f"!search {needle}")
            assert f"here is {needle}" in answer["body"]
            end(bot.pid)
            async with asyncio.timeout(ANSWER_S):
                assert await bot.wait() == 0
        finally:
            with suppress(ProcessLookupError):
                bot.kill()
            await bot.wait()
    applied = {name for name, outcome in json.loads(here.report.read_text()).items() if outcome == "applied"}
    assert least_applied() <= applied


def end(started: int) -> None:
    """Ask the program to end: the one child of the process that made the namespaces, where there are some."""
    children = Path(f"/proc/{started}/task/{started}/children").read_text().split()
    os.kill(int(children[0]) if namespaces() is not None else started, signal.SIGTERM)
