"""A forge and an index that is kept of it, for tests of a whole refresh."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from index.model import Audience, SourceId
from ingest.report import Outcome, Report
from sources.app import open_searcher, run_refresh
from sources.config.load import parse
from sources.config.model import Config
from sources.credentials import Credentials
from tests.forge.forge_server import ForgeServer

TOKEN = "token" + "-for-" + "tests-" + "5b1f"


def page(word: str) -> dict[bytes, bytes]:
    return {b"README.md": f"# About {word}\n\nThis page is about {word}.\n".encode()}


@dataclass
class Place:
    """A forge and an index that is kept of it. `settings` are lines of its table."""

    folder: Path
    forge: ForgeServer
    settings: dict[str, str] = field(default_factory=lambda: {"organisations": '["club"]'})
    source_timeout: str = "30s"
    state: str = "state"

    @property
    def text(self) -> str:
        lines = "\n".join(f"{name} = {value}" for name, value in self.settings.items())
        return (
            f'state_dir = "{self.state}"\nembed = {{ kind = "off" }}\n'
            f'[refresh]\nsilence_timeout = "10s"\nsource_timeout = "{self.source_timeout}"\n'
            f'[[forge]]\nname = "here"\nkind = "{self.forge.kind}"\nurl = "{self.forge.origin}"\n{lines}\n'
        )

    @property
    def config(self) -> Config:
        return parse(self.text, name="sources.toml", base=self.folder)

    @property
    def credentials(self) -> Credentials:
        return Credentials(self.folder / "credentials")

    def give_token(self) -> None:
        """To the forge, and to whoever reads it."""
        self.forge.token = TOKEN
        (self.folder / "credentials").mkdir(mode=0o700)
        (self.folder / "credentials" / "forge").touch(mode=0o600)
        (self.folder / "credentials" / "forge").write_text(TOKEN)
        self.settings["credential"] = '"forge"'

    def refresh(self, *, is_full: bool = False) -> Report:
        return asyncio.run(run_refresh(self.config, self.credentials, is_full=is_full))

    def documents(self) -> dict[str, list[str]]:
        """Source to the paths that are in the index and not hidden."""
        found: dict[str, list[str]] = {}
        for source, path in self.rows(
            "SELECT source.id, path FROM document JOIN source USING (source_key) WHERE NOT is_hidden ORDER BY 1, 2"
        ):
            found.setdefault(source.removeprefix("forge:here/"), []).append(path)
        return found

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.folder / 'state' / 'index.sqlite'}?mode=ro", uri=True)) as index:
            return index.execute(statement).fetchall()

    def found(self, word: str, *, public: bool = False) -> list[str]:
        """Sources of the hits, for the host or for everybody."""

        async def search() -> list[str]:
            seen = self.rows("SELECT id FROM source WHERE is_public")
            audience = Audience(frozenset(SourceId(row[0]) for row in seen)) if public else Audience()
            async with open_searcher(self.config, self.credentials) as searcher:
                answer = await searcher.search([word], audience=audience)
                return [hit.source for hit in answer.hits]

        return asyncio.run(search())


def outcomes(report: Report) -> dict[str, Outcome]:
    return {one.source.removeprefix("forge:here/"): one.outcome for one in report.sources}


def faults(report: Report) -> dict[str, str]:
    return {one.source.removeprefix("forge:here/"): one.fault for one in report.sources if one.fault}
