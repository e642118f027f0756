"""One folder of notes brought up to date, in one transaction with the record of what its files looked like."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import astuple, dataclass, field, replace
from typing import Final

import msgspec

from index.model import Corpus, Cursor, SourceId
from index.store import file_states
from ingest.forge.documents import Rules, id_of
from ingest.forge.filing import Filing
from ingest.forge.note_files import NoteState, is_of_the_system
from ingest.forge.notes import NoteChanges, NotesFolder
from ingest.forge.validation import Validation
from ingest.report import Outcome, SourceReport
from ingest.writing import Batch, Writer

_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class NotesWorker:
    """`source` is `notes:<name>`."""

    source: SourceId
    folder: NotesFolder
    scrub: Callable[[str], str]
    is_public: bool = False
    rules: Rules = field(default_factory=Rules)
    validation: Validation = field(default_factory=Validation)

    def owns(self, source: SourceId) -> bool:
        return source == self.source

    async def refresh(self, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
        start = time.monotonic()
        connection = writer.store.connection
        stored = await file_states.load(connection, self.source)
        known = await writer.store.source(self.source)
        position = f"read {self.validation.digest}".strip()  # under these rules; otherwise each file is held to them
        is_fresh = is_full or known is None or known.position != position
        before = _parsed(stored)
        if is_fresh:  # what the index holds may have been made by other rules: every file counts as changed
            before = {path: replace(state, digest="", mtime_ns=-1) for path, state in before.items()}
        changes = await self.folder.changes(before)
        states = _written(changes.states)
        if not is_fresh and not changes.put and not changes.removed and states == stored:
            seconds = time.monotonic() - start
            return [SourceReport(self.source, Outcome.UNCHANGED, notes=remarks(changes), seconds=seconds)]
        skipped = Counter(reason for _, reason in changes.skipped)
        name = self.folder.settings.name
        async with writer.batch(self.source, label=name, is_public=self.is_public) as batch:
            read = await self._write(batch, changes, skipped)
            after = {**states, **_written(read)}
            await batch.remove([id_of(self.source, path, self.scrub) for path in changes.removed])
            await file_states.save(connection, batch.source_key, stored, after)
            await batch.save_cursor(Cursor(self.source, position))
        outcome = Outcome.UPDATED if batch.documents or batch.documents_removed else Outcome.UNCHANGED
        done = batch.report(self.source, outcome, skipped=skipped, seconds=time.monotonic() - start)
        return [msgspec.structs.replace(done, notes=remarks(changes))]

    async def _write(self, batch: Batch, changes: NoteChanges, skipped: Counter[str]) -> dict[str, NoteState]:
        """Put what changed; returns the state of each file as it was read."""
        states: dict[str, NoteState] = {}
        filing = Filing(batch, self.source, Corpus.NOTES, self.scrub, self.rules, self.validation, skipped)
        async with aclosing(self.folder.read(changes.put)) as notes:
            async for note, data in notes:
                await filing.put(note.path, note.digest, data, changed_ms=note.modified_ms)
                states[note.path] = note.state
        filing.end(f"notes {self.folder.settings.name}")
        return states


def remarks(changes: NoteChanges) -> tuple[str, ...]:
    """What a host has to mend: files and folders that were to be read and could not be; a few by name."""
    locked = [f"{path}: {reason}" for path, reason in changes.skipped if is_of_the_system(reason)]
    if not locked:
        return ()
    named = ", ".join(locked[:_MOST_NAMED]) + (f" and {len(locked) - _MOST_NAMED} more" * (len(locked) > _MOST_NAMED))
    return (f"cannot be read: {named} (let the user that runs the refresh read them, or exclude them)",)


def _written(states: Mapping[str, NoteState]) -> dict[str, str]:
    return {path: json.dumps(astuple(state)) for path, state in states.items()}


def _parsed(stored: Mapping[str, str]) -> dict[str, NoteState]:
    return {path: NoteState(*json.loads(state)) for path, state in stored.items()}
