"""What the writer tells a cluster, over real HTTP, and what it leaves alone."""

import asyncio
import json
from pathlib import Path

import pytest

from index.engines.qdrant import records
from index.engines.qdrant.cluster import open_cluster
from index.engines.qdrant.delivery import deliver
from index.engines.qdrant.engine import QdrantEngine
from index.engines.qdrant.label import read_label
from index.engines.qdrant.layout import INDEXES
from index.engines.qdrant.settings import QdrantSettings
from index.errors import ConfigError, CredentialError, EngineError
from index.model import EVERYTHING, Filters, Query, Vector
from index.store import documents
from index.store.store import open_store
from index.text.searchable import searchable
from sources.cli.exits import Exit, exit_of
from tests.contract.conftest import KEYS, fingerprint
from tests.contract.test_engine import DOCS, page
from tests.qdrant.conftest import Place
from tests.qdrant.server import Fault, serving, to_put


async def test_the_collection_is_made_frugal_labelled_and_with_an_index_for_every_filter(place: Place) -> None:
    await place.refresh(place.config(extra="shards = 3\nreplicas = 3"))
    [made] = [one.body for one in place.server.requests if (one.method, one.path) == ("PUT", "/collections/sources")]
    assert made["vectors"]["dense"]["on_disk"] is True
    assert made["vectors"]["dense"]["datatype"] == "uint8"
    assert made["hnsw_config"] == {"m": 8, "ef_construct": 64, "on_disk": True}
    assert made["on_disk_payload"] is True
    assert made["sparse_vectors"]["words"] == {"index": {"on_disk": True}, "modifier": "idf"}
    assert (made["shard_number"], made["replication_factor"], made["write_consistency_factor"]) == (3, 3, 2)
    assert made["optimizers_config"] == {
        "default_segment_number": 8, "max_segment_size": 5_000, "indexing_threshold": 2_500,
        "deleted_threshold": 0.001, "vacuum_min_vector_number": 100,
    }  # fmt: skip
    assert made["metadata"]["program"] == "sources"
    assert made["metadata"]["fingerprint"]["embedder"] == "hashing-16"
    assert {one.body["field_name"] for one in place.server.asked("/sources/index")} == set(INDEXES)


async def test_nothing_new_sends_nothing(place: Place) -> None:
    await place.refresh()
    place.server.requests.clear()
    report = await place.refresh()
    assert report.copy is not None
    assert (report.copy.sent, report.copy.waiting) == (0, 0)
    chunks = [one for one in place.server.asked("/collections/sources/points") if one.method in ("PUT", "POST")]
    assert chunks == []


async def test_what_changed_is_what_a_fresh_copy_holds_and_what_is_gone_is_in_no_byte(place: Place) -> None:
    place.write("secret.md", "# Plan\n\nThe word is zanzibar.\n")
    await place.refresh()
    assert "zanzibar" in json.dumps(place.server.points("sources"))
    (place.notes / "secret.md").unlink()
    place.write("mail.md", "# Mail\n\nThe relay never restarts.\n")
    place.write("new.md", "# New\n\nA page that was not there.\n")
    await place.refresh()
    told = place.server.points("sources")
    assert told == await place.fresh_points()
    assert "zanzibar" not in json.dumps([told, place.server.points("sources-records")])


async def test_a_cluster_that_is_away_costs_the_copy_and_not_the_refresh(place: Place) -> None:
    await place.refresh()
    with serving() as gone:
        pass
    place.write("new.md", "# New\n\nA page that was not there.\n")
    there, place.server.url = place.server.url, gone.url
    report = await place.refresh()
    assert report.failed == ()
    assert report.copy is not None
    assert report.copy.waiting == 1
    assert "cannot be reached" in str(report.copy.fault)
    place.server.url = there
    report = await place.refresh()
    assert report.copy is not None
    assert (report.copy.sent, report.copy.waiting, report.copy.fault) == (1, 0, None)
    assert place.server.points("sources") == await place.fresh_points()


@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.BROKEN, Fault.CUT, Fault.DEAF])
async def test_a_change_is_repeated_when_the_cluster_fails_once(place: Place, fault: Fault) -> None:
    place.server.faults = [("PUT /collections/sources/points", fault), ("PATCH", fault)]
    report = await place.refresh()
    assert report.copy is not None
    assert report.copy.fault is None
    assert place.server.faults == []
    assert place.server.points("sources") == await place.fresh_points()


async def test_an_unlabelled_collection_ends_the_run_as_a_fault_of_the_configuration(place: Place) -> None:
    place.server.client.create_collection("sources", vectors_config={})
    with pytest.raises(ConfigError, match="sources is not labelled by sources and is left alone") as told:
        await place.refresh()
    assert exit_of(told.value) is Exit.USAGE
    assert "\n" not in str(told.value)
    assert {one.method for one in place.server.requests} == {"GET"}


async def test_another_writers_collection_is_left_alone(place: Place) -> None:
    await place.refresh()
    before = place.server.points("sources")
    with pytest.raises(ConfigError, match="belongs to another writer"):
        await place.refresh(place.config(state="second"))
    assert place.server.points("sources") == before


