"""Probe of what the machine brings: SQLite, git, room on the disk, permissions of the state directory."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from index.errors import SourcesError
from index.store.remedies import is_read_only
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.config.units import format_size
from sources.credentials import Credentials

_SCARCE_BYTES: Final = 1 << 30  # a model and a few clones
_EMPTY_BYTES: Final = 100 << 20


async def probe(config: Config, _credentials: Credentials) -> Sequence[Finding]:
    return [_sqlite(), await _git(), _state_dir(config.state_dir), _disk(config.state_dir)]


def _sqlite() -> Finding:
    from index.store import driver

    version, least = driver.version_info(), ".".join(map(str, driver.LEAST))
    detail = f"{driver.VERSION} through {driver.DRIVER}"
    if version < driver.LEAST:
        return Finding("sqlite", Verdict.FAIL, detail, f"{least} is needed to erase for good: pip install pysqlite3")
    if version < driver.SAFE:
        safe = ".".join(map(str, driver.SAFE))
        return Finding("sqlite", Verdict.WARN, detail, f"{safe} mends a rare loss of rows: pip install -U pysqlite3")
    return Finding("sqlite", Verdict.OK, detail)


async def _git() -> Finding:
    from ingest.forge.git import Git

    try:
        version = await Git().version()
    except SourcesError as error:
        return failure("git", error)
    return Finding("git", Verdict.OK, ".".join(map(str, version)))


def _state_dir(folder: Path) -> Finding:
    place = _existing(folder)
    if not place.is_dir():
        return Finding("state_dir", Verdict.FAIL, f"{place} is not a folder", "name another state_dir")
    if is_read_only(place):
        detail = f"{place} is on a file system that is mounted read-only"
        return Finding("state_dir", Verdict.WARN, detail, "mount it writable, or name another state_dir")
    if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
        detail = f"{place} is not writable for this user"
        return Finding("state_dir", Verdict.WARN, detail, "run as the service's user, or name another state_dir")
    if place != folder:
        return Finding("state_dir", Verdict.OK, f"{folder} will be made by the first refresh")
    return Finding("state_dir", Verdict.OK, str(folder))


def _disk(folder: Path) -> Finding:
    try:
        free = shutil.disk_usage(_existing(folder)).free
    except OSError as error:
        return Finding("disk", Verdict.FAIL, f"{folder}: {error.strerror}", "check state_dir")
    detail = f"{format_size(free >> 20 << 20)} free at state_dir"
    if free < _EMPTY_BYTES:
        return Finding("disk", Verdict.FAIL, detail, "make room, or name another state_dir")
    if free < _SCARCE_BYTES:
        return Finding("disk", Verdict.WARN, detail, "make room soon")
    return Finding("disk", Verdict.OK, detail)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    for place in (folder, *folder.parents):
        try:
            if place.exists():
                return place
        except OSError:
            continue
    return Path("/")
