"""The state of the index as a host wants to know it: what is in it, how old it is, and what it lacks."""

from dataclasses import dataclass
from pathlib import Path

from index.model import NO_EMBEDDER, Corpus, Fingerprint, RoomId, SourceId
from index.store import rooms as room_store
from index.store import vectors
from index.store.reading import document_counts
from index.store.store import Store, open_store
from sources.config.model import Config


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """`succeeded_ms` is the last run that brought it up to date, `fault` what went wrong in a later one."""

    source: SourceId
    corpus: Corpus
    documents: int
    is_public: bool
    is_hidden: bool  # out of every search, not yet erased
    tried_ms: int | None
    succeeded_ms: int | None
    fault: str | None
    label: str = ""  # what people call it


@dataclass(frozen=True, slots=True)
class Unread:
    """A joined room that is not read. `outcome` is refused or suspended, `reason` a code, `text` a line for people."""

    room: RoomId
    label: str
    outcome: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Status:
    """`missing` are configured sources that were never indexed; `fingerprint` is None before the first refresh."""

    file: Path
    size_bytes: int  # with the write-ahead log
    fingerprint: Fingerprint | None
    sources: tuple[SourceStatus, ...]
    missing: tuple[SourceId, ...]
    vectors: int
    pending: int
    unread: tuple[Unread, ...] = ()

    @property
    def is_well(self) -> bool:
        return not self.missing and not self.pending and not any(one.fault for one in self.sources)


def configured(config: Config) -> list[SourceId]:
    """The sources that the configuration names, in its order."""
    return [
        *([SourceId(f"chat:{config.chat.user}")] if config.chat is not None else []),
        *(SourceId(f"repo:{repo.name}") for repo in config.repo),
        *(SourceId(f"forge:{forge.name}") for forge in config.forge),
        *(SourceId(f"notes:{notes.name}") for notes in config.notes),
    ]


async def status(config: Config) -> Status:
    """Reads the index file alone. StoreError when there is none or it cannot be read."""
    file = config.index_file
    async with open_store(file, is_writer=False) as store:
        documents = await document_counts(store.connection)
        known = await store.sources()
        present, _cells = await vectors.counts(store.connection)
        fingerprint = await store.fingerprint()
        # Where no vectors are wanted, none are missing.
        has_vectors = fingerprint is not None and fingerprint.embedder != NO_EMBEDDER
        return Status(
            file=file,
            size_bytes=sum(_size(file.with_name(file.name + end)) for end in ("", "-wal")),
            fingerprint=fingerprint,
            sources=tuple(
                SourceStatus(
                    source=one.id,
                    corpus=one.corpus,
                    documents=documents.get(one.key, 0),
                    is_public=one.is_public,
                    is_hidden=one.is_hidden,
                    tried_ms=one.tried_ms,
                    succeeded_ms=one.succeeded_ms,
                    fault=one.fault,
                    label=one.label,
                )
                for one in known
            ),
            missing=tuple(name for name in configured(config) if name not in {one.id for one in known}),
            vectors=present,
            pending=await vectors.pending_count(store.connection) if has_vectors else 0,
            unread=await _unread(store),
        )


async def _unread(store: Store) -> tuple[Unread, ...]:
    from ingest.chat.room import room_of

    rooms = [room_of(one) for one in await room_store.rooms(store.connection) if one.is_joined and not one.is_admitted]
    return tuple(
        Unread(one.id, one.record.label, one.record.outcome, finding.reason.value, finding.text)
        for one in rooms
        for finding in one.judgement.findings[:1]
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
