"""A window that edits made very large: several chunks, all its words, and nothing that outlives its message."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.library import Library, Opened
from bot.memory import Quote
from index.engines.sqlite.catalogue import SqliteCatalogue
from index.model import OVERSIZE, EventId, Fingerprint, RoomId
from index.store import reading, rooms, soundness
from index.store.reading import StoredChunk
from index.store.rooms import RoomRecord
from index.store.store import Store, open_store
from ingest.chat.content import MAX_TEXT_BYTES
from ingest.chat.events import extract
from ingest.chat.ledger import Arrival
from ingest.chat.rendering import MAX_CHUNK_BYTES, source_id, window_id
from ingest.chat.rules import Rules, Why
from ingest.chat.storing import Shelf, forget, store_arrivals
from ingest.chat.windows import Bounds
from ingest.writing import Writer
from tests.erase.graveyard import finds, is_sound
from tests.keys import as_written

ROOM = RoomId("!talk:example.org")
SHELF = Shelf(ROOM, "Talk", Rules(created_ms=0, now_ms=10**13), Bounds())
FIRST = EventId("$0")


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        async with store.transaction():
            await rooms.save_room(store.connection, RoomRecord(ROOM, title="Talk", outcome="admitted"))
        yield Writer(store, Fingerprint(1, 1, 1, 1, (), "off", 0, "", ""), as_written)


def said(number: int, text: str, *, edits: int | None = None) -> Arrival:
    content: dict[str, Any] = {"msgtype": "m.text", "body": text}
    if edits is not None:
        content["m.new_content"] = {"msgtype": "m.text", "body": text}
        content["m.relates_to"] = {"rel_type": "m.replace", "event_id": f"${edits}"}
    raw = {
        "event_id": f"${number}", "room_id": ROOM, "sender": "@a:example.org", "type": "m.room.message",
        "origin_server_ts": 1_000_000 + number, "content": content,
    }  # fmt: skip
    return Arrival(number, extract(raw, room=ROOM, version="11", scrub=str))


async def hear(writer: Writer, *arrivals: Arrival) -> None:
    async with writer.batch(source_id(ROOM), label="Talk", is_public=True) as batch:
        await store_arrivals(batch, SHELF, arrivals)


async def chunks(store: Store) -> list[StoredChunk]:
    return await reading.document_chunks(store.connection, window_id(ROOM, FIRST))


def long(word: str, size_bytes: int) -> str:
    return f"{word} " + "aa " * ((size_bytes - len(word)) // 3 - 1) + "end"


async def test_edits_that_blow_a_window_up_give_it_more_chunks_and_not_a_larger_one(writer: Writer) -> None:
    store = writer.store
    await hear(writer, *(said(number, "x") for number in range(20)))
    assert [one.chunk.flags for one in await chunks(store)] == [()]
    await hear(writer, *(said(100 + n, long(f"word{n}", MAX_TEXT_BYTES - 100), edits=n) for n in range(20)))
    held = await chunks(store)
    assert len(held) == 20
    assert max(len(one.chunk.text.encode()) for one in held) <= MAX_CHUNK_BYTES
    assert all(one.chunk.flags == (OVERSIZE,) for one in held)
    assert [message.event for one in held for message in one.chunk.messages] == [f"${n}" for n in range(20)]
    assert all([await finds(store, f"word{n}") for n in range(20)])
    assert await is_sound(store) and await soundness.faults(store.connection) == []

    async with writer.batch(source_id(ROOM), label="Talk", is_public=True) as batch:
        await forget(batch, SHELF, [EventId("$3"), EventId("$7")], Why.PURGED)
    assert [message.event for one in await chunks(store) for message in one.chunk.messages] == [
        f"${n}" for n in range(20) if n not in (3, 7)
    ]
    assert not await finds(store, "word3") and not await finds(store, "word7") and await finds(store, "word4")

    await hear(writer, *(said(200 + n, f"small{n}", edits=n) for n in range(20) if n not in (3, 7)))
    assert [one.chunk.flags for one in await chunks(store)] == [()]
    assert await is_sound(store) and await soundness.faults(store.connection) == []


async def test_a_message_that_an_edit_before_it_pushed_into_another_chunk_is_not_missing(
    writer: Writer, tmp_path: Path
) -> None:
    """The bot would withdraw an answer that quotes it."""
    store = writer.store
    await hear(writer, said(0, "first"), said(1, "quoted"))
    quote = Quote(source_id(ROOM), (await chunks(store))[0].chunk.id, EventId("$1"))

    @asynccontextmanager
    async def opened() -> AsyncIterator[Opened]:
        unused: Any = None
        async with open_store(tmp_path / "index.sqlite", is_writer=False) as reader:
            yield Opened(SqliteCatalogue(reader, tmp_path / "index.sqlite"), unused, unused)

    library = Library(opened)
    try:
        assert await library.missing([quote]) == frozenset()
        await hear(writer, said(2, long("large", 59_000), edits=0), said(3, long("quoted", 59_000), edits=1))
        assert len(await chunks(store)) == 2
        assert await library.missing([quote]) == frozenset()
        async with writer.batch(source_id(ROOM), label="Talk", is_public=True) as batch:
            await forget(batch, SHELF, [EventId("$1")], Why.PURGED)
        assert await library.missing([quote]) == {quote}
    finally:
        await library.close()
