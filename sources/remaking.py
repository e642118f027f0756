"""A few documents of each source made again from what they were made of, and compared with what is stored.

Repositories are read as they were at the commit that is indexed, without fetching; a note that was changed since is
passed over; messages are read from the homeserver. Of a forge a few repositories are drawn, and each of them is asked
once whether it is still given to us.
"""

import time
from collections.abc import Sequence
from random import Random
from typing import Final

from msgspec import Struct, field

from index.errors import SourcesError
from index.model import Corpus, Document, DocumentId, SourceId
from index.store import documents, forges, reading, soundness
from index.store.reading import StoredChunk
from index.store.store import Store
from ingest.forge.documents import Rules, Skipped, document
from ingest.forge.faults import Fault, GitError
from ingest.forge.git import Git
from ingest.forge.note_files import Unreadable, load
from ingest.forge.position import Position
from ingest.forge.repository import Repository
from ingest.scrub import scrub
from sources.config.forges import source_of
from sources.config.model import Config
from sources.config.settings import clones_folder, cutting_rules, notes_settings, repo_login, repo_settings
from sources.config.source_tables import Forge, Notes, Repo
from sources.conversation import conversation
from sources.credentials import Credentials
from sources.forge_sources import ForgeSource

SAMPLE: Final = 20
"""Documents of each source; a forge counts as one."""
ASKED: Final = 10
"""Repositories of each forge: so many requests and no more."""

_LOST: Final = frozenset({Fault.MISSING, Fault.LOGIN})
_LISTED_ANEW: Final = "run sources refresh, which holds it against the listing; if that fails, check the credential"
_AGAIN: Final = "run sources refresh; if it is told again, sources refresh --full"


class Remade(Struct, frozen=True):
    """How many documents were made again, what differs, and what could not be asked."""

    documents: int = 0
    faults: tuple[soundness.Fault, ...] = ()
    notes: tuple[str, ...] = ()


class _Tally(Struct):
    documents: int = 0
    differing: dict[SourceId, int] = field(default_factory=dict)
    lost: list[SourceId] = field(default_factory=list)
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
    for forge in config.forge:
        await _forge(forge, config, credentials, store, draw, tally)
    what = "documents of {} that would be made otherwise now"
    faults = tuple(
        soundness.Fault("remade", what.format(source), count, _AGAIN, is_derived=False)
        for source, count in tally.differing.items()
    )
    lost = "{} is in the index, and its forge does not give it to us"
    faults += tuple(
        soundness.Fault("lost_at_forge", lost.format(source), 1, _LISTED_ANEW, is_derived=False)
        for source in sorted(tally.lost)
    )
    return Remade(tally.documents, faults, tuple(tally.notes))


def _configured(config: Config, source: SourceId) -> Repo | Notes | None:
    named = {f"repo:{repo.name}": repo for repo in config.repo} | {f"notes:{one.name}": one for one in config.notes}
    return named.get(source)


async def _forge(
    forge: Forge, config: Config, credentials: Credentials, store: Store, draw: Random, tally: _Tally
) -> None:
    known = [repo for repo in await forges.repositories(store.connection, source_of(forge)) if not repo.is_hidden]
    chosen = draw.sample(known, min(ASKED, len(known)))
    for repo in chosen:
        repository = ForgeSource(forge, repo).repository(config, credentials)
        try:
            asked = await repository.probe(repo.position)
            if isinstance(asked.error, GitError) and asked.error.fault in _LOST:
                tally.lost.append(repo.source)
            elif asked.error is not None:
                tally.notes.append(f"{repo.source}: the forge could not be asked: {asked.error}")
            held = await documents.document_ids(store.connection, repo.source)
            drawn = draw.sample(held, min(-(-SAMPLE // len(chosen)), len(held)))
            await _tracked(repository, repo.source, repo.position, drawn, cutting_rules(forge), store, tally)
        except SourcesError as error:
            tally.notes.append(f"{repo.source}: could not be compared: {error}")


async def _repo(
    repo: Repo, source: SourceId, cursor: str | None, chosen: Sequence[DocumentId], config: Config,
    credentials: Credentials, store: Store, tally: _Tally,
) -> None:  # fmt: skip
    settings = repo_settings(repo, config.refresh)
    repository = Repository(settings, clones_folder(config), Git(), repo_login(repo, credentials))
    await _tracked(repository, source, cursor, chosen, cutting_rules(repo), store, tally)


async def _tracked(
    repository: Repository, source: SourceId, cursor: str | None, chosen: Sequence[DocumentId], rules: Rules,
    store: Store, tally: _Tally,
) -> None:  # fmt: skip
    """Files as they were at the commit of the cursor."""
    position = Position.parse(cursor)
    if position is None:
        return
    for document_id in chosen:
        stored = await reading.document_chunks(store.connection, document_id)
        path = stored[0].path if stored else None
        if path is None or not document_id.endswith(f" {path}"):
            continue  # a path that is not shown as it is cannot be asked for
        data = await repository.show(path, position.commit)
        identity = SourceId(document_id.removesuffix(f" {path}"))  # a repository of a forge keeps its own when renamed
        made = _document(source, Corpus.FORGE, path, stored[0].revision, data, rules, identity)
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
            made = _document(source, Corpus.NOTES, path, note.digest, data, cutting_rules(notes))
            tally.note(source, is_same=_is_same(made, stored))


def _document(
    source: SourceId, corpus: Corpus, path: str, revision: str, data: bytes, rules: Rules,
    identity: SourceId | None = None,
) -> Document | Skipped:  # fmt: skip
    return document(
        source=source, corpus=corpus, path=path, revision=revision, data=data, scrub=scrub, rules=rules,
        identity=identity,
    )  # fmt: skip


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
