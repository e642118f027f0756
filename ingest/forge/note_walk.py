"""What is below the allowed paths of a folder of notes, by looking at names and sizes only."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ingest.forge.globs import Scope
from ingest.forge.names import path_bytes, path_text
from ingest.forge.note_files import is_absence, open_folder, reason_of

_MAX_DEPTH: Final = 100


@dataclass(slots=True)
class Walk:
    """What was seen. A folder in `skipped` ends in a slash; what lies below it is neither seen nor gone."""

    files: dict[str, os.stat_result] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)  # path to reason
    missing: list[str] = field(default_factory=list)  # of the allowed paths
    gone: set[str] = field(default_factory=set)  # seen, and not there any more when it was to be read
    unsure: list[str] = field(default_factory=list)  # files, and folders with a slash, that could not be looked at

    def is_unsure(self, path: str) -> bool:
        return any(path == seen or (seen.endswith("/") and path.startswith(seen)) for seen in self.unsure)


def walk(root: Path, entries: Sequence[str], scope: Scope, max_bytes: int) -> Walk:
    """Everything in scope below `entries`. An OSError is about the root itself."""
    seen = Walk()
    top = open_folder(root)
    try:
        for entry in entries:
            _Walker(scope, max_bytes, seen).enter(top, entry)
    finally:
        os.close(top)
    return seen


class _Walker:
    def __init__(self, scope: Scope, max_bytes: int, seen: Walk) -> None:
        self._scope = scope
        self._max_bytes = max_bytes
        self._seen = seen

    def enter(self, top: int, entry: str) -> None:
        """Go to an allowed path, a folder or a file, by steps that do not follow links."""
        if entry == ".":
            self._folder(os.dup(top), "", 0)
            return
        *folders, last = path_bytes(entry).split(b"/")
        here = os.dup(top)
        try:
            for step in folders:
                inner = open_folder(step, here)
                os.close(here)
                here = inner
            found = os.stat(last, dir_fd=here, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                self._folder(open_folder(last, here), entry + "/", 0)
            elif stat.S_ISLNK(found.st_mode):
                self._seen.skipped[entry] = "symbolic link"
            else:
                self._file(entry, found)
        except OSError as error:
            if is_absence(error):
                self._seen.missing.append(entry)
                self._seen.skipped[entry] = "not there"
            else:
                self._cannot_look(entry + "/", error)
                self._seen.unsure.append(entry)
        finally:
            os.close(here)

    def _folder(self, descriptor: int, prefix: str, depth: int) -> None:
        """Takes over the descriptor."""
        try:
            with os.scandir(descriptor) as listing:
                names = sorted(os.fsencode(item.name) for item in listing)
            for name in names:
                self._item(descriptor, name, prefix + path_text(name), depth)
        except OSError as error:
            if not prefix:
                raise
            self._cannot_look(prefix, error)
        finally:
            os.close(descriptor)

    def _item(self, folder: int, name: bytes, path: str, depth: int) -> None:
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if not is_absence(error):
                self._cannot_look(path, error)
                self._seen.unsure.append(path + "/")
            return
        if not stat.S_ISDIR(found.st_mode):
            self._file(path, found)
            return
        if name.startswith(b".") or self._scope.excludes(path):
            return
        if depth >= _MAX_DEPTH:
            self._seen.skipped[path + "/"] = f"more than {_MAX_DEPTH} folders deep"
            self._seen.unsure.append(path + "/")
            return
        try:
            inner = open_folder(name, folder)
        except OSError as error:
            if not is_absence(error):
                self._cannot_look(path + "/", error)
            return
        self._folder(inner, path + "/", depth + 1)

    def _file(self, path: str, found: os.stat_result) -> None:
        if not self._scope.covers(path) or path in self._seen.files:
            return
        if stat.S_ISLNK(found.st_mode):
            self._seen.skipped[path] = "symbolic link"
        elif not stat.S_ISREG(found.st_mode):
            self._seen.skipped[path] = "not a file"
        elif found.st_size > self._max_bytes:
            self._seen.skipped[path] = f"over {self._max_bytes} bytes"
        else:
            self._seen.files[path] = found

    def _cannot_look(self, path: str, error: OSError) -> None:
        self._seen.skipped[path] = reason_of(error)
        self._seen.unsure.append(path)