async def test_a_key_is_sent_and_its_refusal_is_a_refused_credential(place: Place) -> None:
    key = "k" + str(id(place))
    file = place.root / "credentials" / "qdrant-api-key"
    file.write_text(key)
    file.chmod(0o600)
    config = place.config(extra='api_key_credential = "qdrant-api-key"')
    place.server.api_key = key
    assert (await place.refresh(config)).copy is not None
    place.server.api_key = key[::-1]
    with pytest.raises(CredentialError, match="the key was refused"):
        await place.refresh(config)


async def test_a_server_that_is_too_old_is_refused(place: Place) -> None:
    place.server.version = "1.18.3"
    with pytest.raises(ConfigError, match=r"is version 1\.18\.3; 1\.20 or newer is needed"):
        await place.refresh()


async def test_another_model_makes_the_collection_anew_and_not_before_it_is_asked_for(place: Place) -> None:
    await place.refresh()
    with pytest.raises(Exception, match="reindex needed"):
        await place.refresh(place.config(dimension=24))
    report = await place.refresh(place.config(dimension=24), is_full=True)
    assert report.copy is not None
    assert report.copy.fault is None
    [row] = {len(rows[0]) for one in place.server.points("sources").values() if (rows := one["vector"]["dense"])}
    assert row == 24


async def test_a_collection_brought_back_from_a_backup_is_told_everything_again(place: Place) -> None:
    await place.refresh()
    async with place.store() as store, store.transaction():
        await store.set_value("copy.revision", "77")  # the file went on after the backup was made
    place.server.client.delete("sources", [min(place.server.points("sources"))])
    await place.refresh()
    assert place.server.points("sources") == await place.fresh_points()


async def test_a_backup_of_the_collection_brings_nothing_back_that_was_withdrawn(place: Place) -> None:
    place.write("secret.md", "# Plan\n\nThe word is zanzibar.\n")
    await place.refresh()
    points, _ = place.server.client.scroll("sources", limit=1_000, with_payload=True, with_vectors=True)
    label = place.server.client.get_collection("sources").config.metadata
    (place.notes / "secret.md").unlink()
    await place.refresh()
    place.server.client.upsert("sources", [to_put(one) for one in points])
    place.server.client.update_collection("sources", metadata=label)
    async with open_cluster(QdrantSettings(place.server.url)) as cluster:
        now = await records.read_all(cluster)
        old = json.loads(now["source notes:wiki"]) | {"id": "notes:old", "key": 99}
        await records.write(cluster, {"source notes:old": json.dumps(old)}, ())
        assert "zanzibar" in json.dumps(place.server.points("sources"))
        await place.refresh()
        assert (await records.read_all(cluster)).keys() == now.keys()
    assert "zanzibar" not in json.dumps(place.server.points("sources"))
    assert place.server.points("sources") == await place.fresh_points()


@pytest.mark.parametrize("then", ["hide", "forget"])
async def test_what_changes_after_a_delivery_that_lost_its_last_word_is_told(tmp_path: Path, then: str) -> None:
    one = page("1", "text", "word", source=DOCS)
    with serving() as server:
        async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
            async with store.transaction():
                await store.save_fingerprint(fingerprint(0))
                key = await store.register(DOCS, label="docs", is_public=True)
                await documents.put(store.connection, key, one, searchable(one, KEYS.document_keys), salt="s")
            server.faults = [("PATCH", Fault.DEAF)]
            async with open_cluster(QdrantSettings(server.url, write_tries=1)) as cluster:
                with pytest.raises(EngineError):
                    await deliver(store, cluster)
                async with store.transaction():
                    if then == "hide":
                        await store.hide(DOCS, is_hidden=True)
                    else:
                        await documents.remove(store.connection, [one.id])
                        await store.forget(DOCS)
                await deliver(store, cluster)
        points, said = server.points("sources"), server.points("sources-records")
    if then == "hide":
        assert {point["payload"]["is_hidden"] for point in points.values()} == {1}
    else:
        assert points == {}
        assert not any("docs" in json.dumps(record) for record in said.values())


async def test_killed_between_upsert_and_cursor_it_ends_with_the_same_collection(place: Place) -> None:
    place.server.faults = [("PUT /collections/sources/points", Fault.HELD)]
    process = await asyncio.create_subprocess_exec(
        *place.command("refresh"), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    assert await asyncio.to_thread(place.server.held.wait, 60)  # the cluster has it, the writer does not know
    process.kill()
    await process.wait()
    place.server.release.set()
    place.write("mail.md", "# Mail\n\nWhat stood here was withdrawn.\n")
    report = await place.refresh()
    assert report.failed == ()
    assert report.copy is not None
    assert report.copy.fault is None
    told = place.server.points("sources")
    assert "Sunday" not in json.dumps(told)
    assert told == await place.fresh_points()


async def test_a_vector_of_another_length_is_refused_in_words(place: Place) -> None:
    await place.refresh()
    async with open_cluster(QdrantSettings(place.server.url)) as cluster:
        engine = QdrantEngine(cluster, KEYS, await read_label(cluster))
        async with engine.view(EVERYTHING, Filters()) as view:
            with pytest.raises(EngineError, match="holds vectors of 16 numbers, not of 2"):
                await view.nearest(Vector(b"\0\0\x80\x3f\0\0\0\0"), Query("", ()), limit=1)
