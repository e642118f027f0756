"""A configuration with one repository and one folder of notes, and an index that a refresh made of the repository."""

import asyncio
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sources.app import run_refresh
from sources.cli.main import group
from sources.config.load import load
from sources.credentials import Credentials
from tests.dictionaries import put_into

KEYS_PAGE = """\
---
tags: [ops, security]
---
# Keys

How keys are kept.

## Rotation

Rotate the signing key once a year.
"""
SCRIPT = '#!/bin/sh\n# PURPOSE\n# Sends the reports.\nexec sendreports --now "$@"\n'


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments],
        check=True,
        capture_output=True,
        timeout=30,
    )


@dataclass(frozen=True, slots=True)
class Community:
    """Its configuration file, its repository and its notes, in one folder."""

    folder: Path

    @property
    def config_file(self) -> Path:
        return self.folder / "sources.toml"

    def sources(self, *arguments: str) -> Result:
        """One command, with this configuration; `return_value` is its exit code."""
        return CliRunner().invoke(
            group, ["--config", str(self.config_file), *arguments], standalone_mode=False, catch_exceptions=False
        )

    def commit(self, path: str, text: str) -> None:
        file = self.folder / "handbook" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        git(self.folder / "handbook", "add", "-A")
        git(self.folder / "handbook", "commit", "-q", "-m", "x")


@pytest.fixture
def community(tmp_path: Path) -> Community:
    community = Community(tmp_path)
    (tmp_path / "handbook").mkdir()
    git(tmp_path / "handbook", "init", "-q", "-b", "main")
    community.commit("ops/keys.md", KEYS_PAGE)
    community.commit("bin/send", SCRIPT)
    (tmp_path / "wiki" / "guides").mkdir(parents=True)
    (tmp_path / "wiki" / "guides" / "start.md").write_text("# Start\n\nRead about the signing key first.\n")
    community.config_file.write_text(
        """
        state_dir = "state"
        embed = { kind = "off" }
        [[repo]]
        name = "handbook"
        url = "handbook"
        public = true
        [[notes]]
        name = "wiki"
        root = "wiki"
        paths = ["guides"]
        """
    )
    return community


@pytest.fixture
def packed(community: Community, dictionaries: Path) -> Community:
    """It has the dictionary that a first refresh in a process of its own would pack."""
    put_into(community.folder / "state", dictionaries)
    return community


@pytest.fixture
def indexed(community: Community) -> Community:
    config = load(community.config_file)
    report = asyncio.run(run_refresh(config, Credentials(None), only=["handbook"]))
    assert not report.failed, report.failed
    return community
