"""What must be forgotten by order: purges, users to be erased, messages that outlived their room's retention.

Applied in small transactions, each of which leaves index and ledger in step; a run that is killed goes on in the next.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from index.errors import StoreError
from index.model import EventId, RoomId
from index.store import purges as purge_store
from index.store import rooms as room_store
from index.store import sweeps
from index.store.purges import PurgeRecord
from index.store.sweeps import Conditions, Place
from index.wording import counted
from ingest.chat.orders import take_in
from ingest.chat.rendering import source_id
from ingest.chat.room import room_of
from ingest.chat.rules import Purge, Why
from ingest.chat.settings import ChatSettings
from ingest.chat.storing import forget
from ingest.writing import Writer

_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class Effect:
    """Messages and edits that went, documents that were written anew, and those that went."""

    events: int = 0
    written: int = 0
    removed: int = 0

    def __add__(self, other: "Effect") -> "Effect":
        return Effect(self.events + other.events, self.written + other.written, self.removed + other.removed)


@dataclass(frozen=True, slots=True)
class Purged:
    """What went."""

    effect: Effect = field(default_factory=Effect)
    rooms: frozenset[RoomId] = frozenset()

    @property
    def events(self) -> int:
        return self.effect.events

    def __add__(self, other: "Purged") -> "Purged":
        return Purged(self.effect + other.effect, self.rooms | other.rooms)


@dataclass(frozen=True, slots=True)
class Burial:
    """For what messages go. `order` is the key of the purge that names them, which counts them."""

    why: Why
    buries: bool = True  # leaves tombstones
    order: int | None = None


def rules_of(records: Sequence[PurgeRecord]) -> tuple[Purge, ...]:
    """What arrivals are held against."""
    return tuple(
        Purge(record.room, record.event, record.sender, record.after_ms, record.before_ms, record.takes_replies)
        for record in records
    )


async def apply_purges(writer: Writer, settings: ChatSettings, now_ms: int) -> list[tuple[PurgeRecord, Purged]]:
    """Carry out every order that was not carried out yet. Arrivals are held against all of them for ever.

    Raises `StoreError` for an order that cannot be read: rather no chat at all than what should be gone.
    """
    if settings.orders is not None:
        async with writer.transaction() as store:
            await take_in(store, settings.orders)
    done = []
    for record in await purge_store.purges(writer.store.connection):
        if record.applied_ms is not None or record.key is None:
            continue
        purged = await _apply(writer, settings, now_ms, record, record.key)
        async with writer.transaction() as store:
            await purge_store.record_applied(store.connection, record.key, now_ms=now_ms)
        done.append((record, purged))
    return done


async def _apply(writer: Writer, settings: ChatSettings, now_ms: int, record: PurgeRecord, key: int) -> Purged:
    """Replies first: by what they answer they are found as long as that is there.

    The message that is named alone comes last, since its edits are buried only while they are stored.
    """
    connection, conditions = writer.store.connection, record.conditions
    (rule,) = rules_of([record])
    burial = Burial(rule.why, order=key)
    purged = Purged()
    if record.takes_replies:
        find = partial(sweeps.answering, connection, conditions, limit=_AT_ONCE)
        purged += await _remove_all(writer, settings, now_ms, find, Burial(Why.PURGED, order=key))
    find = partial(sweeps.matching, connection, conditions, limit=_AT_ONCE)
    purged += await _remove_all(writer, settings, now_ms, find, burial)
    if record.room is not None and record.event is not None and rule.names(record.room, record.event):
        # Redacted before, it was not stored, and what answers it may quote it all the same.
        effect = await remove(writer, settings, record.room, [record.event], burial, now_ms=now_ms)
        purged += Purged(effect, frozenset({record.room} if effect != Effect() else ()))
    return purged


async def erase_users(writer: Writer, settings: ChatSettings, now_ms: int) -> Purged:
    """Messages of users that the configuration names, in all rooms."""
    purged = Purged()
    for user in settings.erased_users:
        find = partial(sweeps.matching, writer.store.connection, Conditions(sender=user), limit=_AT_ONCE)
        purged += await _remove_all(writer, settings, now_ms, find, Burial(Why.PURGED))
    return purged


async def expire(writer: Writer, settings: ChatSettings, room: RoomId, before_ms: int, now_ms: int) -> Purged:
    """Messages of a room from before a time. No tombstones: arrivals are held against the time as well."""
    find = partial(sweeps.older, writer.store.connection, room, before_ms, limit=_AT_ONCE)
    return await _remove_all(writer, settings, now_ms, find, Burial(Why.PRUNED, buries=False))


async def _remove_all(
    writer: Writer, settings: ChatSettings, now_ms: int, find: Callable[[], Awaitable[list[Place]]], burial: Burial
) -> Purged:
    purged = Purged()
    before: list[Place] = []
    while places := await find():
        if places == before:
            raise StoreError(
                f"{writer.store.name}: {counted(len(places), 'message')} cannot be removed (run `sources verify`)"
            )
        before = places
        by_room: dict[RoomId, list[EventId]] = {}
        for place in places:
            by_room.setdefault(place.room, []).append(place.event)
        for room, events in by_room.items():
            effect = await remove(writer, settings, room, events, burial, now_ms=now_ms)
            purged += Purged(effect, frozenset({room}))
    return purged


async def remove(
    writer: Writer, settings: ChatSettings, room: RoomId, events: Sequence[EventId], burial: Burial, *, now_ms: int
) -> Effect:
    """Named events of one room, in one transaction."""
    record = await room_store.room(writer.store.connection, room)
    if record is None:
        return Effect()
    shelf = room_of(record).shelf(settings, (), now_ms)
    async with writer.batch(source_id(room), label=record.label, is_public=record.is_public) as batch:
        changes = await forget(batch, shelf, events, burial.why, buries=burial.buries)
        if burial.order is not None:
            await purge_store.record_removed(batch.store.connection, burial.order, changes.deleted)
    return Effect(len(changes.deleted), batch.documents, batch.documents_removed)
