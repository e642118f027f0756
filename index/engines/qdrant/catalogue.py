"""What the cluster knows beside chunks, for readers that have no index file."""

from collections.abc import Sequence

from index.engines.qdrant import filters, records
from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.engine import consistency_of, retrieve
from index.engines.qdrant.label import Label, check_readable, read_label
from index.engines.qdrant.records import FACT, ROOM, SOURCE
from index.model import ChunkId, EventId, Fingerprint, RoomId, SourceId
from index.store.reading import StoredChunk
from index.store.rooms import RoomRecord
from index.store.store import Source


class QdrantCatalogue:
    """Every answer is read afresh: a room that was closed a moment ago is closed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.name = cluster.name

    async def label(self) -> Label:
        found = await read_label(self._cluster)
        check_readable(found, self._cluster)
        return found

    async def fingerprint(self) -> Fingerprint | None:
        return (await self.label()).fingerprint

    async def fact(self, name: str) -> str | None:
        return records.fact_of(await records.read_one(self._cluster, f"{FACT}{name}"))

    async def sources(self) -> list[Source]:
        said = await records.read_all(self._cluster)
        found = [records.source_of(record).source for name, record in said.items() if name.startswith(SOURCE)]
        return sorted(found, key=lambda source: source.key)

    async def room(self, room: RoomId) -> RoomRecord | None:
        record = await records.read_one(self._cluster, f"{ROOM}{room}")
        return None if record is None else records.room_of(record)

    async def first_ms(self, source: SourceId) -> int | None:
        record = await records.read_one(self._cluster, f"{SOURCE}{source}")
        return None if record is None else records.source_of(record).first_ms

    async def stored(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        return await retrieve(self._cluster, chunks)

    async def holds_event(self, source: SourceId, event: EventId) -> bool:
        points, _ = await self._cluster.read(
            lambda client: client.scroll(
                self._cluster.settings.collection,
                scroll_filter=filters.of_event(source, event),
                limit=1,
                with_payload=False,
                consistency=consistency_of(self._cluster),
            )
        )
        return bool(points)

    async def identity(self) -> tuple[object, ...]:
        label = await self.label()
        return label.made, label.fingerprint

    async def revision(self) -> tuple[object, ...]:
        label = await self.label()
        return label.made, label.revision
