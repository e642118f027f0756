"""Where the program is put together: from a configuration to a searcher, or to the workers of a refresh.

Nothing else knows all subsystems. What only a refresh needs is imported when one is put together.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from index.engines.base import Catalogue
from index.errors import ConfigError, EmbedderError, ReindexNeededError
from index.model import NO_EMBEDDER, Corpus, Fingerprint, SourceId
from index.search import Searcher, SearchSettings
from index.store.schema import STEPS
from index.store.store import Store, open_store
from index.text.words import WORDS_VERSION, Keys
from index.wording import counted
from sources.config.model import Config
from sources.config.routes import routes
from sources.config.settings import clones_folder, embed_settings, models_folder, purges_folder
from sources.credentials import Credentials
from sources.engines import open_engine, published_routes
from sources.redact import redact

if TYPE_CHECKING:
    import httpx

    from index.embed.base import Embedder, EmbedderIdentity, EmbedSettings
    from index.embed.base import Progress as ModelProgress
    from ingest.refresh import Progress, Worker
    from ingest.report import Report


@asynccontextmanager
async def embedder_of(
    settings: "EmbedSettings", progress: "ModelProgress | None" = None
) -> "AsyncIterator[Embedder | None]":
    """Opened and closed with what it needs; None when vectors are not wanted. Loads nothing before the first text."""
    from index.embed.base import Kind

    if settings.kind is Kind.OFF:
        yield None
        return
    from index.embed.factory import open_embedder

    async with AsyncExitStack() as opened:
        client = None
        if settings.kind is Kind.HTTP:
            import httpx

            client = await opened.enter_async_context(httpx.AsyncClient())
        embedder = open_embedder(settings, client=client, progress=progress)
        if embedder is not None:
            opened.push_async_callback(embedder.close)
        yield embedder


def fingerprint(config: Config, identity: "EmbedderIdentity | None") -> Fingerprint:
    """What an index must have been built with to be written to under this configuration."""
    from ingest.forge.documents import CHUNKER_VERSION
    from ingest.scrub import SCRUB_VERSION

    return Fingerprint(
        schema=len(STEPS),
        scrubber=SCRUB_VERSION,
        chunker=CHUNKER_VERSION,
        words=WORDS_VERSION,
        languages=config.index.languages,
        embedder=identity.name if identity else NO_EMBEDDER,
        dimension=identity.dimension if identity else 0,
        query_prefix=identity.query_prefix if identity else "",
        document_prefix=identity.document_prefix if identity else "",
    )


class OpenIndex(Struct, frozen=True):
    """`keys` are those that questions are read with."""

    catalogue: Catalogue
    searcher: Searcher
    keys: Keys


@asynccontextmanager
async def open_searcher(
    config: Config, credentials: Credentials, *, is_lexical: bool = False
) -> AsyncIterator[Searcher]:
    """As `open_index`, for who only asks."""
    async with open_index(config, credentials, is_lexical=is_lexical) as opened:
        yield opened.searcher


@asynccontextmanager
async def open_index(config: Config, credentials: Credentials, *, is_lexical: bool = False) -> AsyncIterator[OpenIndex]:
    """Read-only. An embedder that cannot be had costs the vectors and leaves a note, never the search."""
    async with AsyncExitStack() as opened:
        keys = Keys(config.index.languages)
        ranking = await opened.enter_async_context(open_engine(config, credentials, keys))
        catalogue = ranking.catalogue
        stored = await catalogue.fingerprint()
        _check_words(config, stored)
        notes: list[str] = []
        embedder = None
        if not is_lexical and config.embed.kind != "off":
            try:
                embedder = await opened.enter_async_context(embedder_of(embed_settings(config, credentials)))
            except EmbedderError as error:
                notes.append(f"found by words alone: {error}")
        if embedder is not None and (other := await _other_model(catalogue, embedder.identity, stored)):
            notes.append(f"found by words alone: {other}")
            embedder = None
        settings = search_settings(config, embedder)
        if not config.search.route and (rows := await published_routes(catalogue)):
            settings = replace(settings, routes=routes(rows))
        searcher = Searcher(ranking.engine, keys, embedder, settings, scrub=redact, notes=tuple(notes))
        yield OpenIndex(catalogue, searcher, keys)


def _check_words(config: Config, stored: Fingerprint | None) -> None:
    """A question falls into keys as the documents did, or it meets none of them."""
    if stored is None:
        return
    if (stored.words, stored.languages) != (WORDS_VERSION, config.index.languages):
        raise ReindexNeededError("reindex needed: other languages or rules of words (run `sources refresh --full`)")


async def _other_model(catalogue: Catalogue, identity: "EmbedderIdentity", stored: Fingerprint | None) -> str | None:
    """Vectors of two models never meet in one ranking."""
    if stored is None or stored.embedder == NO_EMBEDDER:
        return "the index holds no vectors yet"
    if not stored.embeds_like(identity.name, identity.dimension, identity.query_prefix, identity.document_prefix):
        return f"the index holds vectors of {stored.embedder}, not of {identity.name} (run `sources refresh --full`)"
    from index.store.vectors import DRIFTED

    if await catalogue.fact(DRIFTED):
        return f"{identity.name} answers otherwise than when the index was built (run `sources refresh --full`)"
    return None


def search_settings(config: Config, embedder: "Embedder | None") -> SearchSettings:
    search = config.search
    floor = search.floor
    if floor is None and embedder is not None:
        from index.embed.floors import floor_of

        floor = floor_of(embedder.identity.name)
    return SearchSettings(
        candidates=search.candidates,
        vector_weight={
            Corpus.CHAT: search.vector_weight.chat,
            Corpus.FORGE: search.vector_weight.forge,
            Corpus.NOTES: search.vector_weight.notes,
        },
        floor=floor,
        routes=routes(search.route),
    )


async def run_refresh(
    config: Config,
    credentials: Credentials,
    *,
    only: Sequence[str] = (),
    is_full: bool = False,
    progress: "Progress | None" = None,
    model_progress: "ModelProgress | None" = None,
) -> "Report":
    """One refresh under the write lock. An embedder that cannot be had leaves vectors pending and is reported."""
    from ingest.lock import write_lock
    from ingest.refresh import Plan, Progress, refresh
    from sources.copying import open_copy
    from sources.measuring.scratch import sweep

    sweep(config.state_dir)
    async with AsyncExitStack() as opened:
        client = await opened.enter_async_context(_client()) if config.forge else None
        made = workers(config, credentials, only=only, client=client)
        plan = Plan(made, config.refresh.parallel, is_full=is_full, is_partial=bool(only))
        opened.enter_context(write_lock(config.state_dir / "refresh.lock"))
        store = await opened.enter_async_context(open_store(config.index_file, is_writer=True))
        if config.chat is None and not only and await _holds_chat(store):
            from ingest.chat.absence import absent_chat

            kept = await absent_chat(store, orders=purges_folder(config))
            plan = Plan([*kept, *made], config.refresh.parallel, is_full=is_full)
        embedder, fault = None, None
        try:
            settings = embed_settings(config, credentials)
            embedder = await opened.enter_async_context(embedder_of(settings, model_progress))
        except EmbedderError as error:
            fault = str(error)
        report = await refresh(
            store,
            plan,
            fingerprint=fingerprint(config, embedder.identity if embedder else None),
            document_keys=Keys(config.index.languages, forms_dir=models_folder(config)).document_keys,
            embedder=embedder,
            progress=progress or Progress(),
            copy=await opened.enter_async_context(open_copy(config, credentials)),
        )
    if fault is not None:
        report = replace(report, vectors=replace(report.vectors, fault=fault))
    return report if only else replace(report, uncovered=await asyncio.to_thread(_tidied, config))


async def _holds_chat(store: Store) -> bool:
    return any(source.corpus is Corpus.CHAT for source in await store.sources())


def _client() -> "httpx.AsyncClient":
    """For the listings of forges; loaded late, since most refreshes need none."""
    import httpx

    return httpx.AsyncClient()


def _tidied(config: Config) -> tuple[str, ...]:
    """Drop clones that belong to no source any more; returns the folders of Markdown that no source covers."""
    if config.repo:
        from ingest.forge.clone import clone_name, forget_others

        forget_others(clones_folder(config), {clone_name(repo.name, repo.url) for repo in config.repo})
    _forget_forges(clones_folder(config), {f"forge-{forge.name}" for forge in config.forge})
    if not config.notes:
        return ()
    from ingest.forge.coverage import coverage
    from sources.config.settings import notes_settings

    roots = [Path(repo.url) for repo in config.repo if repo.url.startswith("/")]
    found = coverage([notes_settings(notes) for notes in config.notes], elsewhere=roots)
    return tuple(f"{one.root / one.folder}: {counted(one.count, 'Markdown file')}" for one in found)


def _forget_forges(clones: Path, keep: set[str]) -> None:
    import shutil

    for folder in clones.glob("forge-*"):
        if folder.name not in keep and not folder.name.endswith((".git", ".lock")):
            shutil.rmtree(folder, ignore_errors=True)


def workers(
    config: Config,
    credentials: Credentials,
    *,
    only: Sequence[str] = (),
    client: "httpx.AsyncClient | None" = None,
) -> "list[Worker]":
    """A worker for each configured source, or for those named: `docs`, `repo:docs`, `notes:handbook`, `chat`.

    `client` is for the listings of forges, and can only be None where none is configured.
    """
    made = [
        *_chat_workers(config, credentials),
        *_repo_workers(config, credentials),
        *_forge_workers(config, credentials, client),
        *_notes_workers(config),
    ]
    if not only:
        return made
    chosen = [worker for worker in made if names_of(worker.source) & set(only)]
    names = {name for worker in chosen for name in names_of(worker.source)}
    for name in only:
        if name not in names:
            known = ", ".join(sorted(worker.source for worker in made)) or "none"
            raise ConfigError(f"--source {name}: no such source is configured (there are: {known})")
    return chosen


def names_of(source: SourceId) -> frozenset[str]:
    """What a source may be called on the command line; all rooms together are `chat`."""
    kind, _, name = source.partition(":")
    return frozenset({source, name, kind} if kind == Corpus.CHAT else {source, name})


def _chat_workers(config: Config, credentials: Credentials) -> "list[Worker]":
    if config.chat is None:
        return []
    from ingest.chat.reader import open_reader
    from ingest.chat.worker import ChatWorker
    from ingest.scrub import scrub
    from sources.config.chat import chat_settings, reader_token

    settings = replace(chat_settings(config.chat, config.bot), orders=purges_folder(config))
    return [ChatWorker(settings, partial(open_reader, settings, reader_token(credentials)), scrub)]


def _repo_workers(config: Config, credentials: Credentials) -> "list[Worker]":
    if not config.repo:
        return []
    from ingest.forge.git import Git
    from ingest.forge.repository import Repository
    from ingest.forge.worker import RepoWorker
    from ingest.scrub import scrub
    from sources.config.settings import cutting_rules, repo_login, repo_settings, source_timeout_s, validation

    git = Git()
    return [
        RepoWorker(
            source=SourceId(f"repo:{repo.name}"),
            repository=Repository(
                repo_settings(repo, config.refresh), clones_folder(config), git, repo_login(repo, credentials)
            ),
            scrub=scrub,
            timeout_s=source_timeout_s(repo, config.refresh),
            is_public=repo.public,
            rules=cutting_rules(repo),
            validation=validation(repo.validate),
        )
        for repo in config.repo
    ]


def _forge_workers(config: Config, credentials: Credentials, client: "httpx.AsyncClient | None") -> "list[Worker]":
    if not config.forge:
        return []
    if client is None:  # without workers their sources would count as no longer configured
        raise ValueError("forges need a client")
    from sources.config.forges import forge_worker

    return [forge_worker(forge, config, credentials, client) for forge in config.forge]


def _notes_workers(config: Config) -> "list[Worker]":
    if not config.notes:
        return []
    from ingest.forge.notes import NotesFolder
    from ingest.forge.notes_worker import NotesWorker
    from ingest.scrub import scrub
    from sources.config.settings import cutting_rules, notes_settings, validation

    return [
        NotesWorker(
            SourceId(f"notes:{notes.name}"),
            NotesFolder(notes_settings(notes)),
            scrub,
            is_public=notes.public,
            rules=cutting_rules(notes),
            validation=validation(notes.validate),
        )
        for notes in config.notes
    ]
