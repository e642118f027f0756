"""A folder of notes, a cluster on loopback, and the writer and readers of both."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from index.store.store import Store, open_store
from ingest.report import Report
from sources.app import run_refresh
from sources.config.load import parse
from sources.config.model import Config
from sources.credentials import Credentials
from tests.qdrant.server import QdrantServer, serving

PROGRAM = [sys.executable, "-c", "from sources.cli.main import main; main()"]


@dataclass
class Place:
    root: Path
    server: QdrantServer

    @property
    def notes(self) -> Path:
        return self.root / "notes"

    def write(self, name: str, text: str) -> None:
        self.notes.mkdir(exist_ok=True)
        (self.notes / name).write_text(text)

    def text(self, state: str = "state", collection: str = "sources", dimension: int = 16, extra: str = "") -> str:
        return (
            f'state_dir = "{self.root / state}"\n[index]\nengine = "qdrant"\nlanguages = ["en"]\n[index.qdrant]\n'
            f'url = "{self.server.url}"\ncollection = "{collection}"\nquery_timeout = "2s"\nwrite_timeout = "5s"\n'
            f'{extra}\n[embed]\nkind = "hashing"\ndimension = {dimension}\n'
            f'[[notes]]\nname = "wiki"\nroot = "{self.notes}"\npaths = ["."]\n'
        )

    def config(self, state: str = "state", collection: str = "sources", dimension: int = 16, extra: str = "") -> Config:
        return parse(self.text(state, collection, dimension, extra), name="sources.toml", base=self.root)

    async def refresh(self, config: Config | None = None, *, is_full: bool = False) -> Report:
        return await run_refresh(config or self.config(), self.credentials, is_full=is_full)

    @property
    def credentials(self) -> Credentials:
        return Credentials(self.root / "credentials")

    def command(self, *arguments: str, config: str | None = None) -> list[str]:
        file = self.root / "sources.toml"
        file.write_text(config or self.text())
        return [*PROGRAM, "--config", str(file), *arguments]

    def run(self, *arguments: str, config: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments, config=config), capture_output=True, text=True, check=False, timeout=60
        )

    @asynccontextmanager
    async def store(self, state: str = "state") -> AsyncIterator[Store]:
        async with open_store(self.root / state / "index.sqlite", is_writer=True) as opened:
            yield opened

    async def fresh_points(self) -> dict[int, Any]:
        """What a copy made from nothing of the same notes holds."""
        await self.refresh(self.config(state="fresh", collection="fresh"))
        return self.server.points("fresh")


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with serving() as opened:
        yield opened


@pytest.fixture
def place(tmp_path: Path, server: QdrantServer) -> Place:
    (tmp_path / "credentials").mkdir(mode=0o700)
    made = Place(tmp_path, server)
    made.write("backup.md", "# Backups\n\nThe nightly backup goes to the borg server.\n")
    made.write("mail.md", "# Mail\n\nThe mail relay restarts every Sunday.\n")
    return made
