"""An order to forget reaches the cluster at once, and the file whatever the cluster says."""

import json
from typing import Any

from index.model import EventId
from index.store import rooms
from index.store.purges import PurgeRecord
from index.store.rooms import RoomRecord
from ingest.chat.events import extract
from ingest.chat.ledger import Arrival
from ingest.chat.rendering import source_id
from ingest.chat.rules import Rules
from ingest.chat.storing import Shelf, store_arrivals
from ingest.chat.windows import Bounds
from ingest.writing import Writer
from sources.config.load import parse
from sources.config.model import Config
from sources.copying import open_copy
from sources.purging import Purge, give
from tests.contract.conftest import KEYS
from tests.qdrant.conftest import Place
from tests.qdrant.server import Fault
from tests.qdrant.test_qdrant_readers import ROOM


def with_chat(place: Place) -> Config:
    text = place.text() + '[chat]\nhomeserver = "http://127.0.0.1:1"\nuser = "@reader:example.org"\n'
    return parse(text, name="sources.toml", base=place.root)


def said(number: int, text: str) -> Arrival:
    raw: dict[str, Any] = {
        "event_id": f"${number}", "room_id": ROOM, "sender": "@alice:example.org", "type": "m.room.message",
        "origin_server_ts": number * 1_000, "content": {"msgtype": "m.text", "body": text},
    }  # fmt: skip
    return Arrival(number, extract(raw, room=ROOM, version="11", scrub=str))


async def talk(place: Place, *texts: str) -> None:
    """In a room, as a refresh would have read it, and told to the cluster."""
    await place.refresh()
    async with place.store() as store:
        made_with = await store.fingerprint()
        assert made_with is not None
        writer = Writer(store, made_with, KEYS.document_keys)
        shelf = Shelf(ROOM, "Talk", Rules(created_ms=0, now_ms=10**13), Bounds())
        async with writer.batch(source_id(ROOM), label="Talk", is_public=True) as batch:
            await rooms.save_room(store.connection, RoomRecord(ROOM, title="Talk", outcome="admitted"))
            await store_arrivals(batch, shelf, [said(number, text) for number, text in enumerate(texts, start=1)])
        async with open_copy(place.config(), place.credentials) as copy:
            assert copy is not None
            assert (await copy.deliver(store)).fault is None


async def forget(place: Place, number: int) -> Purge:
    order = PurgeRecord(ROOM, EventId(f"${number}"), None, None, None, ordered_ms=1, ordered_by="host")
    return await give(with_chat(place), place.credentials, order)


def told(place: Place) -> str:
    return json.dumps([place.server.points("sources"), place.server.points("sources-records")])


async def test_an_order_to_forget_reaches_the_cluster_with_the_command(place: Place) -> None:
    await talk(place, "zanzibar regret", "standing answer")
    assert "zanzibar" in told(place)
    done = await forget(place, 1)
    assert (done.is_applied, done.is_erased, done.copy_fault, done.record.removed) == (True, True, "", 1)
    assert "zanzibar" not in told(place)
    assert "standing answer" in told(place)


async def test_whatever_the_cluster_says_the_file_forgets_and_the_next_refresh_tells(place: Place) -> None:
    await talk(place, "zanzibar regret", "standing answer")
    label = place.server.client.get_collection("sources").config.metadata or {}
    place.server.client.update_collection("sources", metadata=label | {"writer": "another"})
    done = await forget(place, 1)
    assert (done.is_applied, done.is_erased) == (True, False)
    assert "belongs to another writer" in done.copy_fault
    assert b"zanzibar" not in b"".join(file.read_bytes() for file in (place.root / "state").iterdir() if file.is_file())
    place.server.client.update_collection("sources", metadata=label)
    place.server.faults = [("PUT /collections/sources/points", Fault.DEAF)]
    done = await forget(place, 2)
    assert (done.is_erased, done.copy_fault) == (True, "")
    assert "zanzibar" not in told(place)
    assert "standing answer" not in told(place)


async def test_an_order_before_the_first_refresh_is_kept_and_asks_nothing_of_the_cluster(place: Place) -> None:
    done = await forget(place, 1)
    assert (done.is_applied, done.is_erased, done.copy_fault) == (True, True, "")
    assert place.server.requests == []
