"""A refresh of chat against a real homeserver: what is read, once, in order, and what is asked for it."""

import random
import string
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from index.model import EventId, RoomId, UserId
from index.store.store import open_store
from ingest.chat.rendering import Utterance, render
from ingest.chat.windows import Bounds, windows
from tests.chat.host import Host, host_for, own_report, report_of
from tests.matrix.people import People, Person
from tests.matrix.proxy import Proxy


async def test_a_room_is_read_from_its_beginning_in_pages(host: Host, alice: Person, reader: Person) -> None:
    room = await alice.create_room("Kitchen")
    said = [f"word{number} and more" for number in range(12)]
    for text in said:
        await alice.say(room, text)
    await reader.join(room)
    host.set(page_limit=5)
    report = await host.refresh()
    assert report.failed == ()
    assert await host.texts(room) == said
    assert report_of(report, room).documents > 0
    assert own_report(report).fault is None
    record = await host.room(room)
    assert (record.outcome, record.phase, record.title) == ("admitted", "done", "Kitchen")
    assert await host.found("word7")


async def test_what_is_said_between_two_runs_is_added_in_order_and_once(
    host: Host, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "first")
    await host.refresh()
    for text in ("second", "third"):
        await alice.say(room, text)
    await host.refresh()
    before = await host.dump()
    assert await host.texts(room) == ["first", "second", "third"]
    report = await host.refresh()
    assert not report.has_changed
    assert await host.dump() == before
    # A run that was killed before its end told of no room that it was read; a quiet room is told of by the next.
    async with open_store(host.file, is_writer=True) as store:
        async with store.transaction():
            await store.connection.execute("UPDATE source SET succeeded_ms = NULL, tried_ms = NULL")
        await host.refresh()
        assert all(source.succeeded_ms for source in await store.sources())


async def test_edits_and_redactions_are_followed_through_every_run(host: Host, alice: Person, reader: Person) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    kept, edited, gone = [await alice.say(room, text) for text in ("kept", "typo", "regretted")]
    old = await alice.edit(room, edited, "oldedit")
    await host.refresh()
    assert await host.texts(room) == ["kept", "oldedit", "regretted"]
    newest = await alice.edit(room, edited, "newedit")
    await alice.redact(room, gone)
    await host.refresh()
    assert await host.texts(room) == ["kept", "newedit"]
    assert await host.found("regretted") == []
    await alice.redact(room, newest)
    await host.refresh()
    assert await host.texts(room) == ["kept", "oldedit"]
    await alice.redact(room, old)
    await alice.redact(room, kept)
    await host.refresh()
    assert await host.texts(room) == ["typo"]
    for word in ("regretted", "newedit", "oldedit", "kept"):
        assert not host.holds(word), word


async def test_encrypted_events_are_counted_and_cost_nothing_else(host: Host, alice: Person, reader: Person) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "beforehand")
    cipher = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgAEnAC", "session_id": "s", "device_id": "d"}
    await alice.send(room, cipher, kind="m.room.encrypted")
    await alice.say(room, "between", **{"m.relates_to": 7})
    await alice.say(room, "after")
    report = await host.refresh()
    assert await host.texts(room) == ["beforehand", "between", "after"]
    assert dict(report_of(report, room).skipped)["encrypted"] == 1
    assert dict((await host.counts(room)).skipped)["encrypted"] == 1
    assert "sticky" in (await host.room(room)).facts
    host.set(refuses_encrypted=True)
    await host.refresh()
    assert await host.reason(room) == "encrypted"
    assert not host.holds("beforehand")


async def test_thirty_messages_through_a_timeline_of_five_are_all_there_in_order(
    host: Host, alice: Person, reader: Person
) -> None:
    # https://github.com/mindroom-ai/mindroom/issues/1626
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "opening")
    await host.refresh()
    said = [f"word{number}" for number in range(30)]
    regretted = ""
    for number, text in enumerate(said):
        event = await alice.say(room, text)
        regretted = event if number == 7 else regretted
    await alice.redact(room, regretted)
    host.set(timeline_limit=5, page_limit=7)
    await host.refresh()
    assert await host.texts(room) == ["opening", *(text for text in said if text != "word7")]
    assert (await host.counts(room)).waiting == 0
    undisturbed = host_for(host.folder.parent / "other", host.settings.homeserver, reader)
    await undisturbed.refresh()
    assert await undisturbed.texts(room) == await host.texts(room)


async def test_threads_are_windows_of_their_own(host: Host, alice: Person, reader: Person) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    root = await alice.say(room, "root")
    await alice.thread(room, root, "inside")
    await alice.say(room, "outside")
    await host.refresh()
    await alice.thread(room, root, "deeper")
    await host.refresh()
    assert [window.count("\n") + 1 for window in await host.windows(room)] == [2, 2]


async def test_a_quiet_homeserver_costs_the_same_with_three_rooms_and_with_many(
    tmp_path: Path, people: People, alice: Person, proxy: Proxy
) -> None:
    asked: dict[int, Counter[str]] = {}
    for count in (3, 9):
        reader = await people.register("reader")
        for number in range(count):
            room = await alice.create_room(f"Room {number}")
            for text in ("one", "two"):
                await alice.say(room, text)
            await reader.join(room)
        host = host_for(tmp_path / str(count), proxy.url, reader)
        await host.refresh()
        await host.refresh()
        proxy.clear()
        report = await host.refresh()
        assert not report.has_changed
        asked[count] = Counter(path.rpartition("$")[0] or path.rpartition("/")[2] for path in proxy.paths())
    events = {count: sum(n for path, n in found.items() if "/event/" in path) for count, found in asked.items()}
    others = {count: {path: n for path, n in found.items() if "/" not in path} for count, found in asked.items()}
    assert max(events.values()) <= 9
    assert others[3] == others[9] == {
        "whoami": 1, "m.ignored_user_list": 1, "m.direct": 1, "joined_rooms": 1, "state": 3, "sync": 1,
    }  # fmt: skip


