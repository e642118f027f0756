"""The facts of an audit: what the index says of itself, and a cheap look at each source. Reads, writes nothing.

Of a repository its remote is asked where it is; of a forge its listing is read; of a folder of notes sizes and times
are compared. Rooms and the repositories of a forge are not asked one by one.
"""

import asyncio
import json
import time
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from pathlib import Path

from index.audit import Drift, Facts, Gap, Limits, Look, Page, Upkeep
from index.embed.base import EmbedderIdentity
from index.errors import EmbedderError, SourcesError
from index.model import NO_EMBEDDER, SourceId
from index.store import file_states, forges, rooms, vectors
from index.store.reading import entries
from index.store.store import Source, Store, open_store
from index.wording import counted
from ingest.forge.coverage import coverage
from ingest.forge.faults import Fault, GitError
from ingest.forge.git import Git
from ingest.forge.note_files import NoteState
from ingest.forge.notes import NotesFolder
from ingest.forge.repository import Outcome, Repository
from ingest.vectors import pending_since_ms
from sources.app import embedder_of, fingerprint
from sources.config.model import Audit, Config
from sources.config.settings import clones_folder, embed_settings, notes_settings, repo_login, repo_settings
from sources.config.source_tables import Notes, Repo
from sources.credentials import Credentials
from sources.status import absent_rooms, configured, upgraded


def limits(settings: Audit) -> Limits:
    return Limits(
        horizon=timedelta(milliseconds=settings.horizon_ms),
        due_soon=timedelta(milliseconds=settings.due_soon_ms),
        refresh_overdue_ms=settings.refresh_overdue_ms,
        pending_overdue_ms=settings.pending_overdue_ms,
    )


async def gather(config: Config, credentials: Credentials) -> Facts:
    """All facts. A source that cannot be asked is a fact too."""
    uncovered = await asyncio.to_thread(_uncovered, config)
    if not config.index_file.exists():
        return Facts(looks=[Look(name, Drift.NEVER) for name in configured(config)], uncovered=uncovered)
    async with open_store(config.index_file, is_writer=False) as store:
        known = {source.id: source for source in await store.sources()}
        contract, mending = await _contract(config, credentials, store)
        is_embedding = config.embed.kind != "off"
        return Facts(
            pages=await _pages(store),
            upkeep=[Upkeep(one.id, one.succeeded_ms, one.fault) for one in known.values() if not one.is_hidden],
            looks=[
                *_never(config, known),
                *_strangers(config, known),
                *_absent(config, known.values()),
                *await _looks(config, credentials, store, known),
            ],
            contract=contract,
            mending=mending,
            uncovered=uncovered,
            gaps=await _gaps(store),
            upgrades=upgraded(config, await rooms.rooms(store.connection)),
            pending=await vectors.pending_count(store.connection) if is_embedding else 0,
            pending_since_ms=await pending_since_ms(store),
            gathered_ms=time.time_ns() // 1_000_000,
        )


async def _pages(store: Store) -> list[Page]:
    found = []
    for entry in await entries(store.connection, source=None, tag=None):
        verified = entry.payload.get("last_verified")
        if isinstance(verified, str) and entry.path is not None:
            found.append(Page(entry.source, entry.path, verified))
    return found


async def _gaps(store: Store) -> list[Gap]:
    names = {room.id: room.label for room in await rooms.rooms(store.connection)}
    return [Gap(names.get(gap.room, gap.room), gap.opened_ms) for gap in await rooms.gaps(store.connection)]


async def _contract(config: Config, credentials: Credentials, store: Store) -> tuple[list[str], list[str]]:
    """What differs for good, and what the next refresh mends by itself."""
    stored = await store.fingerprint()
    if stored is None:
        return [], []
    identity = await _identity(config, credentials)
    wanted = fingerprint(config, identity)
    if identity is None:
        wanted = wanted.with_embedder_of(stored)  # without an embedder the vectors stay what they are
    elif stored.embedder == NO_EMBEDDER:
        stored = stored.with_embedder_of(wanted)
    differs = wanted.differences(stored)
    mending = [text for text in differs if text.startswith("scrubber:")]
    return [text for text in differs if text not in mending], mending


async def _identity(config: Config, credentials: Credentials) -> EmbedderIdentity | None:
    """None when there is no embedder, or none that can be had here."""
    try:
        async with embedder_of(embed_settings(config, credentials)) as embedder:
            return None if embedder is None else embedder.identity
    except EmbedderError:
        return None


def _strangers(config: Config, known: Iterable[SourceId]) -> list[Look]:
    """Sources of repositories and notes that the configuration does not name any more."""
    names = set(configured(config))
    return [Look(one, Drift.UNCONFIGURED) for one in known if one.startswith(("repo:", "notes:")) and one not in names]


