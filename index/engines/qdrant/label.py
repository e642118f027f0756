"""Whose collection it is: written into its metadata when it is made, and read before anything else is done with it.

A collection without a label, or with that of another writer, is never written to, emptied or dropped. One that was
filled under another fingerprint takes nothing more until the writer makes it anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import asdict, replace
from qdrant_client import AsyncQdrantClient

from index.engines.qdrant import layout
from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.weights import WEIGHTS_VERSION
from index.errors import ConfigError, EngineError
from index.model import Fingerprint

PROGRAM: Final = "sources"
LAYOUT: Final = 2
"""Raise it with every change of points, records or indexes that an older reader would misread."""
RESTORED: Final = frozenset({1, LAYOUT})
"""Layouts that an index file can be made from: what these tell apart are words, which are found anew."""


@dataclass(frozen=True, slots=True)
class Label:
    """`made` tells one filling of the collection from the next; `is_filling` until all of the index was told once.

    `begun` counts the deliveries that changed something, `revision` is the last one that was told to its end. A backup
    of the collection is known by them, even one made in the middle of a delivery.
    """

    writer: str
    made: str
    fingerprint: Fingerprint
    is_filling: bool
    begun: int = 0
    revision: int = 0
    layout: int = LAYOUT
    weights: int = WEIGHTS_VERSION

    @property
    def metadata(self) -> dict[str, Any]:
        return {
            "program": PROGRAM,
            "layout": self.layout,
            "weights": self.weights,
            "writer": self.writer,
            "made": self.made,
            "is_filling": self.is_filling,
            "begun": self.begun,
            "revision": self.revision,
            "fingerprint": {**asdict(self.fingerprint), "languages": list(self.fingerprint.languages)},
        }


def label_of(metadata: Mapping[str, Any] | None) -> Label | None:
    """None: not one of ours."""
    if not metadata or metadata.get("program") != PROGRAM:
        return None
    try:
        fields = dict(metadata["fingerprint"])
        fingerprint = Fingerprint(**{**fields, "languages": tuple(fields["languages"])})
        return Label(
            writer=str(metadata["writer"]),
            made=str(metadata["made"]),
            fingerprint=fingerprint,
            is_filling=bool(metadata["is_filling"]),
            begun=int(metadata["begun"]),
            revision=int(metadata["revision"]),
            layout=int(metadata["layout"]),
            weights=int(metadata.get("weights", 1)),
        )
    except (KeyError, TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Labels:
    """Of the collection of chunks and of the one of records; None: there is no such collection."""

    chunks: Label | None
    records: Label | None


async def find_labels(cluster: Cluster) -> Labels:
    """Raises `ConfigError` when a collection of one of the two names is not ours."""
    found = []
    for name in (cluster.settings.collection, cluster.settings.records):
        there = await cluster.read(lambda client, name=name: client.collection_exists(name))  # type: ignore[misc]
        found.append(await _label(cluster, name) if there else None)
    return Labels(*found)


async def read_label(cluster: Cluster) -> Label:
    """For readers. Raises `EngineError` when there is no such collection, `ConfigError` when it is not ours."""
    return await _label(cluster, cluster.settings.collection)


async def _label(cluster: Cluster, name: str) -> Label:
    found = label_of((await cluster.read(lambda client: client.get_collection(name))).config.metadata)
    if found is None:
        what = f"{cluster.name}: collection {name} is not labelled by sources and is left alone"
        raise ConfigError(f"{what} (set another [index.qdrant] collection)")
    return found


def check_layout(label: Label, cluster: Cluster) -> None:
    """Raise `EngineError` for a layout that this program does not search."""
    if label.layout != LAYOUT:
        raise _other_layout(label, cluster, "run `sources refresh` on the writer: it makes the collection anew")


def check_readable(label: Label, cluster: Cluster) -> None:
    """As `check_layout`, and raise `EngineError` for a collection that is being filled.

    It lacks chunks, which readers would take for withdrawn; or it was brought back from a backup, and has chunks that
    were withdrawn since.
    """
    check_layout(label, cluster)
    _check_whole(label, cluster)


def check_restorable(label: Label, cluster: Cluster) -> None:
    """As `check_readable`, for making an index file of the collection, which older layouts are good for too."""
    if label.layout not in RESTORED:
        raise _other_layout(label, cluster, "use the version that wrote it")
    _check_whole(label, cluster)


def _other_layout(label: Label, cluster: Cluster, remedy: str) -> EngineError:
    what = f"{cluster.name}: collection {cluster.settings.collection} has layout {label.layout}"
    if label.layout > LAYOUT:
        remedy = "use the same version as the writer"
    return EngineError(f"{what}, this program reads {LAYOUT} ({remedy})")


def _check_whole(label: Label, cluster: Cluster) -> None:
    if label.is_filling:
        what = f"{cluster.name}: collection {cluster.settings.collection} is being filled and not whole yet"
        raise EngineError(f"{what} (ask again later; if nobody fills it, run `sources refresh` on the writer)")


def check_writer(label: Label, cluster: Cluster, writer: str) -> None:
    """Raise `ConfigError` for another's collection."""
    if label.writer != writer:
        name = cluster.settings.collection
        what = f"{cluster.name}: collection {name} belongs to another writer ({label.writer}) and is left alone"
        remedy = "set another [index.qdrant] collection, or take it over with `sources migrate --to sqlite`"
        raise ConfigError(f"{what} ({remedy})")


