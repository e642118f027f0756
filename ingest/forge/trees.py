"""Trees of commits as lists of files in scope, whole or as the difference of two. Reads the private clone only.

Only regular files count. Submodules are not entered and symbolic links not followed: both are skipped with a reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ingest.forge.faults import Fault, GitError
from ingest.forge.git import Git
from ingest.forge.globs import Scope
from ingest.forge.names import path_text
from ingest.forge.remote import is_commit
from ingest.forge.running import Patience

_NO_MODE: Final = "000000"


@dataclass(frozen=True, slots=True)
class Entry:
    """A tracked file: `path` as `ingest.forge.names` writes it, its blob, and the mode as six octal digits."""

    path: str
    blob: str
    size: int
    mode: str


@dataclass(frozen=True, slots=True)
class Tree:
    """Where to look, and what is in scope there."""

    git: Git
    clone: Path
    about: str
    patience: Patience
    scope: Scope
    max_file_bytes: int

    def reason_to_skip(self, mode: str, size: int) -> str | None:
        if mode == "160000":
            return "submodule"
        if mode == "120000":
            return "symbolic link"
        if not mode.startswith("100"):
            return "not a file"
        return f"over {self.max_file_bytes} bytes" if size > self.max_file_bytes else None

    def damaged(self) -> GitError:
        return GitError(self.about, Fault.DAMAGED, "its private clone lacks objects", "run refresh again")


@dataclass(frozen=True, slots=True)
class Listing:
    entries: tuple[Entry, ...]
    skipped: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Difference:
    put: tuple[Entry, ...]
    removed: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    growth: int  # files in scope, new less old


@dataclass(frozen=True, slots=True)
class _Move:
    """One path in two trees; a mode of zeros where it does not exist."""

    path: str
    old_mode: str
    old_blob: str
    new_mode: str
    new_blob: str

    def blobs(self) -> Iterator[str]:
        """Those whose size matters."""
        if self.old_mode.startswith("100"):
            yield self.old_blob
        if self.new_mode.startswith("100"):
            yield self.new_blob


async def list_tree(tree: Tree, commit: str) -> Listing:
    """All files in scope at `commit`."""
    entries: dict[str, Entry] = {}
    skipped: list[tuple[str, str]] = []
    arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit]
    async with tree.git.open(arguments, about=tree.about, patience=tree.patience, clone=tree.clone) as running:
        async for record in running.records():
            told, _, name = record.partition(b"\t")
            path = path_text(name)
            if not tree.scope.covers(path):
                continue
            mode, _, blob, size = told.decode("ascii").split()
            if size == "BAD":
                raise tree.damaged()
            size_bytes = int(size) if size.isdigit() else 0
            if reason := tree.reason_to_skip(mode, size_bytes):
                skipped.append((path, reason))
            else:
                entries.setdefault(path, Entry(path, blob, size_bytes, mode))
        await running.finish()
    return Listing(tuple(entries.values()), tuple(skipped))


async def compare(tree: Tree, old: str, new: str) -> Difference | None:
    """What makes the files in scope at `old` those at `new`; None when `old` is not in the clone any more."""
    moves: list[_Move] = []
    arguments = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv", old, new, "--"]
    async with tree.git.open(arguments, about=tree.about, patience=tree.patience, clone=tree.clone) as running:
        told: list[str] | None = None
        async for record in running.records():
            if told is None:
                told = record.decode("ascii").removeprefix(":").split()
                continue
            path = path_text(record)
            if tree.scope.covers(path):
                moves.append(_Move(path, told[0], told[2], told[1], told[3]))
            told = None
        try:
            await running.finish()
        except GitError as error:
            # Also when it is `new` that is damaged: the whole listing finds that out.
            if error.fault in (Fault.DAMAGED, Fault.OTHER, Fault.MISSING):
                return None
            raise
    return _difference(tree, moves, await _sizes(tree, moves))


def _difference(tree: Tree, moves: list[_Move], sizes: dict[str, int]) -> Difference:
    put: list[Entry] = []
    removed: list[str] = []
    skipped: list[tuple[str, str]] = []
    growth = 0
    for move in moves:
        was = move.old_mode != _NO_MODE and tree.reason_to_skip(move.old_mode, sizes.get(move.old_blob, 0)) is None
        new_size = sizes.get(move.new_blob, 0)
        reason = tree.reason_to_skip(move.new_mode, new_size) if move.new_mode != _NO_MODE else "gone"
        growth += (reason is None) - was
        if reason is None:
            if not was or move.old_blob != move.new_blob:
                put.append(Entry(move.path, move.new_blob, new_size, move.new_mode))
            continue
        if was:
            removed.append(move.path)
        if move.new_mode != _NO_MODE:
            skipped.append((move.path, reason))
    return Difference(tuple(put), tuple(removed), tuple(skipped), growth)


async def _sizes(tree: Tree, moves: list[_Move]) -> dict[str, int]:
    blobs = sorted({blob for move in moves for blob in move.blobs()})
    sizes: dict[str, int] = {}
    if not blobs:
        return sizes
    async with tree.git.open(
        ["cat-file", "--batch-check", "--buffer"],
        about=tree.about,
        patience=tree.patience,
        clone=tree.clone,
        takes_input=True,
    ) as running:
        running.feed(blob.encode() + b"\n" for blob in blobs)
        while told := (await running.line()).split():
            if len(told) != 3 or not is_commit(told[0].decode("ascii", "replace")):
                raise tree.damaged()
            sizes[told[0].decode()] = int(told[2])
        await running.finish()
    return sizes
