"""An index goes into a cluster and back without a single text embedded again."""

import json
from random import Random

import pytest

from index.engines.qdrant.cluster import open_cluster
from index.engines.qdrant.comparison import compare
from index.engines.qdrant.delivery import deliver
from index.engines.qdrant.settings import QdrantSettings
from index.errors import ConfigError, EngineError, StoreError
from index.model import SourceId
from index.store import vectors
from sources.config.load import parse
from sources.migrating import to_qdrant, to_sqlite
from tests.qdrant.conftest import Place
from tests.qdrant.server import Fault, Request, to_put

WIKI = SourceId("notes:wiki")
ROWS = {
    "documents": "SELECT id, kind, title, path, room, revision, first_ms, last_ms, has_link, payload FROM document"
    " ORDER BY id",
    "chunks": "SELECT chunk.id, ordinal, size, title, body, keys, heading, section, paragraph, first_line, last_line,"
    " flags, messages, digest FROM chunk ORDER BY chunk.id",
    "labels": "SELECT name, value FROM document_label ORDER BY name, value",
    "parts": "SELECT chunk.id, part.ordinal, first, past, part.digest, data, refusal FROM part JOIN chunk USING"
    " (chunk_key) LEFT JOIN vector USING (chunk_key, part_key) ORDER BY chunk.id, part.ordinal",
    "sources": "SELECT source_key, id, corpus, label, is_public, is_hidden, chunks, words FROM source ORDER BY id",
}


async def rows(place: Place, state: str) -> dict[str, list[tuple[object, ...]]]:
    async with place.store(state) as store:
        return {
            name: [tuple(row) for row in await store.connection.execute_fetchall(statement)]
            for name, statement in ROWS.items()
        }


def quiet(done: int, total: int) -> None:
    pass


async def test_there_and_back_again_gives_the_same_rows_and_vectors_and_embeds_nothing(place: Place) -> None:
    place.write(
        "tagged.md", "---\ntags: [ops, disk]\narea: infra\n---\n# Tagged\n\n## Part\n\nSee https://example.org.\n"
    )
    for number in range(60):
        place.write(f"{number}.md", f"# Page {number}\n\nWords of page {number}.\n\n## More\n\nMore of it.\n")
    await place.refresh(place.config())
    before = await rows(place, "state")
    done = await to_sqlite(place.config(state="back"), place.credentials, Random(), quiet)
    assert done.is_equal
    assert (done.chunks, done.points, done.sampled) == (len(before["chunks"]), len(before["chunks"]), 50)
    assert await rows(place, "back") == before
    assert before["parts"]
    # The new file is the writer from now on, and reads nothing twice: what it holds is what its sources say.
    report = await place.refresh(place.config(state="back"))
    assert (report.vectors.embedded, report.sources[0].chunks_changed, report.sources[0].chunks_added) == (0, 0, 0)
    assert report.copy is not None
    assert report.copy.fault is None
    with pytest.raises(ConfigError, match="belongs to another writer"):
        await place.refresh(place.config())


async def test_a_copy_into_a_cluster_goes_on_where_it_was_stopped_and_is_compared(place: Place) -> None:
    for number in range(258):
        place.write(f"{number}.md", f"# Page {number}\n\nWords of page {number}.\n")
    sqlite = place.text().replace('engine = "qdrant"', 'engine = "sqlite"')
    await place.refresh(parse(sqlite, name="sources.toml", base=place.root))
    assert place.server.requests == []
    place.server.faults = [("PUT /collections/sources/points", Fault.SLOW)]
    place.server.faults += [("PUT /collections/sources/points", Fault.BROKEN)] * 5
    place.server.slow_s = 0.0
    with pytest.raises(EngineError, match="answered 500"):
        await to_qdrant(place.config(), place.credentials, Random(), quiet)
    place.server.faults.clear()
    done = await to_qdrant(place.config(), place.credentials, Random(), quiet)
    assert done.is_equal
    assert (done.moved, done.points) == (10, 260)
    again = await to_qdrant(place.config(), place.credentials, Random(), quiet)
    assert (again.is_equal, again.moved) == (True, 0)


async def test_a_point_that_is_missing_extra_or_other_is_found_and_mended(place: Place) -> None:
    for number in range(20):
        place.write(f"{number}.md", f"# Page {number}\n\nWords of page {number}.\n")
    await place.refresh()
    first, second, third, fourth, *_ = sorted(place.server.points("sources"))
    client = place.server.client
    client.delete("sources", [first])
    client.set_payload("sources", {"digest": "00"}, [second])
    client.set_payload("sources", {"title": "another"}, [third])
    client.set_payload("sources", {"is_hidden": 1}, [fourth])
    stranger, _ = client.scroll("sources", limit=1, with_payload=True, with_vectors=True)
    [found] = stranger
    client.upsert("sources", [to_put(found, 9)])
    async with place.store() as store, open_cluster(QdrantSettings(place.server.url)) as cluster:
        seen = await compare(store, cluster, Random())
        unsampled = await compare(store, cluster, Random(), sample=0)
    assert (seen.missing, seen.extra) == ((first,), (9,))
    assert set(seen.unlike) == {second, third, fourth}
    assert set(unsampled.unlike) == {second, fourth}
    assert (await to_qdrant(place.config(), place.credentials, Random(), quiet)).is_equal


async def test_a_collection_that_is_written_to_while_it_is_read_is_not_taken_over(place: Place) -> None:
    await place.refresh()
    label = place.server.client.get_collection("sources").config.metadata or {}
    answer = place.server.answer

    def written_to(request: Request) -> tuple[int, object]:
        if request.path == "/collections/sources/points":
            begun = label | {"begun": int(label["begun"]) + 1}
            place.server.client.update_collection("sources", metadata=begun)
        return answer(request)

    place.server.answer = written_to  # type: ignore[method-assign]
    with pytest.raises(EngineError, match="was written to while it was read"):
        await to_sqlite(place.config(state="back"), place.credentials, Random(), quiet)
    with pytest.raises(StoreError, match="was begun from a collection that was written to since"):
        await to_sqlite(place.config(state="back"), place.credentials, Random(), quiet)
    assert (place.server.client.get_collection("sources").config.metadata or {})["writer"] == label["writer"]


async def test_a_file_from_a_delivery_that_was_stopped_shows_nothing_that_it_holds_to_be_hidden(place: Place) -> None:
    await place.refresh()
    async with place.store() as store, store.transaction():
        await store.hide(WIKI, is_hidden=True)
    async with place.store() as store, open_cluster(QdrantSettings(place.server.url)) as cluster:
        await deliver(store, cluster)
    place.server.client.set_payload("sources", {"is_hidden": 0}, sorted(place.server.points("sources")))
    await to_sqlite(place.config(state="back"), place.credentials, Random(), quiet)
    async with place.store("back") as store, open_cluster(QdrantSettings(place.server.url)) as cluster:
        await deliver(store, cluster)
    assert {one["payload"]["is_hidden"] for one in place.server.points("sources").values()} == {1}


async def test_a_file_that_holds_an_index_is_not_written_over(place: Place) -> None:
    await place.refresh()
    with pytest.raises(StoreError, match="holds an index already"):
        await to_sqlite(place.config(), place.credentials, Random(), quiet)
    assert json.dumps(place.server.points("sources"))


def test_a_vector_comes_back_as_the_same_bytes() -> None:
    from index.engines.qdrant.points import row, signed
    from index.engines.qdrant.restoring import unquantised

    data = bytes(value & 0xFF for value in range(-127, 128))
    assert signed(row(data)) == data
    assert vectors.quantise(unquantised(data)) == data
