"""What readers need to know beside the chunks: sources, rooms and a few facts, in a small collection of its own.

The record of a room says who may see it and what was decided about it. The tokens at which its reading goes on are of
use to the writer alone, and stay with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from json import dumps, loads
from typing import Any, Final

from msgspec import structs
from qdrant_client import models

from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.engine import consistency_of
from index.engines.qdrant.layout import BATCH
from index.errors import EngineError
from index.model import Corpus, RoomId, SourceId
from index.store import reading, rooms
from index.store.rooms import RoomRecord
from index.store.store import Source, Store
from index.store.vectors import DRIFTED

SOURCE: Final = "source "
ROOM: Final = "room "
FACT: Final = "fact "
FACTS: Final = (DRIFTED,)
"""Entries of `meta` that readers ask for."""
_WRITERS_OWN: Final = frozenset({"position", "since", "fresh_token", "left_token", "phase", "last_order", "last_event"})


_NEWS: Final = ("tried_ms", "succeeded_ms", "fault", "first_ms", "documents")
"""What a record says of the last refresh, and not of who may see what under which name."""


@dataclass(frozen=True, slots=True)
class PublishedSource:
    """`first_ms` is the time of the oldest thing that is indexed of it; None: nothing is."""

    source: Source
    first_ms: int | None
    documents: int


async def gather(store: Store, facts: Mapping[str, str]) -> dict[str, str]:
    """All records as they should be, by name. `facts` come on top of those that the index has."""
    documents = await reading.document_counts(store.connection)
    said: dict[str, Any] = {}
    for source in await store.sources():
        first_ms = await reading.first_ms(store.connection, source.key)
        shown = {
            **structs.asdict(source),
            "position": None,
            "first_ms": first_ms,
            "documents": documents.get(source.key, 0),
        }
        said[f"{SOURCE}{source.id}"] = shown
    for room in await rooms.rooms(store.connection):
        said[f"{ROOM}{room.id}"] = {n: v for n, v in asdict(room).items() if n not in _WRITERS_OWN}
    for name in FACTS:
        said[f"{FACT}{name}"] = await store.value(name)
    for name, value in facts.items():
        said[f"{FACT}{name}"] = value
    return {name: _dumped(record) for name, record in said.items()}


async def write(cluster: Cluster, changed: Mapping[str, str], gone: Sequence[str]) -> None:
    """Acknowledged when it returns."""
    collection = cluster.settings.records
    names = sorted(changed)
    for first in range(0, len(names), BATCH):
        points = [
            models.PointStruct(id=_id(name), vector={}, payload={"name": name, "record": changed[name]})
            for name in names[first : first + BATCH]
        ]
        await cluster.write(lambda client, points=points: client.upsert(collection, points, wait=True))  # type: ignore[misc]
    for first in range(0, len(gone), BATCH):
        ids: list[models.ExtendedPointId] = [_id(name) for name in gone[first : first + BATCH]]
        selector = models.PointIdsList(points=ids)
        await cluster.write(lambda client, selector=selector: client.delete(collection, selector, wait=True))  # type: ignore[misc]


async def read_all(cluster: Cluster) -> dict[str, str]:
    """Every record by name."""
    found: dict[str, str] = {}
    place: models.ExtendedPointId | None = None
    while True:
        points, place = await cluster.read(
            lambda client, place=place: client.scroll(  # type: ignore[misc]
                cluster.settings.records,
                limit=1_000,
                offset=place,
                with_payload=True,
                consistency=consistency_of(cluster),
            )
        )
        found.update((str(one.payload["name"]), str(one.payload["record"])) for one in points)
        if place is None:
            return found


async def read_one(cluster: Cluster, name: str) -> str | None:
    points = await cluster.read(
        lambda client: client.retrieve(
            cluster.settings.records, [_id(name)], with_payload=True, consistency=consistency_of(cluster)
        )
    )
    return str((points[0].payload or {})["record"]) if points else None


def source_of(record: str) -> PublishedSource:
    said = _loaded(record)
    own = {name: said[name] for name in Source.__struct_fields__}
    own |= {"id": SourceId(own["id"]), "corpus": Corpus(own["corpus"])}
    return PublishedSource(Source(**own), said["first_ms"], said["documents"])


def room_of(record: str) -> RoomRecord:
    known = {one.name for one in fields(RoomRecord)}
    said = {name: value for name, value in _loaded(record).items() if name in known}
    return RoomRecord(**{**said, "id": RoomId(said["id"])})


def lasting(record: str) -> dict[str, Any]:
    """What the record of a source says of it until somebody changes that."""
    return {name: value for name, value in _loaded(record).items() if name not in _NEWS}


def kept_closed(record: str, before: str) -> str:
    """The record of a source, open to nobody to whom it was closed before."""
    said, was = _loaded(record), source_of(before).source
    said |= {"is_public": said["is_public"] and was.is_public, "is_hidden": said["is_hidden"] or was.is_hidden}
    return _dumped(said)


def fact_of(record: str | None) -> str | None:
    value = None if record is None else loads(record)
    return None if value is None else str(value)


def _dumped(record: Any) -> str:
    return dumps(record, ensure_ascii=False, sort_keys=True)


def _loaded(record: str) -> dict[str, Any]:
    found = loads(record)
    if not isinstance(found, dict):
        raise EngineError("the records in the cluster cannot be read (run `sources refresh` on the writer)")
    return found


def _id(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1
