"""A few documents of each source made again from what they were made of, and compared with what is stored.

Repositories are read as they were at the commit that is indexed, without fetching; a note that was changed since is
passed over; messages are read from the homeserver. Repositories of forges are left out.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from index.errors import SourcesError
from index.model import Corpus, Document, DocumentId, SourceId
from index.store import documents, reading
from index.store.reading import StoredChunk
from index.store.soundness import Fault
from index.store.store import Store
from ingest.forge.documents import Rules, Skipped, document
from ingest.forge.git import Git
from ingest.forge.note_files import Unreadable, load
from ingest.forge.position import Position
from ingest.forge.repository import Repository
from ingest.scrub import scrub
from sources.config.model import Config
from sources.config.settings import clones_folder, cutting_rules, notes_settings, repo_login, repo_settings
from sources.config.source_tables import Notes, Repo
from sources.conversation import conversation
from sources.credentials import Credentials

SAMPLE: Final = 20
"""Documents of each source."""

_AGAIN: Final = "run sources refresh; if it is told again, sources refresh --full"


@dataclass(frozen=True, slots=True)
class Remade:
    """How many documents were made again, what differs, and what could not be asked."""

    documents: int = 0
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Tally:
    documents: int = 0
    differing: dict[SourceId, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, source: SourceId, *, is_same: bool) -> None:
        self.documents += 1
        if not is_same:
            self.differing[source] = self.differing.get(source, 0) + 1


async def remake(config: Config, credentials: Credentials, store: Store, draw: Random) -> Remade:
    """A source that cannot be asked gives a note."""
    tally = _Tally()
    for known in await store.sources():
        if known.is_hidden:
            continue
        held = await documents.document_ids(store.connection, known.id)
        chosen = draw.sample(held, min(SAMPLE, len(held)))
        try:
            match _configured(config, known.id):
                case Repo() as repo:
                    await _repo(repo, known.id, known.position, chosen, config, credentials, store, tally)
                case Notes() as notes:
                    await _notes(notes, known.id, chosen, store, tally)
                case None:
                    if known.corpus is Corpus.CHAT and config.chat is not None:
                        await _windows(known.id, chosen, config, credentials, store, tally)
        except SourcesError as error:
            tally.notes.append(f"{known.id}: could not be compared: {error}")
    what = "documents of {} that would be made otherwise now"
    faults = tuple(
        Fault("remade", what.format(source), count, _AGAIN, is_derived=False)
        for source, count in tally.differing.items()
    )
    return Remade(tally.documents, faults, tuple(tally.notes))


def _configured(config: Config, source: SourceId) -> Repo | Notes | None:
    named = {f"repo:{repo.name}": repo for repo in config.repo} | {f"notes:{one.name}": one for one in config.notes}
    return named.get(source)


async def _repo(
    repo: Repo, source: SourceId, cursor: str | None, chosen: Sequence[DocumentId], config: Config,
    credentials: Credentials, store: Store, tally: _Tally,
) -> None:  # fmt: skip
    position = Position.parse(cursor)
    if position is None:
        return
    settings = repo_settings(repo, config.refresh)
    repository = Repository(settings, clones_folder(config), Git(), repo_login(repo, credentials))
    for identity in chosen:
        stored = await reading.document_chunks(store.connection, identity)
        path = stored[0].path if stored else None
        if path is None or identity != f"{source} {path}":
            continue  # a path that is not shown as it is cannot be asked for
        data = await repository.show(path, position.commit)
        made = _document(source, Corpus.FORGE, path, stored[0].revision, data, cutting_rules(repo))
        tally.note(source, is_same=_is_same(made, stored))


async def _notes(notes: Notes, source: SourceId, chosen: Sequence[DocumentId], store: Store, tally: _Tally) -> None:
    settings = notes_settings(notes)
    for identity in chosen:
        stored = await reading.document_chunks(store.connection, identity)
        path = stored[0].path if stored else None
        if path is None or identity != f"{source} {path}":
            continue
        try:
            note, data = load(settings.root, path, settings.max_file_bytes, time.time_ns)
        except Unreadable:
            continue
        if note.digest == stored[0].revision:
            tally.note(
                source, is_same=_is_same(_document(source, Corpus.NOTES, path, note.digest, data, Rules()), stored)
            )


def _document(
    source: SourceId, corpus: Corpus, path: str, revision: str, data: bytes, rules: Rules
) -> Document | Skipped:
    return document(source=source, corpus=corpus, path=path, revision=revision, data=data, scrub=scrub, rules=rules)


def _is_same(made: Document | Skipped, stored: Sequence[StoredChunk]) -> bool:
    """The same chunks with the same texts; ids are made of the same."""
    return not isinstance(made, Skipped) and [(chunk.id, chunk.text) for chunk in made.chunks] == [
        (one.chunk.id, one.chunk.text) for one in stored
    ]


async def _windows(
    source: SourceId, chosen: Sequence[DocumentId], config: Config, credentials: Credentials, store: Store,
    tally: _Tally,
) -> None:  # fmt: skip
    for identity in chosen:
        for stored in await reading.document_chunks(store.connection, identity):
            found = await conversation(config, credentials, stored)
            shown = [stored.chunk.text[message.span.start : message.span.end] for message in stored.chunk.messages]
            is_same = all(
                line.text is not None and line.text.split() == text.split()
                for line, text in zip(found.lines, shown, strict=True)
            )
            tally.note(source, is_same=is_same)
