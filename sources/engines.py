"""Which engine the configuration asks for, opened for readers or for the writer.

What only a cluster needs is imported when one is configured: the client takes more than a second to load.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from json import JSONDecodeError, dumps, loads
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from index.engines.base import Catalogue, Engine
from index.engines.sqlite.catalogue import SqliteCatalogue
from index.engines.sqlite.engine import SqliteEngine
from index.errors import ConfigError, EngineError
from index.store.store import open_store
from index.text.words import Keys
from sources.config.model import Config, Route
from sources.config.settings import secret_reader
from sources.credentials import Credentials

if TYPE_CHECKING:
    from index.engines.qdrant.cluster import Cluster

ROUTES: Final = "search.routes"
"""The fact under which the writer publishes its `[[search.route]]` rows for readers that have none."""


class OpenEngine(Struct, frozen=True):
    engine: Engine
    catalogue: Catalogue


@asynccontextmanager
async def open_engine(config: Config, credentials: Credentials, keys: Keys) -> AsyncIterator[OpenEngine]:
    """For readers: the index file, or the cluster and nothing else."""
    if config.index.engine == "sqlite":
        async with open_store(config.index_file, is_writer=False) as store:
            yield OpenEngine(SqliteEngine(store, keys), SqliteCatalogue(store, config.index_file))
        return
    async with open_cluster(config, credentials) as cluster:
        from index.engines.qdrant.catalogue import QdrantCatalogue
        from index.engines.qdrant.engine import QdrantEngine

        catalogue = QdrantCatalogue(cluster)
        yield OpenEngine(QdrantEngine(cluster, keys, await catalogue.label()), catalogue)


@asynccontextmanager
async def open_cluster(config: Config, credentials: Credentials) -> "AsyncIterator[Cluster]":
    """The cluster of `[index.qdrant]`, whichever engine is in use. Nothing is made or changed by opening it."""
    table = config.index.qdrant
    if table.url is None:
        raise ConfigError("sources.toml: index.qdrant.url: is missing, so there is no cluster to ask (add it)")
    try:
        from index.engines.qdrant import cluster as clusters
        from index.engines.qdrant.settings import QdrantSettings
    except ImportError as error:
        raise ConfigError(
            f"index.engine: {error.name} is not installed (install the extra qdrant: docs/install.md)"
        ) from error
    settings = QdrantSettings(
        url=table.url,
        collection=table.collection,
        api_key=secret_reader(credentials, table.api_key_credential),
        shards=table.shards,
        replicas=table.replicas,
        write_factor=table.write_factor,
        read_consistency=table.read_consistency,
        query_timeout_s=table.query_timeout_ms / 1000,
        write_timeout_s=table.write_timeout_ms / 1000,
    )
    async with clusters.open_cluster(settings) as opened:
        yield opened


def published_facts(config: Config) -> Mapping[str, str]:
    """What readers on other machines should rank by, beside the index."""
    rows = [
        {
            "name": row.name,
            "phrases": row.phrases,
            "sections": row.sections,
            "kinds": row.kinds,
            "factor": row.factor,
        }
        for row in config.search.route
    ]
    return {ROUTES: dumps(rows, ensure_ascii=False)}


async def published_routes(catalogue: Catalogue) -> tuple[Route, ...]:
    """The writer's rows; none where there is no cluster."""
    said = await catalogue.fact(ROUTES)
    try:
        return tuple(
            Route(
                name=row["name"],
                phrases=tuple(row["phrases"]),
                sections=tuple(row["sections"]),
                kinds=tuple(row["kinds"]),
                factor=float(row["factor"]),
            )
            for row in loads(said or "[]")
        )
    except (JSONDecodeError, KeyError, TypeError, ValueError) as error:
        problem = f"{catalogue.name}: the routes of the writer cannot be read"
        raise EngineError(f"{problem} (use the same version here and there)") from error