def differences(label: Label, fingerprint: Fingerprint) -> list[str]:
    """What keeps points of this program and fingerprint out of the collection. Scrubber and schema do not."""
    same = replace(label.fingerprint, scrubber=fingerprint.scrubber, schema=fingerprint.schema)
    versions = (("layout", label.layout, LAYOUT), ("weights", label.weights, WEIGHTS_VERSION))
    found = [f"{name}: {there} -> {wanted}" for name, there, wanted in versions if there != wanted]
    return found + fingerprint.differences(same)


async def make(cluster: Cluster, label: Label, *, chunks: int) -> None:
    """What is not there of both collections, with every index. The label comes with each, so there is none without.

    `chunks` are those that it shall hold at first.
    """
    settings = cluster.settings

    async def records(client: AsyncQdrantClient) -> None:
        if not await client.collection_exists(settings.records):
            await client.create_collection(
                settings.records,
                vectors_config={},
                on_disk_payload=True,
                replication_factor=settings.replicas,
                write_consistency_factor=settings.write_factor,
                metadata=label.metadata,
            )

    async def points(client: AsyncQdrantClient) -> None:
        if not await client.collection_exists(settings.collection):
            await client.create_collection(
                settings.collection,
                vectors_config=layout.vectors(label.fingerprint.dimension),
                sparse_vectors_config=layout.sparse_vectors(),
                on_disk_payload=True,
                hnsw_config=layout.HNSW,
                optimizers_config=layout.optimizers(chunks, label.fingerprint.dimension),
                shard_number=settings.shards,
                replication_factor=settings.replicas,
                write_consistency_factor=settings.write_factor,
                metadata=label.metadata,
            )

    await cluster.write(records)
    await cluster.write(points)
    await index_fields(cluster)


async def index_fields(cluster: Cluster) -> None:
    """Make the payload indexes that are not there: a filter without one reads every payload."""
    name = cluster.settings.collection
    there = (await cluster.read(lambda client: client.get_collection(name))).payload_schema
    for field, schema in layout.INDEXES.items():
        if field not in there:
            await cluster.write(
                lambda client, field=field, schema=schema: client.create_payload_index(  # type: ignore[misc]
                    name, field, field_schema=schema, wait=True
                )
            )


async def drop(cluster: Cluster) -> None:
    """Both collections. The caller has made sure that they are its own."""
    for name in (cluster.settings.collection, cluster.settings.records):
        await cluster.write(lambda client, name=name: client.delete_collection(name))  # type: ignore[misc]


async def relabel(cluster: Cluster, label: Label) -> None:
    """Replace what the metadata of both collections says. Readers look at that of the chunks, which comes last."""
    for name in (cluster.settings.records, cluster.settings.collection):
        await cluster.write(lambda client, name=name: client.update_collection(name, metadata=label.metadata))  # type: ignore[misc]