async def test_a_refresh_only_reads(
    tmp_path: Path, people: People, alice: Person, reader: Person, proxy: Proxy
) -> None:
    host = host_for(tmp_path / "state", proxy.url, reader, excluded=("#none:hs.test",))
    room = await alice.create_room("Kitchen")
    invited = await alice.create_room("Invitation", invite=[reader])
    await reader.join(room)
    await alice.say(room, "hello")
    await host.refresh()
    for number in range(12):
        await alice.say(room, f"more{number}")
    host.set(timeline_limit=5)
    await host.refresh()
    await host.refresh()
    writes = {(sent.method, sent.path) for sent in proxy.requests if sent.method != "GET"}
    assert writes <= {("POST", f"/_matrix/client/v3/user/{reader.user}/filter")}
    assert {sent.query["set_presence"] for sent in proxy.requests if sent.path.endswith("/sync")} == {"offline"}
    assert await reader.joined_rooms() == [room] and invited


@pytest.mark.parametrize("version", ["9", "10", "11", "12"])
async def test_every_room_version_is_read_alike(host: Host, alice: Person, reader: Person, version: str) -> None:
    room = await alice.create_room("Kitchen", version=version)
    await reader.join(room)
    gone = await alice.say(room, "regretted")
    edited = await alice.say(room, "typo")
    await host.refresh()
    await alice.redact(room, gone)
    await alice.edit(room, edited, "mended")
    await host.refresh()
    assert await host.texts(room) == ["mended"]


async def test_a_room_that_is_renamed_is_found_under_its_new_name(host: Host, alice: Person, reader: Person) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "hello")
    await host.refresh()
    await alice.set_state(room, "m.room.name", {"name": "Pantry"})
    await host.refresh()
    assert [row[1] for row in (await host.dump())["documents"]] == ["Pantry"]
    assert not host.holds("Kitchen")
    async with host.opened() as store:
        source = next(one for one in await store.sources() if one.id == f"chat:{room}")
    assert (source.label, source.is_public) == ("Pantry", True)
    await alice.set_state(room, "m.room.join_rules", {"join_rule": "invite"})
    await host.refresh()
    async with host.opened() as store:
        source = next(one for one in await store.sources() if one.id == f"chat:{room}")
    assert not source.is_public


async def test_secrets_are_scrubbed_before_they_are_stored(host: Host, alice: Person, reader: Person) -> None:
    secret = "ghp_" + "".join(random.Random(5).choices(string.ascii_letters + string.digits, k=36))
    room = await alice.create_room(f"Room with {secret}")
    await reader.join(room)
    await alice.say(room, f"use {secret} please")
    await host.refresh()
    assert (await host.texts(room))[0].startswith("use ‹redacted:")
    assert not host.holds(secret)


async def test_a_newer_scrubber_scrubs_what_is_stored_without_asking_the_homeserver(
    tmp_path: Path, people: People, alice: Person, reader: Person, proxy: Proxy
) -> None:
    host = host_for(tmp_path / "state", proxy.url, reader)
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    said = await alice.say(room, "the magicword is out")
    await alice.edit(room, said, "the magicword is still out")
    await host.refresh()
    proxy.clear()
    host.scrub = lambda text: text.replace("magicword", "‹redacted›")
    host.scrubber += 1
    await host.refresh()
    assert await host.texts(room) == ["the ‹redacted› is still out"]
    assert not host.holds("magicword")
    assert not [path for path in proxy.paths() if path.endswith("/messages")]


async def test_a_full_run_reads_again_and_keeps_what_was_withdrawn_withdrawn(
    host: Host, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    said: list[str] = [await alice.say(room, text) for text in ("one", "two", "three")]
    await host.refresh()
    await alice.redact(room, said[1])
    await host.refresh()
    before: dict[str, Any] = await host.dump()
    report = await host.refresh(is_full=True)
    assert report.failed == ()
    assert await host.texts(room) == ["one", "three"]
    after = await host.dump()
    assert after["tombstones"] == before["tombstones"] != []
    assert {name: rows for name, rows in after.items() if name != "sources"} == {
        name: rows for name, rows in before.items() if name != "sources"
    }


async def test_a_homeserver_s_messages_fall_into_the_same_windows_as_a_transcript(
    host: Host, people: People, alice: Person, reader: Person
) -> None:
    """The search is measured on transcripts (bench/quality.py): what is measured is what hosts get."""
    room = await alice.create_room("Kitchen")
    speakers = [await people.puppet(f"_bridge_{name}-{reader.user[8:14]}") for name in ("ann", "bob")]
    for person in (reader, *speakers):
        await person.join(room)
    chance = random.Random(3)
    now_ms = time.time_ns() // 1_000_000
    transcript = []
    for number in range(60):
        now_ms += chance.choice((20_000, 400_000, 5_000_000))
        speaker = chance.choice(speakers)
        text = f"message {number} " + "about kettles " * chance.randrange(1, 40)
        event = await speaker.say(room, text, ts=now_ms)
        transcript.append(Utterance(EventId(event), UserId(speaker.user), now_ms, text.strip()))
    host.now_ms = now_ms
    await host.refresh()
    expected = windows(transcript, room=RoomId(room), bounds=Bounds())
    assert await host.windows(room) == [render(window.messages).text for window in expected]
    assert len(expected) > 8
