"""The state of the index as a host wants to know it: what is in it, how old it is, and what it lacks."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from index.audit import Upgrade
from index.errors import StoreError
from index.model import NO_EMBEDDER, Corpus, Fingerprint, RoomId, SourceId, corpus_of
from index.store import codes, erase, outgoing, purges, vectors
from index.store import rooms as room_store
from index.store.reading import document_counts
from index.store.rooms import RoomRecord
from index.store.store import Source, Store, open_store
from sources.config.model import Config
from sources.config.settings import purges_folder


class SourceStatus(Struct, frozen=True):
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


class Unread(Struct, frozen=True):
    """A joined room that is not read. `outcome` is refused or suspended, `reason` a code, `text` a line for people."""

    room: RoomId
    label: str
    outcome: str
    reason: str
    text: str


class Status(Struct, frozen=True):
    """`missing` are configured sources that were never indexed; `fingerprint` is None before the first refresh.

    `rooms` counts joined rooms by what was decided about them. `running` is the process of a refresh at work, None
    when there is none or it cannot be told.
    """

    file: Path
    size_bytes: int  # with the write-ahead log
    fingerprint: Fingerprint | None
    sources: tuple[SourceStatus, ...]
    missing: tuple[SourceId, ...]
    vectors: int
    pending: int
    unread: tuple[Unread, ...] = ()
    rooms: Mapping[str, int] = field(default_factory=dict)
    upgrades: tuple[Upgrade, ...] = ()  # of rooms that are read, to rooms that the reader is not in
    gaps: int = 0  # timelines of rooms that are still to be filled
    unknown_stretches: int = 0  # of rooms' history, which nobody can fill
    free_bytes: int | None = None  # on the disk of the index
    running: int | None = None
    owes_erasure: bool = (
        False  # deleted text may still be in the file: a run ended before its wipe, or a reader held on
    )
    waiting_orders: int = 0  # to forget, given and not carried out
    orders_fault: str | None = None  # why they cannot be read
    uncopied: int | None = None  # chunks that the cluster has yet to hear of; None without one
    is_drifted: bool = False  # the model under this name is another than the one that made the vectors
    absent_rooms: int = 0  # read once, under a [chat] that is not configured any more
    absent_until_ms: int | None = None  # when those are erased; None before a refresh knows of it

    @property
    def succeeded_ms(self) -> int | None:
        """When any source was last brought up to date."""
        return max((one.succeeded_ms for one in self.sources if one.succeeded_ms is not None), default=None)


def group_of(source: SourceId) -> str:
    """What the configuration calls it: all rooms are `chat`, all repositories of a forge are that forge."""
    if corpus_of(source) is Corpus.CHAT:
        return Corpus.CHAT.value
    return source.partition("/")[0] if source.startswith("forge:") else source


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
        present, _coded = await codes.counts(store.connection)
        fingerprint = await store.fingerprint()
        # Where no vectors are wanted, none are missing.
        has_vectors = fingerprint is not None and fingerprint.embedder != NO_EMBEDDER
        read = [] if config.chat is None else await room_store.rooms(store.connection)
        records = [one for one in read if one.is_joined]
        running = refresh_at_work(config)
        waiting, fault = await _orders(config, store)
        absent = absent_rooms(config, known)
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
            unread=_unread(records),
            rooms=Counter(one.outcome or "new" for one in records),
            upgrades=upgraded(config, read),
            gaps=len(await room_store.gaps(store.connection)),
            unknown_stretches=len(await room_store.unknown(store.connection)),
            free_bytes=_free(config.state_dir),
            running=running,
            owes_erasure=running is None and await _owes_erasure(store),
            waiting_orders=waiting,
            orders_fault=fault,
            uncopied=await outgoing.waiting(store.connection) if config.index.engine == "qdrant" else None,
            is_drifted=has_vectors and bool(await store.value(vectors.DRIFTED)),
            absent_rooms=len(absent),
            absent_until_ms=await _erased_from(store) if absent else None,
        )


def upgraded(config: Config, known: Sequence[RoomRecord]) -> tuple[Upgrade, ...]:
    """Of rooms that are read. A heir that the host excluded is not missed."""
    if config.chat is None:
        return ()
    from ingest.chat.room import heir_of

    settled = {room.id for room in known if room.is_joined} | set(config.chat.exclude)
    heirs = ((room.label, heir_of(room)) for room in known if room.is_joined and room.is_admitted)
    return tuple(Upgrade(label, heir) for label, heir in heirs if heir is not None and heir not in settled)


def absent_rooms(config: Config, known: Sequence[Source]) -> list[SourceId]:
    """Those in the index, where the configuration has no `[chat]` any more."""
    return [] if config.chat is not None else [one.id for one in known if one.id.startswith("chat:!")]


async def _erased_from(store: Store) -> int | None:
    from ingest.chat.absence import erased_from

    return await erased_from(store)


async def _orders(config: Config, store: Store) -> tuple[int, str | None]:
    """Those of the folder that this index does not know count too: it may have been brought back from a copy."""
    from ingest.chat import orders

    try:
        given = {one.identity: one for one in orders.read(purges_folder(config))}
    except StoreError as error:
        return 0, str(error)
    given |= {one.identity: one for one in await purges.purges(store.connection)}
    return sum(one.applied_ms is None for one in given.values()), None


async def _owes_erasure(store: Store) -> bool:
    return await store.value(erase.DEBT) in (erase.A_LOOK, erase.A_REWRITE)


def _unread(records: Sequence[RoomRecord]) -> tuple[Unread, ...]:
    from ingest.chat.room import room_of

    rooms = [room_of(one) for one in records if not one.is_admitted]
    return tuple(
        Unread(one.id, one.record.label, one.record.outcome, finding.reason.value, finding.text)
        for one in rooms
        for finding in one.judgement.findings[:1]
    )


def refresh_at_work(config: Config) -> int | None:
    """The process of a refresh; None when there is none or it cannot be told."""
    return _holder(config.state_dir / "refresh.lock")


def _holder(lock: Path) -> int | None:
    """The process that holds a kernel lock on this file, as far as the kernel shows it. Trying to lock it instead could
    make a refresh that starts in that moment believe that another one is running.
    """
    try:
        inode = lock.stat().st_ino
        table = Path("/proc/locks").read_text()
    except OSError:
        return None
    for fields in map(str.split, table.splitlines()):
        # number: FLOCK ADVISORY WRITE process major:minor:inode start end
        if len(fields) >= 6 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == str(inode):
            return int(fields[4])
    return None


def _free(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
