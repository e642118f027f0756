"""The rooms of the reader account as a host wants to know them: read or not, why, how far, and with which holes."""

from collections.abc import Mapping

from msgspec import Struct, field

from index.model import RoomId
from index.store import rooms as room_store
from index.store import sweeps
from index.store.rooms import DONE, RoomRecord, UnknownStretch
from index.store.store import open_store
from index.store.sweeps import RoomCounts
from ingest.chat.gates import Finding
from ingest.chat.room import Judgement, room_of
from sources.config.model import Config


class RoomStatus(Struct, frozen=True):
    """`override` is what the configuration says of this room; gaps are timelines that are still being filled."""

    record: RoomRecord
    judgement: Judgement
    counts: RoomCounts
    gaps: int
    unknown: tuple[UnknownStretch, ...] = ()
    override: str | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """In a word: `read`, `reading`, `hidden`, `refused`, or `new` before the first verdict."""
        record = self.record
        if not record.outcome:
            return "new"
        if not record.is_admitted:
            return "refused" if record.outcome == room_store.REFUSED else "hidden"
        return "read" if record.phase == DONE and not self.gaps and not self.counts.waiting else "reading"

    @property
    def reasons(self) -> tuple[Finding, ...]:
        return self.judgement.findings


async def room_statuses(config: Config) -> list[RoomStatus]:
    """Joined rooms and those of which something is still stored, by name. Reads the index file alone."""
    overrides = {} if config.chat is None else config.chat.overrides
    async with open_store(config.index_file, is_writer=False) as store:
        connection = store.connection
        gaps: dict[RoomId, int] = {}
        for gap in await room_store.gaps(connection):
            gaps[gap.room] = gaps.get(gap.room, 0) + 1
        found = []
        for record in await room_store.rooms(connection):
            counts = await sweeps.counts(connection, record.id)
            if not record.is_joined and not counts.messages:
                continue
            found.append(
                RoomStatus(
                    record=record,
                    judgement=room_of(record).judgement,
                    counts=counts,
                    gaps=gaps.get(record.id, 0),
                    unknown=tuple(await room_store.unknown(connection, record.id)),
                    override=overrides.get(record.id),
                    skipped=dict(counts.skipped),
                )
            )
    return sorted(found, key=lambda one: (one.record.label.casefold(), one.record.id))
