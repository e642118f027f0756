"""The requests of a first delivery and of questions, as a cluster gets them: what `qdrant_engine.py` repeats."""

import argparse
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TextIO
from urllib.parse import unquote

import httpx
import numpy
from msgspec.structs import replace
from qdrant_client import AsyncQdrantClient

from bench.qdrant_engine import COLLECTION, OPTIMIZE, UPSERT, write
from bench.writing import texts_of
from index.embed.hashing import HashingEmbedder
from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.delivery import deliver
from index.engines.qdrant.engine import QdrantEngine
from index.engines.qdrant.label import read_label
from index.engines.qdrant.layout import BATCH, BREATH
from index.engines.qdrant.settings import QdrantSettings
from index.model import EVERYTHING, Filters, Query, Vector
from index.store.store import Store, open_store
from index.text.query import parse
from index.text.words import Keys
from ingest.refresh import Plan, refresh
from sources.app import fingerprint
from sources.config.model import Config
from sources.measuring.corpus import SyntheticWorker
from sources.measuring.neighbours import Neighbours
from sources.measuring.trial import exact_nearest
from tests.qdrant.edge import Edge
from tests.qdrant.server import transport

_SAMPLE = 256


async def record(options: argparse.Namespace, folder: Path) -> list[list[int]]:
    """Write `told` and `asked` into the folder; the ten nearest of each question, by a whole scan."""
    texts, near = texts_of(options.text), neighbours(options.dimension)
    config = Config(state_dir=folder)
    keys = Keys(config.index.languages)
    questions = [texts.question(number, options.chunks) for number in range(options.questions)]
    async with open_store(config.index_file, is_writer=True) as store:
        await write_index(store, near, SyntheticWorker(texts, options.chunks), config, keys)
        with closing(Edge()) as edge:
            with (folder / "told").open("w") as told:
                async with cluster_of(edge, told) as cluster:
                    await deliver(store, cluster)
            with (folder / "asked").open("w") as asked:
                async with cluster_of(edge, asked) as cluster:
                    await ask(cluster, keys, near, questions)
    return [
        [int(chunk) for chunk in row] for row in exact_nearest(near, texts, options.chunks, near.vectors(questions))
    ]


def neighbours(dimension: int) -> Neighbours:
    draw = numpy.random.default_rng(2).standard_normal((_SAMPLE, dimension)).astype("<f4")
    sample = [Vector((row / numpy.linalg.norm(row)).astype("<f4").tobytes()) for row in draw]
    return Neighbours(HashingEmbedder(dimension).identity, sample)


async def write_index(store: Store, near: Neighbours, worker: SyntheticWorker, config: Config, keys: Keys) -> None:
    identity = near.identity
    report = await refresh(
        store,
        Plan([worker], parallel=1),
        fingerprint=replace(fingerprint(config, None), embedder=identity.name, dimension=identity.dimension),
        document_keys=keys.document_keys,
        embedder=near,
    )
    if report.vectors.embedded != worker.size:
        raise SystemExit(f"not all was written: {report}")


@asynccontextmanager
async def cluster_of(edge: Edge, written: TextIO) -> AsyncIterator[Cluster]:
    """A cluster in this process; what it is asked is written, a line each.

    The writer waits for the optimiser after every `BREATH` points and at its end.
    """
    answering = transport(edge)
    points = 0

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal points
        _, _, collection, *rest = request.url.path.split("/")
        verb, body = f"{request.method} {'/'.join(rest)}".strip(), json.loads(request.content or b"{}")
        write(written, verb, unquote(collection), body)
        if verb == UPSERT and collection == COLLECTION:
            points += len(body["points"])
            if points % BREATH < BATCH:
                write(written, OPTIMIZE, collection, {})
        return answering.handle_request(request)

    client = AsyncQdrantClient("http://edge", transport=httpx.MockTransport(answer), check_compatibility=False)
    yield Cluster(client, QdrantSettings("http://edge"), "qdrant in this process")
    await client.close()
    if points:
        write(written, OPTIMIZE, COLLECTION, {})


async def ask(cluster: Cluster, keys: Keys, near: Neighbours, questions: list[str]) -> None:
    engine = QdrantEngine(cluster, keys, await read_label(cluster))
    for question, row in zip(questions, near.vectors(questions), strict=True):
        async with engine.view(EVERYTHING, Filters()) as view:
            await view.nearest(Vector(row.tobytes()), Query("", ()), limit=10)
            await view.lexical(parse(question, now_ms=0), limit=10)
