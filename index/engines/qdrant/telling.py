"""Requests that change points. Each says what shall be, so it can be repeated."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from qdrant_client import models

from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.filters import of_sources
from index.engines.qdrant.points import SourceFields
from index.errors import EngineError
from index.model import ChunkId
from index.wording import counted

SETTLING_S: Final = 30.0
_LOOK_S: Final = 0.5


async def send(cluster: Cluster, points: Sequence[models.PointStruct]) -> None:
    await cluster.write(
        lambda client: client.upsert(
            cluster.settings.collection, list(points), wait=True, ordering=models.WriteOrdering.MEDIUM
        )
    )


async def remove(cluster: Cluster, gone: Sequence[ChunkId]) -> None:
    """Delete points and make sure, on every replica, that they are gone."""
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
        raise EngineError(
            f"{cluster.name}: {counted(len(left), 'deleted point is', 'deleted points are')} still there (run it again)"
        )


async def hide(cluster: Cluster, keys: Sequence[int]) -> None:
    """All points of the sources with these keys leave every search."""
    if not keys:
        return
    await cluster.write(
        lambda client: client.set_payload(
            cluster.settings.collection,
            payload={"is_hidden": 1},
            points=models.FilterSelector(filter=of_sources(keys)),
            wait=True,
            ordering=models.WriteOrdering.STRONG,
        )
    )


async def set_source(cluster: Cluster, fields: SourceFields) -> None:
    """In all points of the source with this key."""
    await cluster.write(
        lambda client: client.set_payload(
            cluster.settings.collection,
            payload=fields.payload,
            points=models.FilterSelector(filter=of_sources([fields.key])),
            wait=True,
            ordering=models.WriteOrdering.STRONG,
        )
    )


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
