"""Folders that hold Markdown and are covered by nothing: what somebody may believe to be searched and is not."""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ingest.forge.names import path_text
from ingest.forge.notes import NotesSettings

_MARKDOWN: Final = (".md", ".markdown", ".mkd", ".mdown")


@dataclass(frozen=True, slots=True)
class Uncovered:
    """`count` Markdown files below `folder` (relative to `root`, "." is the root itself) that no source reads."""

    root: Path
    folder: str
    count: int


@dataclass(slots=True)
class _Folder:
    name: str
    own: int = 0  # uncovered Markdown files directly in it
    uncovered: int = 0  # in all
    has_covered: bool = False
    inner: "list[_Folder]" = field(default_factory=list)


def coverage(notes: Sequence[NotesSettings], *, elsewhere: Collection[Path] = ()) -> tuple[Uncovered, ...]:
    """Uncovered folders below the roots of `notes`, the topmost each; sorted.

    A file that an `exclude` names is left out on purpose and not reported; nor is a hidden folder, a link, or what
    lies below `elsewhere` (repositories that are sources of their own).
    """
    roots = sorted({given.root.resolve() for given in notes})
    skipped = {path.resolve() for path in elsewhere}
    found: list[Uncovered] = []
    for root in roots:
        if not any(root != other and root.is_relative_to(other) for other in roots):
            top = _look(root, notes, skipped)
            found += [Uncovered(root, one.name or ".", count) for one, count in _topmost(top)]
    return tuple(found)


def _topmost(folder: _Folder) -> Iterator[tuple[_Folder, int]]:
    if folder.uncovered and not folder.has_covered:
        yield folder, folder.uncovered
        return
    if folder.own:
        yield folder, folder.own
    for inner in folder.inner:
        yield from _topmost(inner)


def _look(root: Path, notes: Sequence[NotesSettings], skipped: Collection[Path]) -> _Folder:
    rooted = [(given, given.root.resolve()) for given in notes]
    folders: dict[str, _Folder] = {}
    for here, below, files in os.walk(root, topdown=True, followlinks=False):
        path = Path(here)
        below[:] = sorted(name for name in below if not name.startswith(".") and path / name not in skipped)
        folder = _Folder(path_text(os.fsencode(path.relative_to(root))) if path != root else "")
        folders[here] = folder
        for name in files:
            if name.lower().endswith(_MARKDOWN) and not (path / name).is_symlink():
                verdict = _is_covered(path / name, rooted)
                folder.has_covered |= verdict is True
                folder.own += verdict is False
        folder.uncovered = folder.own
    for here in sorted(folders, key=len, reverse=True):  # the deepest first
        parent = folders.get(str(Path(here).parent))
        if parent is not None and here != str(root):
            parent.uncovered += folders[here].uncovered
            parent.has_covered |= folders[here].has_covered
            parent.inner.insert(0, folders[here])
    return folders.get(str(root), _Folder(""))


def _is_covered(path: Path, rooted: Sequence[tuple[NotesSettings, Path]]) -> bool | None:
    """None: left out on purpose."""
    verdict: bool | None = False
    for given, root in rooted:
        if path.is_relative_to(root):
            relative = path_text(os.fsencode(path.relative_to(root)))
            if given.allows(relative):
                return True
            if given.scope.excludes(relative):
                verdict = None
    return verdict
