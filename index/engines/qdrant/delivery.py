"""Telling the cluster what the index says now, from the writer's file.

What is to be told was written down by the transaction that changed the index (`index.store.outgoing`), and is taken
back after the cluster acknowledged it. Everything told is what shall be, so telling it twice changes nothing: a kill at
any point leaves a state from which the next delivery ends with the same collection. Removals are told first. A
collection that is not as this file left it, brought back from a backup say, is told everything, and loses what the
index has no more.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

from qdrant_client import models

from index.engines.qdrant import label as labels
from index.engines.qdrant import records
from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.comparison import PAGE, scroll
from index.engines.qdrant.filters import of_source
from index.engines.qdrant.label import Label
from index.engines.qdrant.layout import BATCH, BREATH
from index.engines.qdrant.points import SourceFields, point_of, source_fields
from index.errors import EngineError, StoreError
from index.model import ChunkId
from index.store import outgoing
from index.store.outgoing import Published
from index.store.store import Store

REVISION: Final = "copy.revision"
"""Entry of `meta`: the revision that the collection was last given, and the one that it was about to be."""
MADE: Final = "copy.made"
SETTLING_S: Final = 30.0
_LOOK_S: Final = 0.5

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Delivery:
    """`is_settled` False: the cluster had not yet rewritten what held deleted points; it goes on by itself."""

    sent: int = 0
    removed: int = 0
    records: int = 0
    is_settled: bool = True
    seconds: float = 0.0

    def __add__(self, other: "Delivery") -> "Delivery":
        return Delivery(
            self.sent + other.sent,
            self.removed + other.removed,
            self.records + other.records,
            self.is_settled and other.is_settled,
            self.seconds + other.seconds,
        )


async def writer_name(store: Store) -> str:
    """What this file calls itself; found once and kept."""
    known = await store.value(outgoing.WRITER)
    if known:
        return known
    name = uuid4().hex
    async with store.transaction():
        await store.set_value(outgoing.WRITER, name)
    return name


async def check(store: Store, cluster: Cluster) -> Label | None:
    """The collection's label; None when there is no collection yet. Writes nothing there.

    Raises `ConfigError` for a collection that is not labelled, or is another writer's.
    """
    found = await labels.find_label(cluster)
    if found is not None:
        labels.check_writer(found, cluster, await writer_name(store))
    return found


async def deliver(
    store: Store,
    cluster: Cluster,
    *,
    facts: Mapping[str, str] | None = None,
    progress: Progress = lambda done, total: None,
) -> Delivery:
    """Bring the collection up to date. The caller holds the write lock and no transaction.

    `facts` are published with the records. Makes the collection when there is none, and anew when the index was built
    with something else since. Raises what `check` and `Cluster` raise; what was not acknowledged stays noted.
    """
    start = time.monotonic()
    label = await _prepared(store, cluster)
    said = await records.gather(store, facts or {})
    known = await outgoing.published(store.connection)
    changed = {name: record for name, record in said.items() if known.get(name) != Published(record)}
    gone = sorted(known.keys() - said.keys())
    if changed or gone:
        async with store.transaction():
            await outgoing.doubt(store.connection, changed | {name: known[name].record for name in gone})
    removed = await _tell_of_sources(cluster, known, said)
    done = await _tell_of_chunks(store, cluster, progress)
    done = replace(done, removed=done.removed + removed, records=len(changed) + len(gone))
    if done.sent or done.removed or done.records or label.is_filling:
        await _finish(store, cluster, label, changed, gone)
    if done.removed and not await settled(cluster):
        done = replace(done, is_settled=False)
    return replace(done, seconds=time.monotonic() - start)


async def _prepared(store: Store, cluster: Cluster) -> Label:
    fingerprint = await store.fingerprint()
    if fingerprint is None:
        raise StoreError(f"{store.name}: was never refreshed, so there is nothing to copy (run `sources refresh`)")
    found = await check(store, cluster)
    if found is not None and labels.differences(found, fingerprint):
        await labels.drop(cluster)
        found = None
    if found is not None:
        if await _is_known(store, cluster, found):
            if found.fingerprint != fingerprint:
                await labels.relabel(cluster, replace(found, fingerprint=fingerprint))
            await labels.index_fields(cluster)
            return replace(found, fingerprint=fingerprint)
        await _doubt_all(store, cluster)
        await _begin(store, cluster, found.made, await records.read_all(cluster))
        again = replace(found, fingerprint=fingerprint, is_filling=True)
        await labels.relabel(cluster, again)
        return again
    label = Label(await writer_name(store), uuid4().hex, fingerprint, is_filling=True)
    await _begin(store, cluster, label.made, {})
    await labels.make(cluster, label)
    return label


async def _is_known(store: Store, cluster: Cluster, label: Label) -> bool:
    """Whether it is the collection that this file last wrote to, as it left it: not one brought back from a backup."""
    if await store.value(outgoing.COPIED_TO) != cluster.settings.collection or await store.value(MADE) != label.made:
        return False
    revisions = (await store.value(REVISION) or "0").split()
    return str(label.revision) in revisions


async def _doubt_all(store: Store, cluster: Cluster) -> None:
    """Note every point that is there: it is told what it shall be, or that it shall not be."""
    page: list[ChunkId] = []
    async for point in scroll(cluster, ["digest"]):
        page.append(ChunkId(int(point.id)))
        if len(page) == PAGE:
            await _mark(store, page)
            page.clear()
    await _mark(store, page)


async def _mark(store: Store, page: Sequence[ChunkId]) -> None:
    async with store.transaction():
        await outgoing.mark(store.connection, page)


async def _begin(store: Store, cluster: Cluster, made: str, there: Mapping[str, str]) -> None:
    """From here on every change is noted, and everything is to be told, over the records that are `there`."""
    async with store.transaction():
        await store.set_value(outgoing.COPIED_TO, cluster.settings.collection)
        await store.set_value(MADE, made)
        await store.set_value(REVISION, "0")
        await outgoing.mark_all(store.connection)
        await outgoing.doubt(store.connection, there)
    await outgoing.watch(store.connection)


async def _tell_of_sources(cluster: Cluster, known: Mapping[str, Published], said: Mapping[str, str]) -> int:
    """Sources that are gone, hidden, shown again or renamed: a request for all points of each. Returns points gone."""
    before = _fields({name: one.record for name, one in known.items()})
    now = _fields(said)
    doubtful = {name for name, one in known.items() if not one.is_certain}
    removed = 0
    for key in sorted({fields.key for fields in before.values()} - {fields.key for fields in now.values()}):
        removed += await _remove_source(cluster, key)
    for name, fields in sorted(now.items()):
        if name in doubtful or (name in before and before[name] != fields):
            where = models.FilterSelector(filter=of_source(fields.key))
            await cluster.write(
                lambda client, where=where, fields=fields: client.set_payload(  # type: ignore[misc]
                    cluster.settings.collection,
                    payload=fields.payload,
                    points=where,
                    wait=True,
                    ordering=models.WriteOrdering.STRONG,
                )
            )
    return removed


def _fields(said: Mapping[str, str]) -> dict[str, SourceFields]:
    """By name of the record."""
    return {
        name: source_fields(records.source_of(record).source)
        for name, record in said.items()
        if name.startswith(records.SOURCE)
    }


async def _remove_source(cluster: Cluster, key: int) -> int:
    collection, where = cluster.settings.collection, of_source(key)
    count = (await cluster.write(lambda client: client.count(collection, count_filter=where, exact=True))).count
    selector = models.FilterSelector(filter=where)
    await cluster.write(
        lambda client: client.delete(collection, selector, wait=True, ordering=models.WriteOrdering.STRONG)
    )
    left = (await cluster.write(lambda client: client.count(collection, count_filter=where, exact=True))).count
    if left:
        raise EngineError(f"{cluster.name}: {left} points of a removed source are still there (run it again)")
    return int(count)


async def _tell_of_chunks(store: Store, cluster: Cluster, progress: Progress) -> Delivery:
    total = await outgoing.waiting(store.connection)
    sources = {source.key: source_fields(source) for source in await store.sources()}
    sent = removed = since_breath = 0
    after = -1
    while batch := await outgoing.following(store.connection, after=after, limit=BATCH):
        after = batch[-1]
        chunks = await outgoing.chunks(store.connection, batch)
        gone = [identity for identity in batch if identity not in chunks]
        removed += await _remove(cluster, gone)
        points = [point_of(one, sources[one.source_key]) for one in chunks.values()]
        await _send(cluster, points)
        async with store.transaction():
            await outgoing.told(store.connection, batch)
        sent += len(points)
        since_breath += len(points)
        progress(sent + removed, total)
        if since_breath >= BREATH:
            await settled(cluster)
            since_breath = 0
    return Delivery(sent, removed)


async def _send(cluster: Cluster, points: Sequence[models.PointStruct]) -> None:
    if points:
        await cluster.write(
            lambda client: client.upsert(
                cluster.settings.collection, list(points), wait=True, ordering=models.WriteOrdering.MEDIUM
            )
        )


async def _remove(cluster: Cluster, gone: Sequence[ChunkId]) -> int:
    """Delete points and make sure, on every replica, that they are gone."""
    if not gone:
        return 0
    collection = cluster.settings.collection
    ids: list[models.ExtendedPointId] = list(gone)
    selector = models.PointIdsList(points=ids)
    await cluster.write(
        lambda client: client.delete(collection, selector, wait=True, ordering=models.WriteOrdering.STRONG)
    )
    left = await cluster.write(
        lambda client: client.retrieve(collection, ids, with_payload=False, consistency=models.ReadConsistencyType.ALL)
    )
    if left:
        raise EngineError(f"{cluster.name}: {len(left)} deleted points are still there (run it again)")
    return len(gone)


async def _finish(
    store: Store, cluster: Cluster, label: Label, changed: Mapping[str, str], gone: Sequence[str]
) -> None:
    """Records, then the label, then what we remember of both. The next revision is written down before it is given."""
    await records.write(cluster, changed, gone)
    revision = label.revision + 1
    async with store.transaction():
        await store.set_value(REVISION, f"{label.revision} {revision}")
    await labels.relabel(cluster, replace(label, is_filling=False, revision=revision))
    async with store.transaction():
        await outgoing.publish(store.connection, changed, gone)
        await store.set_value(REVISION, str(revision))


async def settled(cluster: Cluster, limit_s: float = SETTLING_S) -> bool:
    """Wait until the cluster has put in order what it was told; False when the limit came first."""
    end = time.monotonic() + limit_s
    while True:
        found = await cluster.write(lambda client: client.get_collection(cluster.settings.collection))
        if found.status == models.CollectionStatus.GREEN:
            return True
        if found.status == models.CollectionStatus.RED:
            raise EngineError(f"{cluster.name}: its optimiser failed (look at the cluster's log)")
        if time.monotonic() >= end:
            return False
        await asyncio.sleep(_LOOK_S)
