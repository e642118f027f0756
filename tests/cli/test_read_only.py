"""A state directory that cannot be written to: each command says so in one line, with what helps there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.memory import open_memory
from sources.cli.main import run

ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, contextlib, io, json, sys
from pathlib import Path
from bot.memory import open_memory
from sources.cli.main import run

async def remember(folder):
    async with open_memory(folder / "bot.sqlite"):
        pass

config, found = Path(sys.argv[1]), {}
for command in ("search borg", "status", "verify", "refresh", "check"):
    with contextlib.redirect_stderr(io.StringIO()) as told, contextlib.redirect_stdout(io.StringIO()) as shown:
        code = run(["--config", str(config), *command.split()])
    found[command] = [code, told.getvalue()]
del found["check"]
try:
    asyncio.run(remember(config.parent / "state"))
except Exception as error:
    found["bot"] = [type(error).__name__, f"sources: {error}\\n"]
[state] = [line for line in shown.getvalue().splitlines() if line.startswith("state_dir ")]
print(json.dumps([found, state]))
"""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("read_only")
    (folder / "notes").mkdir()
    (folder / "notes" / "a.md").write_text("# Backup\n\nthe borg mirror\n")
    (folder / "sources.toml").write_text(
        'state_dir = "state"\nembed = { kind = "off" }\n[[notes]]\nname = "n"\nroot = "notes"\npaths = ["."]\n'
    )
    assert run(["--config", str(folder / "sources.toml"), "refresh"]) == 0
    return folder


@pytest.fixture
async def folder(indexed: Path) -> Path:
    """With an index and a memory of the bot, writable again in whatever state a test left it."""
    state = indexed / "state"
    state.chmod(0o755)
    for file in state.iterdir():
        file.chmod(0o644 if file.is_file() else 0o755)
    async with open_memory(state / "bot.sqlite"):
        return indexed


def check(folder: Path, start: list[str], remedy: str, found: str) -> None:
    """Started so, every command names that remedy, and `sources check` finds that."""
    done = subprocess.run(
        [*start, sys.executable, "-c", PROGRAM, str(folder / "sources.toml")],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told, state = json.loads(done.stdout)
    assert list(told) == ["search borg", "status", "verify", "refresh", "bot"]
    for command, (code, text) in told.items():
        assert text.startswith("sources: ") and text.count("\n") == 1, f"{command}: {text}"
        assert remedy in text and text.endswith(")\n"), f"{command}: {text}"
        assert "delete" not in text, f"{command}: {text}"
        assert "/" not in text or text.startswith(f"sources: {folder}/state/refresh.lock: "), f"{command}: {text}"
        assert code not in (0, 70), command
    assert "warn" in state and found in state


def test_in_a_folder_of_somebody_else_one_is_told_to_run_as_its_user(folder: Path) -> None:
    start = []
    if os.geteuid() == 0:  # modes hold for root as well where it has no privileges
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv to give that up")
        start = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    for file in (folder / "state").iterdir():
        file.chmod(0o444 if file.is_file() else 0o555)
    (folder / "state").chmod(0o555)
    check(folder, start, "(run as the user that owns it and its folder)", "not writable for this user")


def test_on_a_file_system_mounted_read_only_one_is_told_to_mount_it_writable(folder: Path) -> None:
    mount = f'mount --bind "{folder}/state" "{folder}/state" && mount -o remount,ro,bind "{folder}/state"'
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*unshare, "sh", "-c", mount], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    start = [*unshare, "sh", "-c", f'{mount} && exec "$@"', "sh"]
    check(folder, start, "its file system is mounted read-only: mount it writable", "mounted read-only")