def _absent(config: Config, known: Collection[Source]) -> list[Look]:
    """One look for all rooms of a `[chat]` that is not there any more."""
    rooms = absent_rooms(config, list(known))
    return [Look(SourceId("chat"), Drift.SUSPENDED, counted(len(rooms), "room"))] if rooms else []


def _never(config: Config, known: Mapping[SourceId, Source]) -> list[Look]:
    """What the configuration names and no refresh ever read."""
    looks = []
    for source in configured(config):
        indexed = known.get(source)
        if indexed is None or indexed.succeeded_ms is None:
            looks.append(Look(source, Drift.NEVER, (indexed.fault if indexed else None) or ""))
    return looks


async def _looks(
    config: Config, credentials: Credentials, store: Store, known: Mapping[SourceId, Source]
) -> list[Look]:
    """At repositories and notes that are indexed, some at a time."""
    at_a_time = asyncio.Semaphore(config.refresh.parallel)

    async def look(one: Repo | Notes, indexed: Source) -> Look:
        if indexed.position is None:
            return Look(indexed.id, Drift.CHANGED, "it waits to be read anew")
        async with at_a_time:
            try:
                if isinstance(one, Repo):
                    return await _look_at_repository(one, indexed, config, credentials)
                return await _look_at_notes(one, indexed.id, store)
            except SourcesError as error:
                return Look(indexed.id, Drift.UNKNOWN, str(error))

    forges_seen = await _looks_at_forges(config, credentials, store, known)
    chosen: list[Repo | Notes] = [*config.repo, *config.notes]
    pairs = [(one, known.get(_source_of(one))) for one in chosen]
    looked = await asyncio.gather(*(look(one, to) for one, to in pairs if to is not None and to.succeeded_ms))
    return [*forges_seen, *looked]


def _source_of(one: Repo | Notes) -> SourceId:
    return SourceId(f"{'repo' if isinstance(one, Repo) else 'notes'}:{one.name}")


async def _looks_at_forges(
    config: Config, credentials: Credentials, store: Store, known: Mapping[SourceId, Source]
) -> list[Look]:
    """At the listing of each that is indexed; unchanged pages cost the forge next to nothing."""
    indexed = [one for one in config.forge if (to := known.get(SourceId(f"forge:{one.name}"))) and to.succeeded_ms]
    if not indexed:
        return []
    import httpx

    from sources.config.forges import roster

    looks = []
    async with httpx.AsyncClient() as client:
        for forge in indexed:
            source = SourceId(f"forge:{forge.name}")
            try:
                kept = await forges.pages(store.connection, source)
                seen = await roster(forge, config, credentials, client, attempts=1).listed(kept)
            except SourcesError as error:
                looks.append(Look(source, Drift.UNKNOWN, str(error)))
                continue
            if seen.faults:
                looks.append(Look(source, Drift.UNKNOWN, str(seen.faults[0])))
                continue
            numbers = {repo.number for repo in await forges.repositories(store.connection, source)}
            counts = {"new": len(seen.repos.keys() - numbers), "not listed any more": len(numbers - seen.repos.keys())}
            said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
            looks.append(Look(source, Drift.CHANGED, said) if said else Look(source, Drift.NONE))
    return looks


async def _look_at_repository(repo: Repo, indexed: Source, config: Config, credentials: Credentials) -> Look:
    settings = repo_settings(repo, config.refresh)
    repository = Repository(settings, clones_folder(config), Git(), repo_login(repo, credentials))
    found = await repository.probe(indexed.position)
    match found.outcome:
        case Outcome.UNCHANGED:
            return Look(indexed.id, Drift.NONE)
        case Outcome.EMPTY:
            return Look(indexed.id, Drift.VANISHED, "it has no commits any more")
        case Outcome.UNKNOWN:
            is_gone = isinstance(found.error, GitError) and found.error.fault is Fault.MISSING
            return Look(indexed.id, Drift.VANISHED if is_gone else Drift.UNKNOWN, str(found.error))
        case Outcome.CHANGED:
            return Look(indexed.id, Drift.CHANGED, f"it is at {found.head.commit[:12]}" if found.head else "")


async def _look_at_notes(notes: Notes, source: SourceId, store: Store) -> Look:
    if not notes.root.is_dir():
        return Look(source, Drift.VANISHED, f"{notes.root} is not there")
    stored = await file_states.load(store.connection, source)
    before = {path: NoteState(*json.loads(state)) for path, state in stored.items()}
    changes = await NotesFolder(notes_settings(notes)).changes(before, may_drop=True)
    counts = {"changed": len(changes.put), "gone": len(changes.removed)}
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return Look(source, Drift.CHANGED, said) if said else Look(source, Drift.NONE)


def _uncovered(config: Config) -> list[str]:
    if not config.notes:
        return []
    roots = [Path(repo.url) for repo in config.repo if repo.url.startswith("/")]
    found = coverage([notes_settings(notes) for notes in config.notes], elsewhere=roots)
    return [f"{one.root / one.folder}" for one in found]
