"""Folders of notes: from an allow list and what was known to what changed, and the bytes of it.

Only what `paths` names is walked; hidden folders below it are left out (name one in `paths` to have it); symbolic links
are never followed, neither to files nor to folders, also when one is put there while we look. Size and times decide
whether a file is read; its content decides whether it changed. What cannot be read is not gone: it stays as it was.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from index.errors import ForgeError
from ingest.forge.globs import Scope
from ingest.forge.note_files import Note, NoteState, Unreadable, load
from ingest.forge.note_walk import Walk, walk


@dataclass(frozen=True, slots=True)
class NotesSettings:
    """One folder as configured. `paths` are folders or files relative to `root`; "." is all of it."""

    name: str
    root: Path
    paths: tuple[str, ...]
    include: tuple[str, ...] = ("**/*.md",)
    exclude: tuple[str, ...] = ()
    max_file_bytes: int = 1 << 20
    max_drop_percent: int = 50

    @property
    def scope(self) -> Scope:
        return Scope(self.include, self.exclude)

    def allows(self, path: str) -> bool:
        """Whether a file at `path` would be read, as far as its name tells: links are for whoever opens it."""
        return any(_is_below(path, entry) for entry in self.entries) and self.scope.covers(path)

    @property
    def entries(self) -> tuple[str, ...]:
        """`paths` without needless slashes and dots."""
        return tuple("/".join(name for name in path.split("/") if name not in ("", ".")) or "." for path in self.paths)


def _is_below(path: str, entry: str) -> bool:
    """Whether a walk from `entry` comes to `path`, since it enters no hidden folder."""
    if path == entry:
        return True
    prefix = "" if entry == "." else entry + "/"
    *folders, _ = path.removeprefix(prefix).split("/")
    return path.startswith(prefix) and not any(folder.startswith(".") for folder in folders)


@dataclass(frozen=True, slots=True)
class NoteChanges:
    """What the index has to do. `states` is what to pass in next time, once `put` is in the index with the state that
    `read` gives each note: until then it holds the old one."""

    put: tuple[Note, ...]
    removed: tuple[str, ...]
    unchanged_count: int
    skipped: tuple[tuple[str, str], ...]  # path and reason; a folder ends in a slash
    states: Mapping[str, NoteState]


class NotesFolder:
    def __init__(self, settings: NotesSettings, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self.settings = settings
        self.about = f"notes {settings.name} ({settings.root})"
        self._clock_ns = clock_ns

    async def changes(self, known: Mapping[str, NoteState], *, may_drop: bool = False) -> NoteChanges:
        """Compare the folder with what was known. `may_drop` allows any number of notes to be gone."""
        return await asyncio.to_thread(self._changes, known, may_drop)

    async def read(self, notes: Sequence[Note]) -> AsyncGenerator[tuple[Note, bytes], None]:
        """The bytes of each note, one at a time, with digest and state of the very bytes that are handed out.

        One that went or cannot be read any more is left out: the next run sees what became of it.
        """
        for note in notes:
            try:
                yield await asyncio.to_thread(self._load, note.path)
            except Unreadable:
                continue

    def _load(self, path: str) -> tuple[Note, bytes]:
        return load(self.settings.root, path, self.settings.max_file_bytes, self._clock_ns)

    def _changes(self, known: Mapping[str, NoteState], may_drop: bool) -> NoteChanges:  # a thread's call
        self._check_paths()
        try:
            seen = walk(self.settings.root, self.settings.entries, self.settings.scope, self.settings.max_file_bytes)
        except OSError as error:
            raise ForgeError(f"{self.about}: {error.strerror} (mount the folder, or mend root)") from error
        put: list[Note] = []
        states: dict[str, NoteState] = {}
        unchanged = 0
        for path, found in seen.files.items():
            before = known.get(path)
            if before is not None and before.is_same(found):
                states[path] = before
                unchanged += 1
                continue
            try:
                note, _ = self._load(path)
            except Unreadable as error:
                if error.reason:
                    seen.skipped[path] = error.reason
                if error.is_gone:
                    seen.gone.add(path)
                elif before is not None:
                    states[path] = before
                continue
            if before is not None and before.digest == note.digest:
                states[path] = note.state
                unchanged += 1
            else:
                put.append(note)
                if before is not None:
                    states[path] = before
        removed, kept = self._removed(known, seen)
        if not may_drop:
            self._refuse_to_drop(known, seen, removed)
        states |= {path: known[path] for path in kept}
        return NoteChanges(tuple(put), tuple(removed), unchanged, tuple(seen.skipped.items()), states)

    def _removed(self, known: Mapping[str, NoteState], seen: Walk) -> tuple[list[str], list[str]]:
        """Notes that have to leave the index, and those that stay because nobody can tell."""
        removed: list[str] = []
        kept: list[str] = []
        for path in sorted(known.keys() - (seen.files.keys() - seen.gone)):
            is_unsure = self.settings.allows(path) and seen.is_unsure(path)
            (kept if is_unsure else removed).append(path)
        return removed, kept

    def _refuse_to_drop(self, known: Mapping[str, NoteState], seen: Walk, removed: Sequence[str]) -> None:
        """A disk that is not mounted looks like a mass deletion."""
        limit = self.settings.max_drop_percent
        in_scope = [path for path in known if self.settings.allows(path)]
        vanished = [path for path in removed if self.settings.allows(path) and path not in seen.skipped]
        if limit >= 100 or not vanished:
            return
        for entry in seen.missing:
            if any(path == entry or path.startswith(entry + "/") for path in vanished):
                raise ForgeError(
                    f"{self.about}: {entry} is gone; nothing was removed (mount it, or take it out of paths)"
                )
        if len(vanished) * 100 > limit * len(in_scope):
            raise ForgeError(
                f"{self.about}: {len(vanished)} of {len(in_scope)} notes are gone at once; nothing was removed "
                "(mount the folder; if they are meant to be gone, set max_drop_percent to 100 for one run)"
            )

    def _check_paths(self) -> None:
        if not self.settings.entries:
            raise ForgeError(f'{self.about}: paths is empty (name folders to read; "." is all of it)')
        for given in self.settings.paths:
            if given.startswith("/") or ".." in given.split("/") or "\0" in given:
                raise ForgeError(f"{self.about}: paths: {given!r} leads out of root (write it relative to root)")
