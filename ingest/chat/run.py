"""What the parts of one refresh of chat share: the homeserver, the index, the rooms in hand, and what is to be told."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import structlog

from index.errors import CredentialError, SourcesError
from index.model import RoomId
from index.store import rooms as room_store
from index.store.documents import Written
from ingest.chat.content import Scrub
from ingest.chat.facts import Visibility
from ingest.chat.gates import RoomPolicy
from ingest.chat.room import Room
from ingest.chat.rules import Purge
from ingest.chat.settings import ChatSettings
from ingest.chat.sifting import FORGED, ODD, Sieve, Sifted
from ingest.chat.storing import Shelf
from ingest.report import Outcome, SourceReport
from ingest.writing import Batch, Writer
from matrix.errors import BudgetSpentError
from matrix.reading import RoomReader

log = structlog.get_logger()


@dataclass(slots=True)
class Tally:
    """What happened to one room in this run."""

    documents: int = 0
    documents_removed: int = 0
    written: Written = field(default_factory=Written)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    fault: str | None = None
    is_removed: bool = False

    def report(self, room: Room) -> SourceReport:
        has_changed = self.documents or self.documents_removed or self.written.total
        outcome = Outcome.UPDATED if has_changed else Outcome.UNCHANGED
        if self.is_removed:
            outcome = Outcome.REMOVED
        if self.fault is not None:
            outcome = Outcome.FAILED
        return SourceReport(
            room.source,
            outcome,
            documents=self.documents,
            documents_removed=self.documents_removed,
            chunks_added=self.written.chunks_added,
            chunks_changed=self.written.chunks_changed,
            chunks_removed=self.written.chunks_removed,
            skipped=dict(sorted(self.skipped.items())),
            notes=tuple(dict.fromkeys(self.notes)),
            fault=self.fault,
            label=room.record.label,
        )


@dataclass(slots=True)
class Run:
    """`since` is the sync token that the last run ended with, or the first one ever."""

    reader: RoomReader
    writer: Writer
    settings: ChatSettings
    scrub: Scrub
    now_ms: int
    since: str
    policy: RoomPolicy
    purges: tuple[Purge, ...]
    rooms: dict[RoomId, Room]
    direct_rooms: frozenset[RoomId] = frozenset()
    tallies: dict[RoomId, Tally] = field(default_factory=dict)
    end: SourcesError | None = None  # why nothing more can be read in this run

    def tally(self, room: RoomId) -> Tally:
        return self.tallies.setdefault(room, Tally())

    def shelf(self, room: Room) -> Shelf:
        return room.shelf(self.settings, self.purges, self.now_ms)

    def sieve(self, room: Room) -> Sieve:
        wants_all = room.id in self.policy.narrow_rooms
        lifetime_ms = room.record.lifetime_ms
        return Sieve(
            room=room.id,
            version=room.facts.version,
            scrub=self.scrub,
            account=self.settings.account,
            visibilities=frozenset(Visibility) if wants_all else self.settings.visibilities,
            expired_before_ms=0 if lifetime_ms is None else self.now_ms - lifetime_ms,
        )

    @asynccontextmanager
    async def batch(self, room: Room) -> AsyncIterator[Batch]:
        """A transaction of one room; what it wrote is counted when it is done."""
        record = room.record
        async with self.writer.batch(room.source, label=record.label, is_public=record.is_public) as batch:
            yield batch
        tally = self.tally(room.id)
        tally.documents += batch.documents
        tally.documents_removed += batch.documents_removed
        tally.written += batch.written

    async def save(self, room: Room) -> None:
        """In a transaction of its own."""
        async with self.writer.transaction() as store:
            await room_store.save_room(store.connection, room.record)
        self.rooms[room.id] = room

    def count(self, room: Room, sifted: Sifted, *, odd: int, forged: int) -> None:
        """What of a page is not kept: once the page is stored, so that nothing counts twice."""
        self.tally(room.id).skipped += sifted.counts + Counter({ODD: odd, FORGED: forged})

    def fail(self, room: RoomId, error: SourcesError) -> None:
        """One room failing stops no other; a dead token, or the end of the time, is told once, for all."""
        if isinstance(error, CredentialError | BudgetSpentError):
            self.end = error
            return
        self.tally(room).fault = str(error)
        log.warning("chat.room_failed", room_id=room, error=type(error).__name__)

    async def each(self, rooms: Iterable[RoomId], work: Callable[[Room], Awaitable[None]]) -> None:
        """Side by side, as many as the settings allow; a room that fails is noted and left."""
        limit = asyncio.Semaphore(self.settings.concurrency)

        async def one(room: RoomId) -> None:
            async with limit:
                if self.end is not None:
                    return
                try:
                    await work(self.rooms[room])
                except SourcesError as error:
                    self.fail(room, error)

        async with asyncio.TaskGroup() as group:
            for room in rooms:
                group.create_task(one(room))

    def stop_at_end(self) -> None:
        if self.end is not None:
            raise self.end


def policy_of(settings: ChatSettings, alias_rooms: Iterable[RoomId]) -> RoomPolicy:
    return RoomPolicy(
        excluded=settings.excluded_rooms | frozenset(alias_rooms),
        excluded_aliases=settings.excluded_aliases,
        overrides=settings.overrides,
        refuses_encrypted=settings.refuses_encrypted,
        visibilities=settings.visibilities,
    )
