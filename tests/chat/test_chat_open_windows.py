"""An open window is stored as one that may grow: a new message leaves the large full-text indexes as they are."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from index.model import EventId, Fingerprint, RoomId
from index.store import rooms
from index.store.rooms import RoomRecord
from index.store.store import Store, open_store
from ingest.chat.events import extract
from ingest.chat.ledger import Arrival
from ingest.chat.rendering import source_id
from ingest.chat.rules import Rules, Why
from ingest.chat.storing import Shelf, forget, store_arrivals
from ingest.chat.windows import MINUTE_MS, Bounds
from ingest.writing import Writer
from tests.erase.graveyard import finds, is_sound
from tests.keys import as_written
from tests.store.test_young import large_tiers, young

ROOM = RoomId("!talk:example.org")
SHELF = Shelf(ROOM, "Talk", Rules(created_ms=0, now_ms=10**13), Bounds())


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        async with store.transaction():
            await rooms.save_room(store.connection, RoomRecord(ROOM, title="Talk", outcome="admitted"))
        yield Writer(store, Fingerprint(1, 1, 1, 1, (), "off", 0, "", ""), as_written)


def said(minute: int, text: str, *, root: str = "") -> Arrival:
    content: dict[str, Any] = {"msgtype": "m.text", "body": text}
    if root:
        content["m.relates_to"] = {"rel_type": "m.thread", "event_id": root}
    raw = {
        "event_id": f"${minute}", "room_id": ROOM, "sender": "@alice:example.org", "type": "m.room.message",
        "origin_server_ts": 1_000_000 + minute * MINUTE_MS, "content": content,
    }  # fmt: skip
    return Arrival(minute, extract(raw, room=ROOM, version="11", scrub=str))


async def hear(writer: Writer, arrivals: Sequence[Arrival]) -> None:
    async with writer.batch(source_id(ROOM), label="Talk", is_public=True) as batch:
        await store_arrivals(batch, SHELF, arrivals)


async def settled(store: Store) -> list[str]:
    rows = await store.connection.execute_fetchall(
        "SELECT body FROM chunk WHERE chunk_key NOT IN (SELECT chunk_key FROM young) ORDER BY chunk_key"
    )
    return [str(row[0]) for row in rows]


async def test_what_is_closed_when_it_is_first_written_settles_and_what_is_open_waits_for_more(writer: Writer) -> None:
    store = writer.store
    await hear(writer, [said(0, "first talk"), said(200, "second talk"), said(201, "aside", root="$200")])
    assert await settled(store) == ["alice: first talk"]
    assert await young(store) == ["alice: second talk", "alice: aside"]
    before = await large_tiers(store)
    await hear(writer, [said(202, "goes on")])
    await hear(writer, [said(203, "and on")])
    assert await large_tiers(store) == before
    assert "alice: second talk\nalice: goes on\nalice: and on" in await young(store)
    assert await is_sound(store)


def kept(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


async def test_a_message_is_gone_from_an_open_window_and_from_one_that_was_closed_meanwhile(
    writer: Writer, tmp_path: Path
) -> None:
    store = writer.store
    await hear(writer, [said(0, "stays"), said(1, "zanzibar")])
    await hear(writer, [said(500, "quixotry"), said(501, "remains")])
    await store.wipe()
    assert b"zanzibar" in kept(tmp_path) and b"quixotry" in kept(tmp_path)
    async with writer.batch(source_id(ROOM), label="Talk", is_public=True) as batch:
        await forget(batch, SHELF, [EventId("$1"), EventId("$500")], Why.PURGED)
    assert (await store.wipe()).is_done
    left = kept(tmp_path)
    assert not any(fragment in left for fragment in (b"zanziba", b"nzibar", b"quixot", b"xotry"))
    assert await settled(store) == ["alice: stays"]
    assert await young(store) == ["alice: remains"]
    assert await is_sound(store)
    assert await finds(store, "stays") and await finds(store, "remains") and not await finds(store, "zanzibar")
