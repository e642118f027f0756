"""A configuration with one repository and one folder of notes, and an index that a refresh made of the repository.

Both are made once in each process, and every test gets a copy: a refresh costs ten times as much.
"""

import asyncio
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ingest.forge.clone import clone_name
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


@cache
def _made(base: Path) -> Community:
    """The one that tests get copies of, below the folder of this process; there is no index yet."""
    made = Community(base / "community")
    (made.folder / "handbook").mkdir(parents=True)
    git(made.folder / "handbook", "init", "-q", "-b", "main")
    made.commit("ops/keys.md", KEYS_PAGE)
    made.commit("bin/send", SCRIPT)
    (made.folder / "wiki" / "guides").mkdir(parents=True)
    (made.folder / "wiki" / "guides" / "start.md").write_text("# Start\n\nRead about the signing key first.\n")
    made.config_file.write_text(
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
    return made


@cache
def _refreshed(base: Path) -> Community:
    """The same with an index of its repository."""
    made = Community(base / "refreshed community")
    shutil.copytree(_made(base).folder, made.folder)
    report = asyncio.run(run_refresh(load(made.config_file), Credentials(None), only=["handbook"]))
    assert not report.failed, report.failed
    return made


@pytest.fixture
def community(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Community:
    shutil.copytree(_made(tmp_path_factory.getbasetemp()).folder, tmp_path, dirs_exist_ok=True)
    return Community(tmp_path)


@pytest.fixture
def packed(community: Community, dictionaries: Path) -> Community:
    """It has the dictionary that a first refresh in a process of its own would pack."""
    put_into(community.folder / "state", dictionaries)
    return community


@pytest.fixture
def indexed(community: Community, tmp_path_factory: pytest.TempPathFactory) -> Community:
    """As a refresh of its repository leaves it."""
    before, after = _refreshed(tmp_path_factory.getbasetemp()).folder / "state", community.folder / "state"
    shutil.copytree(before, after, ignore=shutil.ignore_patterns("models", "*.lock"))
    if (
        before / "models"
    ).exists():  # not where this process had read the dictionaries before; no file is changed in place
        shutil.copytree(before / "models", after / "models", copy_function=os.link)
    [clone] = (after / "clones").iterdir()
    clone.rename(clone.with_name(clone_name("handbook", str(community.folder / "handbook"))))
    return community
