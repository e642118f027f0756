"""What a reader asks for by name instead of by words: a passage read afresh, a table of contents, exact lines.

Everything comes from the sources themselves, as they are now, and passes the scrubber. A remote that does not answer
costs freshness and leaves a note, never the answer, as long as there is a clone.
"""

import re
import time
from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from index.engines.sqlite.catalogue import SqliteCatalogue
from index.errors import ForgeError, QueryError, SourcesError
from index.model import ChunkId, Corpus, DocumentId, EventId, RoomId, SourceId
from index.store.ledger import window_of
from index.store.reading import Entry, StoredChunk, chunks_by_id, document_chunks, entries
from index.store.store import open_store
from index.wording import counted
from ingest.forge.decoding import Decoded, decode
from ingest.forge.git import Git
from ingest.forge.note_files import Unreadable, load
from ingest.forge.repository import Repository
from ingest.scrub import scrub
from sources.config.model import Config
from sources.config.settings import clones_folder, notes_settings, repo_login, repo_settings
from sources.config.source_tables import Notes, Repo
from sources.conversation import Conversation, conversation
from sources.credentials import Credentials
from sources.forge_sources import ForgeSource, forge_sources, named, placed
from sources.unread import unread

AnySource = Repo | Notes | ForgeSource


class Reference(Struct, frozen=True):
    """What to read: a chunk by its number, a message, or a path in a source; all lines unless some are named."""

    chunk: ChunkId | None = None
    room: RoomId | None = None
    event: EventId | None = None
    source: str = ""
    path: str = ""
    lines: tuple[int, int] | None = None


class Passage(Struct, frozen=True):
    """Lines of a file as it is now."""

    source: SourceId
    path: str
    first_line: int
    last_line: int
    total_lines: int
    text: str
    notes: tuple[str, ...] = ()


_PLACE: Final = re.compile(
    r"(?:(?P<kind>repo|notes|forge):)?(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)[ /](?P<path>.+?)"
    r"(?::(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?)?",
    re.DOTALL,
)


_PERMALINK: Final = re.compile(r"(?:https?://matrix\.to/#/)?(?P<room>![^/?\s]+)[/ ](?P<event>\$[^/?\s]+)(?:\?.*)?")


def parse_reference(text: str) -> Reference:
    """`handbook ops/keys.md:12-30`, as hits are cited, with or without `repo:` and headings; or the `ref` of JSON.

    For chat a permalink, with the room's id, not its alias.
    """
    if (link := _PERMALINK.fullmatch(unquote(text.strip()))) is not None:
        return Reference(room=RoomId(link["room"]), event=EventId(link["event"]))
    text = text.partition(" › ")[0].strip()
    if text.isascii() and text.isdigit() and len(text) < 20:
        return Reference(chunk=ChunkId(int(text)))
    match = _PLACE.fullmatch(text)
    if match is None:
        raise QueryError(f"reference: {text[:60]!r} names no file (write it as a hit is cited: name path:12-30)")
    lines = None
    if match["first"]:
        lines = (int(match["first"]), int(match["last"] or match["first"]))
        if not 1 <= lines[0] <= lines[1]:
            raise QueryError(f"reference: lines {lines[0]}-{lines[1]} are no range (count from 1, smaller one first)")
    source = f"{match['kind']}:{match['name']}" if match["kind"] else match["name"]
    return Reference(source=source, path=match["path"].strip("/"), lines=lines)


async def get(config: Config, credentials: Credentials, reference: Reference) -> Passage | Conversation:
    """Read a passage afresh. QueryError for a reference that leads nowhere, ForgeError for a file that is gone."""
    if reference.chunk is not None or reference.event is not None:
        stored = await _stored(config, reference)
        if stored.corpus is Corpus.CHAT:
            return await conversation(config, credentials, stored)
        if stored.path is None:
            raise QueryError(f"reference: chunk {stored.chunk.id} is no part of a file (run `sources verify`)")
        reference = Reference(source=stored.source, path=stored.path, lines=stored.chunk.lines)
    source, reference = await _place(config, reference)
    if isinstance(source, Notes):
        return _from_notes(source, reference)
    return await _from_repository(repository_of(source, config, credentials), _id_of(source), reference)


async def _place(config: Config, reference: Reference) -> tuple[AnySource, Reference]:
    """The source, and the reference with the path inside it: of a forge's repository both stand in one text."""
    try:
        return source_named(config, reference.source), reference
    except QueryError:
        found = placed(await forge_sources(config), f"{reference.source}/{reference.path}")
        if found is None:
            raise
        return found[0], replace(reference, source=found[0].repo.source, path=found[1])


