"""The collection held against the index file: every chunk by id, digest, source and whether it is hidden, and a sample
in every field and vector.

Both sides are read in the order of their ids, a page at a time, so no index is too large for it.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from qdrant_client import models
from qdrant_client.conversions.common_types import Record

from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.engine import consistency_of
from index.engines.qdrant.layout import DENSE
from index.engines.qdrant.points import point_of, source_fields
from index.model import ChunkId
from index.store import outgoing
from index.store.store import Store

PAGE: Final = 1_000
SAMPLE: Final = 50


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ids, the first thousand of each kind; `unlike` are those that say something else, of the sample in any field."""

    chunks: int  # in the file
    points: int  # in the cluster
    sampled: int
    missing: tuple[ChunkId, ...] = ()
    extra: tuple[ChunkId, ...] = ()
    unlike: tuple[ChunkId, ...] = ()

    @property
    def is_equal(self) -> bool:
        return not (self.missing or self.extra or self.unlike)


@dataclass(slots=True)
class _Found:
    missing: list[ChunkId] = field(default_factory=list)
    extra: list[ChunkId] = field(default_factory=list)
    unlike: list[ChunkId] = field(default_factory=list)

    def note(self, kind: list[ChunkId], identity: ChunkId) -> None:
        if len(kind) < PAGE:
            kind.append(identity)


async def compare(store: Store, cluster: Cluster, draw: Random, *, sample: int = SAMPLE) -> Comparison:
    """Reads all ids and what is compared of both sides. The caller holds the write lock."""
    found = _Found()
    chunks = points = 0
    drawn: list[ChunkId] = []
    told = _points(cluster)
    point = await anext(told, None)
    async for identity, said in _chunks(store):
        chunks += 1
        while point is not None and point[0] < identity:
            points += 1
            found.note(found.extra, point[0])
            point = await anext(told, None)
        if point is None or point[0] != identity:
            found.note(found.missing, identity)
            continue
        points += 1
        if point[1] != said:
            found.note(found.unlike, identity)
        _keep(drawn, identity, chunks, sample, draw)
        point = await anext(told, None)
    while point is not None:
        points += 1
        found.note(found.extra, point[0])
        point = await anext(told, None)
    for identity in await _unlike(store, cluster, drawn):
        if identity not in found.unlike:
            found.note(found.unlike, identity)
    return Comparison(chunks, points, len(drawn), tuple(found.missing), tuple(found.extra), tuple(found.unlike))


def _keep(drawn: list[ChunkId], identity: ChunkId, seen: int, sample: int, draw: Random) -> None:
    """Reservoir sampling: every chunk is drawn with the same chance."""
    if len(drawn) < sample:
        drawn.append(identity)
    elif (place := draw.randrange(seen)) < sample:
        drawn[place] = identity


Said = tuple[object, ...]
"""What is compared of every chunk, in the order of `_COMPARED`."""
_COMPARED: Final = ("digest", "source_key", "source", "is_hidden")


async def _chunks(store: Store) -> AsyncIterator[tuple[ChunkId, Said]]:
    sources = {source.key: (source.key, source.id, int(source.is_hidden)) for source in await store.sources()}
    after = -1
    while rows := list(
        await store.connection.execute_fetchall(
            "SELECT id, digest, chunk_key >> 32 FROM chunk WHERE id > ? ORDER BY id LIMIT ?", (after, PAGE)
        )
    ):
        after = rows[-1][0]
        for identity, digest, source_key in rows:
            yield ChunkId(identity), (bytes(digest).hex(), *sources[source_key])


async def _points(cluster: Cluster) -> AsyncIterator[tuple[ChunkId, Said]]:
    async for record in scroll(cluster, _COMPARED):
        payload = record.payload or {}
        yield ChunkId(int(record.id)), tuple(payload.get(name) for name in _COMPARED)


async def scroll(cluster: Cluster, fields: Sequence[str]) -> AsyncIterator[Record]:
    """All points by id, with some fields of the payload."""
    place: models.ExtendedPointId | None = None
    while True:
        records, place = await cluster.write(
            lambda client, place=place: client.scroll(  # type: ignore[misc]
                cluster.settings.collection,
                limit=PAGE,
                offset=place,
                with_payload=list(fields),
                consistency=consistency_of(cluster),
            )
        )
        for record in records:
            yield record
        if place is None:
            return


async def _unlike(store: Store, cluster: Cluster, drawn: Sequence[ChunkId]) -> list[ChunkId]:
    """Those of the sample whose payload or vector is not what would be sent now."""
    if not drawn:
        return []
    sources = {source.key: source_fields(source) for source in await store.sources()}
    wanted = {
        identity: point_of(one, sources[one.source_key])
        for identity, one in (await outgoing.chunks(store.connection, drawn)).items()
    }
    records = await cluster.write(
        lambda client: client.retrieve(
            cluster.settings.collection, list(drawn), with_payload=True, with_vectors=[DENSE]
        )
    )
    unlike = []
    for record in records:
        identity = ChunkId(int(record.id))
        point = wanted[identity]
        if record.payload != point.payload or _dense(record.vector) != _dense(point.vector):
            unlike.append(identity)
    return unlike


def _dense(vector: Any) -> list[list[int]]:
    rows = vector.get(DENSE) if isinstance(vector, dict) else None
    return [[round(number) for number in row] for row in rows or ()]
