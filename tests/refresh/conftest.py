"""Real repositories, a folder of notes and a configuration, and the program run on them as a process."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.dictionaries import put_into

WORDS = ("backup", "borg", "disk", "mirror", "nightly", "prune", "restore", "server", "snapshot", "verify")


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def page(seed: int) -> str:
    """A page of three sections, the same for the same seed."""
    words = random.Random(seed)
    sections = [
        f"## Part {n}\n\n" + "\n\n".join(" ".join(words.choices(WORDS, k=30)) for _ in range(3)) for n in range(3)
    ]
    return f"# Page {seed}\n\n" + "\n\n".join(sections) + "\n"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with sources and their configuration; `state` is where the index of one run is kept."""

    root: Path
    dictionaries: Path

    def config(self, state: str) -> Path:
        """The same sources under another state folder."""
        file = self.root / f"{state}.toml"
        repos = "".join(
            f'[[repo]]\nname = "{path.name}"\nurl = "{path}"\n' for path in sorted((self.root / "repos").iterdir())
        )
        file.write_text(
            f'state_dir = "{self.root / state}"\n[embed]\nkind = "hashing"\ndimension = 32\n{repos}'
            f'[[notes]]\nname = "notes"\nroot = "{self.root / "notes"}"\npaths = ["."]\n'
        )
        return file

    def refresh(self, state: str, *options: str) -> subprocess.CompletedProcess[str]:
        put_into(self.root / state, self.dictionaries)
        return subprocess.run(
            [*PROGRAM, "--config", str(self.config(state)), "refresh", *options],
            capture_output=True, text=True, check=False, env=environment(),
        )  # fmt: skip

    def kill_during_refresh(self, state: str, after_s: float) -> bool:
        """Start a refresh and kill it; True if it was still running. What it packs may be cut off as well."""
        process = subprocess.Popen(
            [*PROGRAM, "--config", str(self.config(state)), "refresh"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        return False

    def dump(self, state: str) -> dict[str, list[tuple[object, ...]]]:
        """Everything that two indexes of the same sources must have in common; inner keys are left out."""
        with closing(sqlite3.connect(f"file:{self.root / state / 'index.sqlite'}?mode=ro", uri=True)) as index:
            return {name: index.execute(statement).fetchall() for name, statement in DUMP.items()}


DUMP = {
    "sources": "SELECT id, label, is_public, is_hidden, position, chunks, words, fault FROM source ORDER BY id",
    "documents": "SELECT id, kind, title, path, revision, has_link, payload FROM document ORDER BY id",
    "chunks": "SELECT id, ordinal, size, title, body, keys, heading, first_line, last_line, digest"
    " FROM chunk ORDER BY id",
    "vectors": "SELECT chunk.id, part.ordinal, part.first, part.past, hex(part.digest), part.refusal, hex(vector.data)"
    " FROM part JOIN chunk USING (chunk_key) LEFT JOIN vector USING (chunk_key, part_key)"
    " ORDER BY chunk.id, part.ordinal",
    "files": "SELECT path FROM file_state ORDER BY path",
}
PROGRAM = (sys.executable, "-c", "from sources.cli.main import main; main()")


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "CREDENTIALS_DIRECTORY"}


@pytest.fixture
def place(tmp_path: Path, dictionaries: Path) -> Iterator[Place]:
    for number in range(3):
        folder = tmp_path / "repos" / f"repo{number}"
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main")
        for seed in range(number * 10, number * 10 + 6):
            (folder / f"page{seed}.md").write_text(page(seed))
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "first")
    (tmp_path / "notes").mkdir()
    for seed in range(100, 106):
        (tmp_path / "notes" / f"note{seed}.md").write_text(page(seed))
    yield Place(tmp_path, dictionaries)
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def change(place: Place) -> Callable[[], None]:
    """A second state of the sources: an edit, a new file, a removed one, a rename, a force-push."""

    def apply() -> None:
        repos = place.root / "repos"
        (repos / "repo0" / "page0.md").write_text(page(0).replace("Part 1", "Part one"))
        (repos / "repo0" / "new.md").write_text(page(50))
        (repos / "repo0" / "page1.md").unlink()
        git(repos / "repo0", "add", "-A")
        git(repos / "repo0", "commit", "-q", "-m", "second")
        git(repos / "repo1", "mv", "page10.md", "renamed.md")
        git(repos / "repo1", "commit", "-q", "--amend", "-m", "rewritten")
        (place.root / "notes" / "note100.md").write_text(page(100) + "\nmore\n")
        (place.root / "notes" / "note101.md").unlink()

    return apply