async def _stored(config: Config, reference: Reference) -> StoredChunk:
    async with open_store(config.index_file, is_writer=False) as store:
        connection = store.connection
        if reference.chunk is not None:
            found = list((await chunks_by_id(connection, [reference.chunk])).values())
        elif reference.room is not None and reference.event is not None:
            window = await window_of(connection, reference.room, reference.event)
            document = DocumentId(f"chat:{reference.room} {window}")
            found = [] if window is None else await document_chunks(connection, document)
        hidden = {source.id for source in await store.sources() if source.is_hidden}
    shown = [stored for stored in found if stored.source not in hidden]
    if not shown:
        name = f"chunk {reference.chunk}" if reference.chunk is not None else f"message {reference.event}"
        raise QueryError(f"reference: there is no {name} in the index (search again, it may have changed)")
    return shown[0]


def source_named(config: Config, name: str) -> Repo | Notes:
    """The configured source that `docs`, `repo:docs` or `notes:docs` names."""
    found: dict[str, Repo | Notes] = {
        **{f"repo:{repo.name}": repo for repo in config.repo},
        **{f"notes:{notes.name}": notes for notes in config.notes},
    }
    chosen = [known for known in found if name in (known, known.partition(":")[2])]
    if not chosen:
        raise QueryError(f"source {name[:60]!r}: is not configured (there are: {', '.join(found) or 'none'})")
    if len(chosen) > 1:
        raise QueryError(f"source {name!r}: could be {' or '.join(chosen)} (write it so)")
    return found[chosen[0]]


async def any_named(config: Config, name: str) -> AnySource:
    """As `source_named`, the repositories of forges included."""
    try:
        return source_named(config, name)
    except QueryError:
        if (found := named(await forge_sources(config), name)) is None:
            raise
        return found


def _id_of(source: AnySource) -> SourceId:
    match source:
        case ForgeSource():
            return source.repo.source
        case Repo():
            return SourceId(f"repo:{source.name}")
        case Notes():
            return SourceId(f"notes:{source.name}")


def repository_of(repo: Repo | ForgeSource, config: Config, credentials: Credentials) -> Repository:
    if isinstance(repo, ForgeSource):
        return repo.repository(config, credentials)
    return Repository(repo_settings(repo, config.refresh), clones_folder(config), Git(), repo_login(repo, credentials))


async def freshened(repository: Repository) -> list[str]:
    """Fetch what is new; a note when that is not possible."""
    try:
        await repository.freshen()
    except SourcesError as error:
        return [f"as of the last refresh: {error}"]
    return []


async def _from_repository(repository: Repository, source: SourceId, reference: Reference) -> Passage:
    notes = await freshened(repository)
    data = await repository.show(reference.path)
    passage = _passage(source, data, reference)
    return replace(passage, notes=tuple(notes))


def _from_notes(notes: Notes, reference: Reference) -> Passage:
    settings = notes_settings(notes)
    about = f"notes {notes.name}: {reference.path}"
    if not settings.allows(reference.path):
        raise ForgeError(f"{about}: is not among the files that are read (see `sources toc`)")
    try:
        _, data = load(settings.root, reference.path, settings.max_file_bytes, time.time_ns)
    except Unreadable as error:
        raise ForgeError(f"{about}: {error.reason or 'is not there any more'} (see `sources toc`)") from error
    return _passage(SourceId(f"notes:{notes.name}"), data, reference)


def _passage(source: SourceId, data: bytes, reference: Reference) -> Passage:
    decoded = decode(data)
    if not isinstance(decoded, Decoded):
        raise ForgeError(f"{source} {reference.path}: {decoded.reason} (there is no text to show)")
    # The whole is scrubbed, since a secret can reach over several lines; markers keep no line ends, so that numbers
    # could shift behind a key: they are those of the scrubbed text, as in the index.
    lines = scrub(decoded.text).split("\n")
    if lines[-1] == "":
        lines.pop()
    first, last = reference.lines or (1, max(1, len(lines)))
    if first > max(1, len(lines)):
        raise QueryError(
            f"reference: {reference.path} has {counted(len(lines), 'line')}, not {first} (it may have changed)"
        )
    last = min(last, len(lines))
    return Passage(
        source=source,
        path=reference.path,
        first_line=first,
        last_line=last,
        total_lines=len(lines),
        text="\n".join(lines[first - 1 : last]),
    )


class Contents(Struct, frozen=True):
    """What the index holds, by source and path. `notes` say why nothing is there."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()


async def toc(config: Config, *, source: str | None, tag: str | None) -> Contents:
    name = None
    if source is not None:
        name = _id_of(await any_named(config, source))
    async with open_store(config.index_file, is_writer=False) as store:
        found = await entries(store.connection, source=name, tag=tag)
        note = None if found else await unread(config, SqliteCatalogue(store, config.index_file))
    return Contents(tuple(found), () if note is None else (note,))
