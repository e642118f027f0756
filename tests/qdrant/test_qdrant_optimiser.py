"""What the cluster's optimiser may do behind our back: put points in order, and nothing that an answer shows.

It is run by hand here, in Qdrant's own engine. A server's runs in the background, after a while.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random

from qdrant_client import AsyncQdrantClient

from index.engines.qdrant.cluster import Cluster
from index.engines.qdrant.settings import QdrantSettings
from index.model import EVERYTHING, Audience, Document, Filters, Kind, Query, Ranked, Term
from index.store.store import open_store
from tests.contract.conftest import Bench
from tests.contract.test_engine import ANY, DOCS, OPS, page, unit, words
from tests.qdrant.edge import Edge
from tests.qdrant.server import transport

WORDS = ("disk", "raid", "backup", "borg", "nightly", "server", "restore", "snapshot")
QUERIES = (
    words("disk raid"),
    words("snap"),  # the beginning of a word
    words("ightl"),  # the inside of one
    Query("", (Term("backup"), Term("disk raid", is_phrase=True))),
    Query("", (Term("server"), Term("borg nightly", is_phrase=True, is_excluded=True))),
)
DIMENSION = 16


@asynccontextmanager
async def over(edge: Edge, folder: Path) -> AsyncIterator[Bench]:
    client = AsyncQdrantClient("http://localhost", transport=transport(edge), check_compatibility=False)
    async with open_store(folder / "index.sqlite", is_writer=True) as store:
        yield Bench(store, Cluster(client, QdrantSettings("http://localhost"), "qdrant in this process"))
    await client.close()


async def answers(bench: Bench) -> list[list[Ranked]]:
    found = []
    for audience in (EVERYTHING, Audience(frozenset({DOCS}))):
        for wanted in (Filters(), Filters(kinds=frozenset({Kind.README}))):
            async with bench.view(audience, wanted) as view:
                found += [await view.lexical(query, limit=20) for query in QUERIES]
                found.append(await view.nearest(unit(*range(1, DIMENSION + 1)), ANY, limit=20))
    return found


def pages(random: Random, numbers: Sequence[int]) -> list[Document]:
    return [
        page(f"{n}", " ".join([*random.choices(WORDS, k=random.randint(2, 60)), str(n)]), source=(DOCS, OPS)[n % 2],
             kind=(Kind.DOC, Kind.README)[n % 3 // 2])
        for n in numbers
    ]  # fmt: skip


async def embed(bench: Bench, written: Sequence[Document]) -> None:
    """Every text with a vector of its own, whenever it is asked for."""
    drawn = {one.chunks[0].text: Random(one.chunks[0].text) for one in written}
    await bench.embed({text: unit(*(random.gauss() for _ in range(DIMENSION))) for text, random in drawn.items()})


async def test_no_answer_is_another_after_points_were_put_in_order(tmp_path: Path) -> None:
    random = Random(1)
    first, changed = pages(random, range(240)), pages(random, range(0, 40, 2))
    told = []
    for is_optimised in (True, False):
        folder = tmp_path / str(is_optimised)
        folder.mkdir()
        with closing(Edge(indexing_threshold=1)) as edge:
            async with over(edge, folder) as bench:
                await bench.put(*first)
                await embed(bench, first)
                before = await answers(bench)
                assert not is_optimised or edge.optimize("sources")
                told.append(await answers(bench))
                assert told[-1] == before
                await bench.remove(*first[40:60])
                await bench.put(*changed)
                await embed(bench, changed)
                await bench.put(page("late", "borg nightly snapshot"))
                told.append(await answers(bench))  # of points that were put in order, and of newer ones
                assert not is_optimised or edge.optimize("sources")
                told.append(await answers(bench))
                await bench.hide(OPS)
                told.append(await answers(bench))
    half = len(told) // 2
    assert told[:half] == told[half:]
    assert all(told[0]) and told[-1] != told[-2]


async def test_what_was_removed_leaves_the_segments_with_the_optimiser_and_stays_in_the_log(tmp_path: Path) -> None:
    kept, secret = [page(f"{n}", f"words {n}") for n in range(200)], page("secret", "zanzibar")
    with closing(Edge()) as edge:
        async with over(edge, tmp_path) as bench:
            await bench.put(*kept, secret)
            await answers(bench)
            await bench.remove(secret)
            await answers(bench)
        assert await places(edge, b"zanzibar") >= {"segments", "wal"}
        assert edge.optimize("sources")
        assert await places(edge, b"zanzibar") == {"wal"}


async def places(edge: Edge, text: bytes) -> set[str]:
    """Folders of the shard with a file that holds the text."""
    collection = edge.collections["sources"]
    collection.shard.flush()

    def found() -> set[str]:
        files = [file for file in collection.folder.rglob("*") if file.is_file()]
        return {file.relative_to(collection.folder).parts[0] for file in files if text in file.read_bytes()}

    return await asyncio.to_thread(found)
