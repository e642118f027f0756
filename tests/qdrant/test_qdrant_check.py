"""`sources check` tries the cluster."""

from sources.checks.base import Verdict
from sources.checks.cluster import probe
from tests.qdrant.conftest import Place


async def test_the_check_says_whether_the_cluster_is_there_ours_and_whole(place: Place) -> None:
    config, credentials = place.config(), place.credentials
    [row] = await probe(config, credentials)
    assert (row.verdict, row.detail) == (Verdict.WARN, "1.20.0, without a collection sources")
    await place.refresh()
    [row] = await probe(config, credentials)
    assert (row.verdict, row.detail) == (Verdict.OK, "1.20.0, 2 chunks in sources")
    place.server.client.create_collection("foreign", vectors_config={})
    [row] = await probe(place.config(collection="foreign"), credentials)
    assert (row.verdict, row.remedy) == (Verdict.FAIL, "set another [index.qdrant] collection")
    await place.refresh(place.config(state="second", collection="second"))
    [row] = await probe(place.config(collection="second"), credentials)
    assert (row.verdict, row.detail) == (Verdict.FAIL, "1.20.0, 2 chunks in second, which another writer keeps")
    place.server.url = "http://127.0.0.1:1"
    [row] = await probe(place.config(), credentials)
    assert row.verdict is Verdict.FAIL
    assert "cannot be reached" in row.detail
    assert await probe(place.config().__class__(), credentials) == []


async def test_a_key_over_an_open_wire_is_told_of(place: Place) -> None:
    text = place.text(extra='api_key_credential = "qdrant-api-key"').replace(place.server.url, "http://192.0.2.1")
    from sources.config.load import parse

    rows = await probe(parse(text, name="sources.toml", base=place.root), place.credentials)
    assert "the key goes over http, unencrypted" in [row.detail for row in rows]
