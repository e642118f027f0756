"""What a refresh would index, found out without contacting anyone and without writing anything.

Folders of notes and repositories on this machine are looked at as they are now; of a remote only what was fetched
before is known.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from index.errors import SourcesError
from index.model import SourceId
from index.store import documents
from index.store.store import open_store
from ingest.forge.clone import Clone
from ingest.forge.git import Git
from ingest.forge.globs import Scope
from ingest.forge.notes import NotesFolder
from ingest.forge.position import Position
from ingest.forge.remote import local_head, local_path
from ingest.forge.running import Patience
from ingest.forge.trees import Tree, compare, list_tree
from sources.config.model import Config
from sources.config.settings import clones_folder, notes_settings, repo_settings
from sources.config.source_tables import Notes, Repo


class Expected(Struct, frozen=True):
    """One source. `put` are files that are new or differ from the index, `gone` what it holds beyond them."""

    source: SourceId
    put: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    unchanged: int = 0
    note: str = ""


class Held(Struct, frozen=True):
    """A source in the index: its cursor, and path to revision."""

    position: str | None = None
    revisions: Mapping[str, str] = field(default_factory=dict)


async def dry_run(config: Config, *, only: Sequence[str], is_full: bool) -> list[Expected]:
    """`only` and `is_full` as for a refresh."""
    chosen: list[Repo | Notes] = [*config.repo, *config.notes]
    found = []
    if config.chat is not None and (not only or {f"chat:{config.chat.user}", config.chat.user, "chat"} & set(only)):
        note = "the homeserver is not asked; `sources rooms` shows what was read"
        found.append(Expected(SourceId(f"chat:{config.chat.user}"), note=note))
    for one in chosen:
        source = SourceId(f"{'repo' if isinstance(one, Repo) else 'notes'}:{one.name}")
        if only and source not in only and one.name not in only:
            continue
        held = Held() if is_full else await _held(config.index_file, source)
        try:
            found.append(
                await (_repo(one, source, held, config) if isinstance(one, Repo) else _notes(one, source, held))
            )
        except SourcesError as error:
            found.append(Expected(source, note=str(error)))
    for forge in config.forge:
        if not only or {f"forge:{forge.name}", forge.name} & set(only):
            note = "its listing says what there is, and it is not asked"
            found.append(Expected(SourceId(f"forge:{forge.name}"), note=note))
    return found


async def _held(file: Path, source: SourceId) -> Held:
    """What the index holds; nothing when there is none."""
    if not _is_there(file):
        return Held()
    async with open_store(file, is_writer=False) as store:
        known = await store.source(source)
        return Held(known.position if known else None, await documents.revisions(store.connection, source))


def _is_there(file: Path) -> bool:
    return file.exists()


async def _repo(repo: Repo, source: SourceId, held: Held, config: Config) -> Expected:
    settings = repo_settings(repo, config.refresh)
    git, about = Git(), f"repo {repo.name}"
    patience = Patience(settings.timeout_s, settings.timeout_s)
    local = local_path(settings.url)
    if local is not None:
        head = local_head(local, repo.branch)
        folder = local / ".git" if (local / ".git").exists() else local
        commit, note = (head.commit if head else None), ""
    else:
        clone = Clone(clones_folder(config), repo.name, settings.url, git, about=about, patience=patience)
        folder, commit = clone.path, await clone.tip()
        note = "as of the last fetch; the remote is not asked"
    if commit is None:
        return Expected(source, note="nothing is known of it before the first refresh")
    scope = Scope(repo.include, repo.exclude)
    tree = Tree(git, folder, about, patience, scope, repo.max_file_bytes)
    listing = await list_tree(tree, commit)
    cursor = Position.parse(held.position)
    if cursor is not None and cursor.scope == scope.digest(repo.max_file_bytes):
        # Files that gave no document are not read again either: what counts is what changed since the cursor.
        change = await compare(tree, cursor.commit, commit)
        if change is not None:
            put = tuple(sorted(entry.path for entry in change.put))
            gone = tuple(sorted(path for path in change.removed if path in held.revisions))
            return Expected(source, put, gone, len(listing.entries) - len(put), note)
    return _compared(source, {entry.path: entry.blob for entry in listing.entries}, held, note)


async def _notes(notes: Notes, source: SourceId, held: Held) -> Expected:
    changes = await NotesFolder(notes_settings(notes)).changes({})
    return _compared(source, {note.path: note.digest for note in changes.put}, held, "")


def _compared(source: SourceId, now: Mapping[str, str], held: Held, note: str) -> Expected:
    put = tuple(sorted(path for path, revision in now.items() if held.revisions.get(path) != revision))
    return Expected(source, put, tuple(sorted(held.revisions.keys() - now.keys())), len(now) - len(put), note)
