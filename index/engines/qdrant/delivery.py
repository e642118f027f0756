"""Telling the cluster what the index says now, from the writer's file.

What is to be told was written down by the transaction that changed the index (`index.store.outgoing`), and is taken
back after the cluster acknowledged it. Everything told is what shall be, so telling it twice changes nothing: a kill at
any point leaves a state from which the next delivery ends with the same collection. A collection that is not as this
file left it, brought back from a backup say, is told everything, and loses what the index has no more.

Whenever a delivery ends, nobody sees what neither was nor is for them to see. So first told is what is closed, then
what is gone, then other names, then what is new or changed, and last what is opened.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

from index.engines.qdrant import label as labels
from index.engines.qdrant import records, telling
from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.comparison import PAGE, scroll
from index.engines.qdrant.label import Label, Labels
from index.engines.qdrant.layout import BATCH, BREATH
from index.engines.qdrant.points import SourceFields, point_of, source_fields
from index.errors import EngineError, StoreError
from index.model import ChunkId
from index.store import outgoing
from index.store.outgoing import Published
from index.store.store import Store

REVISION: Final = "copy.revision"
"""Entry of `meta`: how far the label of the collection counts, see `counted`; during a step, before and after it."""
MADE: Final = "copy.made"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Delivery:
    """`is_settled` False: the cluster had not yet rewritten what held deleted points; it goes on by itself."""

    sent: int = 0
    removed: int = 0
    records: int = 0
    is_settled: bool = True
    seconds: float = 0.0


async def writer_name(store: Store) -> str:
    """What this file calls itself; found once and kept."""
    known = await store.value(outgoing.WRITER)
    if known:
        return known
    name = uuid4().hex
    async with store.transaction():
        await store.set_value(outgoing.WRITER, name)
    return name


async def check(store: Store, cluster: Cluster) -> Labels:
    """What is there. Writes nothing there.

    Raises `ConfigError` for a collection that is not labelled, or is another writer's.
    """
    found = await labels.find_labels(cluster)
    for label in (found.chunks, found.records):
        if label is not None:
            labels.check_writer(label, cluster, await writer_name(store))
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
    total = await outgoing.waiting(store.connection)
    if not (changed or gone or total or label.is_filling):
        return Delivery(seconds=time.monotonic() - start)
    label = await _counted_on(store, cluster, label, replace(label, begun=label.begun + 1))
    async with store.transaction():
        await outgoing.doubt(store.connection, changed | {name: known[name].record for name in gone})
    sources = _told_sources(changed, known)
    await records.write(cluster, {one.name: one.closed for one in sources if one.is_early}, ())
    await telling.hide(cluster, sorted(_hidden(sources) | _keys(known) - _keys(said)))
    removed = await _remove_gone(store, cluster, label, lambda done: progress(done, total))
    for one in sources:
        if one.is_moved:
            await telling.set_source(cluster, _fields(one.closed))
    sent = await _send_changed(store, cluster, label, lambda done: progress(removed + done, total))
    for one in sources:
        if one.is_moved and one.closed != one.record:
            await telling.set_source(cluster, _fields(one.record))
    await records.write(cluster, changed, gone)
    await _counted_on(store, cluster, label, replace(label, is_filling=False, revision=label.begun))
    async with store.transaction():
        await outgoing.publish(store.connection, changed, gone)
    is_settled = not removed or await telling.settled(cluster)
    return Delivery(sent, removed, len(changed) + len(gone), is_settled, time.monotonic() - start)


async def _prepared(store: Store, cluster: Cluster) -> Label:
    """The label of both collections, made where there was none."""
    fingerprint = await store.fingerprint()
    if fingerprint is None:
        raise StoreError(f"{store.name}: was never refreshed, so there is nothing to copy (run `sources refresh`)")
    found = await check(store, cluster)
    if found.chunks is not None and labels.differences(found.chunks, fingerprint):
        await labels.drop(cluster)
        found = Labels(None, None)
    if found.chunks is not None and await _is_known(store, cluster, found):
        label = replace(found.chunks, fingerprint=fingerprint)
        if label != found.chunks:
            await labels.relabel(cluster, label)
        await labels.index_fields(cluster)
        return label
    if found.chunks is not None:
        await _doubt_all(store, cluster)
    there = {} if found.records is None else await records.read_all(cluster)
    label = Label(await writer_name(store), uuid4().hex, fingerprint, is_filling=True)
    await _begin(store, cluster, label, there)
    await labels.make(cluster, label, chunks=await outgoing.waiting(store.connection))
    await labels.relabel(cluster, label)
    return label


async def _is_known(store: Store, cluster: Cluster, found: Labels) -> bool:
    """Whether they are those that this file last wrote to, as it left them: none brought back from a backup."""
    if await store.value(outgoing.COPIED_TO) != cluster.settings.collection:
        return False
    made, known = await store.value(MADE), (await store.value(REVISION) or "").split()
    both = (found.chunks, found.records)
    return all(label is not None and label.made == made and counted(label) in known for label in both)


def counted(label: Label) -> str:
    return f"{label.begun}.{label.revision}"


async def _counted_on(store: Store, cluster: Cluster, before: Label, after: Label) -> Label:
    """Take the collections a step on, which is written down before they are given it."""
    await _check_ours(cluster, before)
    async with store.transaction():
        await store.set_value(REVISION, f"{counted(before)} {counted(after)}")
    await labels.relabel(cluster, after)
    async with store.transaction():
        await store.set_value(REVISION, counted(after))
    return after


async def _check_ours(cluster: Cluster, label: Label) -> None:
    """Nobody else writes there at the same time: who took it over, or a copy of this file on another machine."""
    found = await labels.read_label(cluster)
    labels.check_writer(found, cluster, label.writer)
    if (found.made, counted(found)) != (label.made, counted(label)):
        raise EngineError(
            f"{cluster.name}: was written to by another run (is a copy of the index file in use elsewhere?)"
        )


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


async def _begin(store: Store, cluster: Cluster, label: Label, there: Mapping[str, str]) -> None:
    """From here on every change is noted, and everything is to be told, over the records that are `there`."""
    async with store.transaction():
        await store.set_value(outgoing.COPIED_TO, cluster.settings.collection)
        await store.set_value(MADE, label.made)
        await store.set_value(REVISION, counted(label))
        await outgoing.mark_all(store.connection)
        await outgoing.doubt(store.connection, there)
    await outgoing.watch(store.connection)


@dataclass(frozen=True, slots=True)
class _ToldSource:
    """A changed record of a source. `closed` is the same, open to nobody to whom source or name were closed before.

    `is_early`: who sees what under which name is another. `is_moved`: points of the source may be there, and say
    something else of it.
    """

    name: str
    record: str
    closed: str
    is_early: bool
    is_moved: bool


def _told_sources(changed: Mapping[str, str], known: Mapping[str, Published]) -> list[_ToldSource]:
    """A source is known by its key: names come and go, and are taken over by others."""
    before: dict[int, str] = {}
    for name, one in known.items():
        if name.startswith(records.SOURCE):
            key = _fields(one.record).key
            before[key] = records.kept_closed(one.record, before.get(key, one.record))
    told = []
    for name, record in sorted(changed.items()):
        if not name.startswith(records.SOURCE):
            continue
        was, same = before.get(_fields(record).key), known.get(name)
        closed = record if was is None else records.kept_closed(record, was)
        closed = closed if same is None else records.kept_closed(closed, same.record)
        is_certain = same is not None and same.is_certain
        told.append(
            _ToldSource(
                name,
                record,
                closed,
                is_early=same is None or not is_certain or records.lasting(same.record) != records.lasting(record),
                is_moved=_may_say_else(record, was, same),
            )
        )
    return told


def _may_say_else(record: str, was: str | None, same: Published | None) -> bool:
    """Whether points may; `was` is what was said of the same key, `same` what was said under the same name."""
    if same is not None and not same.is_certain:
        return True
    return was is not None and _fields(was) != _fields(record)


def _hidden(sources: Sequence[_ToldSource]) -> set[int]:
    """Keys of those whose points have to leave every search."""
    return {fields.key for one in sources if one.is_moved and (fields := _fields(one.closed)).is_hidden}


def _keys(said: Mapping[str, str] | Mapping[str, Published]) -> set[int]:
    """Of all sources."""
    found = {name: one.record if isinstance(one, Published) else one for name, one in said.items()}
    return {_fields(record).key for name, record in found.items() if name.startswith(records.SOURCE)}


def _fields(record: str) -> SourceFields:
    return source_fields(records.source_of(record).source)


async def _remove_gone(store: Store, cluster: Cluster, label: Label, progress: Callable[[int], None]) -> int:
    removed = 0
    after = -1
    while batch := await outgoing.gone(store.connection, after=after, limit=BATCH):
        after = batch[-1]
        await _check_ours(cluster, label)
        await telling.remove(cluster, batch)
        async with store.transaction():
            await outgoing.told(store.connection, batch)
        removed += len(batch)
        progress(removed)
    return removed


async def _send_changed(store: Store, cluster: Cluster, label: Label, progress: Callable[[int], None]) -> int:
    """What is left when all that is gone was removed."""
    sources = {source.key: source_fields(source) for source in await store.sources()}
    sent = since_breath = 0
    while batch := await outgoing.following(store.connection, limit=BATCH):
        await _check_ours(cluster, label)
        chunks = await outgoing.chunks(store.connection, batch)
        await telling.send(cluster, [point_of(one, sources[one.source_key]) for one in chunks.values()])
        async with store.transaction():
            await outgoing.told(store.connection, batch)
        sent += len(batch)
        since_breath += len(batch)
        progress(sent)
        if since_breath >= BREATH:
            await telling.settled(cluster)
            since_breath = 0
    return sent
