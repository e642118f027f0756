"""Readers on other machines: no index file, no ledger, the cluster alone."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

import pytest

from bot.library import Library, Opened, open_library
from bot.memory import Quote
from index.errors import ConfigError, EngineError, ReindexNeededError
from index.model import (
    Audience,
    Chunk,
    Corpus,
    Document,
    DocumentId,
    EventId,
    Kind,
    Message,
    RoomId,
    SourceId,
    Span,
    UserId,
    chunk_id,
)
from index.store import documents, rooms
from index.store.rooms import RoomRecord
from index.text.searchable import searchable
from index.text.words import Keys
from sources.app import open_index, open_searcher
from sources.copying import open_copy
from tests.qdrant.conftest import Place
from tests.qdrant.server import Fault, Request

ROOM, CLOSED = RoomId("!talk:example.org"), RoomId("!board:example.org")


def window(room: RoomId, event: str, text: str) -> Document:
    identity = DocumentId(f"chat:{room} {event}")
    said = Message(EventId(event), UserId("@alice:example.org"), 1_000, Span(0, len(text)))
    return Document(
        id=identity, source=SourceId(f"chat:{room}"), corpus=Corpus.CHAT, kind=Kind.WINDOW, title="", revision="1",
        chunks=(Chunk(id=chunk_id(identity, "0"), ordinal=0, text=text, messages=(said,)),), room=room,
        first_ms=1_000, last_ms=1_000,
    )  # fmt: skip


async def say(place: Place, *windows: Document, hidden: tuple[RoomId, ...] = ()) -> None:
    """Write windows of chat beside the notes, and tell the cluster."""
    keys = Keys(("en",))
    async with place.store() as store:
        async with store.transaction():
            for one in windows:
                assert one.room is not None
                key = await store.register(one.source, label="#talk:example.org", is_public=True)
                items = searchable(one, keys.document_keys)
                await documents.put(store.connection, key, one, items, salt="s")
                record = RoomRecord(
                    one.room, title="Talk", join_rule="public", outcome="admitted", position="token-of-sync"
                )
                await rooms.save_room(store.connection, record)
                await store.hide(one.source, is_hidden=one.room in hidden)
        async with open_copy(place.config(), place.credentials) as copy:
            assert copy is not None
            assert (await copy.deliver(store)).fault is None


@asynccontextmanager
async def library(place: Place) -> AsyncIterator[Library]:
    @asynccontextmanager
    async def open_reader() -> AsyncIterator[Opened]:
        async with open_index(place.config(state="nowhere"), place.credentials) as index:
            yield Opened(index.catalogue, index.searcher, index.keys)

    async with open_library(open_reader) as opened:
        yield opened


async def test_a_second_process_without_an_index_file_finds_by_words_and_meaning(place: Place) -> None:
    await place.refresh()
    command = place.command("search", "--json", "borg", "server", config=place.text(state="nowhere"))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert process.returncode == 0
    best = json.loads(out)["hits"][0]
    assert best["path"] == "backup.md"
    assert {origin["ranking"] for origin in best["origins"]} == {"bm25", "vec"}
    assert not (place.root / "nowhere").exists()


async def test_the_rows_of_routing_come_from_the_writer_where_a_reader_has_none(place: Place) -> None:
    row = '[[search.route]]\nname = "relay"\nphrases = ["who restarts"]\nkinds = ["note"]\nfactor = 3.0\n'
    from sources.config.load import parse

    await place.refresh(parse(place.text() + row, name="sources.toml", base=place.root))
    async with open_searcher(place.config(state="nowhere"), place.credentials) as searcher:
        answer = await searcher.search(["who restarts the relay"])
    assert ("relay", 3.0) in answer.hits[0].boosts


async def test_a_bot_sees_rooms_quotes_and_changes_through_the_cluster(place: Place) -> None:
    await place.refresh()
    said = window(ROOM, "$1", "the mail relay is slow")
    await say(place, said)
    async with library(place) as opened:
        assert {source.id for source in await opened.sources()} == {"notes:wiki", f"chat:{ROOM}"}
        entry = await opened.room(ROOM)
        assert (entry.is_indexed, entry.is_hidden, entry.first_ms) == (True, False, 1_000)
        assert entry.record is not None
        assert (entry.record.join_rule, entry.record.outcome, entry.record.position) == ("public", "admitted", None)
        quote = Quote(said.source, said.chunks[0].id, EventId("$1"))
        assert await opened.missing([quote]) == frozenset()
        before = await opened.state()
        assert await opened.state() == before
        async with place.store() as store, store.transaction():
            await documents.remove(store.connection, [said.id])
        await say(place, window(ROOM, "$2", "something else"))
        assert await opened.state() != before
        assert await opened.missing([quote]) == {quote}
    assert "token-of-sync" not in json.dumps(place.server.points("sources-records"))


def change_label(place: Place, **fields: object) -> None:
    label = place.server.client.get_collection("sources").config.metadata or {}
    place.server.client.update_collection("sources", metadata=label | fields)


async def test_a_collection_that_is_being_filled_answers_nobody_and_withdraws_nothing(place: Place) -> None:
    await place.refresh()
    said = window(ROOM, "$1", "the mail relay is slow")
    await say(place, said)
    quote = Quote(said.source, said.chunks[0].id, EventId("$1"))
    async with library(place) as opened:
        assert await opened.missing([quote]) == frozenset()
        change_label(place, is_filling=True)
        place.server.client.delete("sources", list(place.server.points("sources")))
        with pytest.raises(EngineError, match="is being filled and not whole yet"):
            await opened.missing([quote])
        with pytest.raises(EngineError, match="is being filled and not whole yet"):
            await opened.search("relay", Audience(), limit=10, skip=0, now_ms=2_000)


async def test_a_collection_made_anew_amid_a_question_gives_no_answer(place: Place) -> None:
    await place.refresh()
    async with open_searcher(place.config(state="nowhere"), place.credentials) as searcher:
        answer = place.server.answer

        def made_anew(request: Request) -> tuple[int, object]:
            if request.path == "/collections/sources/points":
                change_label(place, made="anew")
            return answer(request)

        place.server.answer = made_anew  # type: ignore[method-assign]
        with pytest.raises(EngineError, match="made anew"):
            await searcher.search(["borg"])


async def test_what_an_audience_may_not_see_never_leaves_the_cluster(place: Place) -> None:
    await place.refresh()
    await say(place, window(ROOM, "$1", "relay open"), window(CLOSED, "$2", "relay closed"), hidden=(CLOSED,))
    audience = Audience(frozenset({SourceId(f"chat:{ROOM}")}))
    place.server.requests.clear()
    async with library(place) as opened:
        answer, _ = await opened.search("relay", audience, limit=10, skip=0, now_ms=2_000)
        everything, _ = await opened.search("relay", Audience(), limit=10, skip=0, now_ms=2_000)
    assert [hit.snippet.text for hit in answer.hits] == ["relay open"]
    assert "relay closed" not in [hit.snippet.text for hit in everything.hits]
    asked = [one for one in place.server.requests if one.path.endswith(("/query", "/count", "/scroll", "/facet"))]
    ranking = [one.body["filter"] for one in asked if "sources-records" not in one.path]
    assert ranking
    assert all({"key": "is_hidden", "match": {"value": 1}} in found["must_not"] for found in map(_bare, ranking))


def _bare(found: dict[str, object]) -> dict[str, list[object]]:
    """A filter without the fields that say nothing."""
    bare: dict[str, list[object]] = json.loads(
        json.dumps(found), object_hook=lambda one: {name: value for name, value in one.items() if value is not None}
    )
    return bare


async def test_one_cut_answer_is_asked_for_again_and_silence_ends_in_time(place: Place) -> None:
    await place.refresh()
    async with open_searcher(place.config(state="nowhere"), place.credentials) as searcher:
        place.server.faults = [("points/query", Fault.CUT), ("facet", Fault.BROKEN), ("count", Fault.BUSY)]
        assert (await searcher.search(["borg"])).hits
        place.server.faults = [("points/query", Fault.SLOW)]
        with pytest.raises(EngineError, match="no answer within 2 s"):
            await searcher.search(["borg"])
        place.server.faults = [("points/query", Fault.NONSENSE)] * 2
        with pytest.raises(EngineError, match="the answer is not Qdrant's"):
            await searcher.search(["borg"])


async def test_a_reader_refuses_a_collection_of_somebody_else_and_other_languages(place: Place) -> None:
    with pytest.raises(EngineError, match="there is no such collection"):
        async with open_searcher(place.config(), place.credentials):
            pass
    await place.refresh()
    text = place.text(state="nowhere").replace('languages = ["en"]', 'languages = ["cs"]')
    from sources.config.load import parse

    with pytest.raises(ReindexNeededError):
        async with open_searcher(parse(text, name="sources.toml", base=place.root), place.credentials):
            pass
    place.server.client.create_collection("foreign", vectors_config={})
    with pytest.raises(ConfigError, match="is not labelled by sources"):
        async with open_searcher(place.config(collection="foreign"), place.credentials):
            pass


def test_a_published_room_keeps_what_readers_need() -> None:
    from index.engines.qdrant.records import room_of

    record = RoomRecord(ROOM, alias="#talk:example.org", join_rule="public", outcome="admitted")
    assert room_of(json.dumps(asdict(record))) == record
