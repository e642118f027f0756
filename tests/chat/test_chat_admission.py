"""Which rooms a refresh reads, that it asks for no message of the others, and what becomes of a room that loses its
permission."""

import time
from pathlib import Path

import pytest

from index.model import EventId, RoomId, SourceId, UserId
from index.store.purges import PurgeRecord
from index.store.store import open_store
from ingest.chat import orders
from ingest.chat.gates import Override
from tests.chat.host import Host, host_for, report_of
from tests.matrix.people import People, Person
from tests.matrix.proxy import Proxy, Rule, recording

HOUR_MS = 3_600_000


async def test_no_message_of_a_refused_room_is_ever_asked_for(
    tmp_path: Path, people: People, alice: Person, reader: Person, proxy: Proxy
) -> None:
    bodies: list[bytes] = []
    proxy.add(Rule(recording(bodies)))
    direct = await alice.create_room("Named", preset="private_chat", invite=[reader], is_direct=True)
    nameless = await alice.create_room(preset="private_chat", invite=[reader])
    bridged = await alice.create_room(
        "Bridged",
        initial_state=[{"type": "uk.half-shot.bridge", "state_key": "x:/irc/#y", "content": {"bridgebot": "@b:x"}}],
    )
    excluded = await alice.create_room("Excluded")
    named = await alice.create_room("Excluded by its name", alias=f"board-{reader.user[8:14]}")
    space = await alice.create_room("Space", room_type="m.space")
    narrow = await alice.create_room("Narrow", history="joined")
    fine = await alice.create_room("Fine")
    readable = await alice.create_room("Readable", history="world_readable")
    refused = {
        direct: "direct", nameless: "direct", bridged: "bridged", excluded: "excluded", named: "excluded",
        space: "space", narrow: "visibility",
    }  # fmt: skip
    for room in (*refused, fine):
        await reader.join(room)
    for room in (*refused, readable):
        await alice.say(room, "forbiddenword")
    await alice.say(fine, "fineword")
    host = host_for(tmp_path / "state", proxy.url, reader, excluded=(excluded, f"#board-{reader.user[8:14]}:hs.test"))
    report = await host.refresh()
    assert {room: await host.reason(room) for room in refused} == refused
    assert report_of(report, bridged).notes == ("refused: bridged: state uk.half-shot.bridge",)
    for room in (*refused, readable):
        await alice.say(room, "forbiddenword")
    await alice.say(fine, "finerword")
    await host.refresh()
    assert await host.texts(fine) == ["fineword", "finerword"]
    assert not host.holds("forbiddenword")
    assert not [body for body in bodies if b"forbiddenword" in body]
    assert [body for body in bodies if b"finerword" in body]
    assert not [path for path in proxy.paths() if readable in path]


async def test_a_direct_chat_is_known_before_its_messages_when_the_homeserver_has_forgotten_the_invitation(
    tmp_path: Path, people: People, alice: Person, reader: Person, proxy: Proxy
) -> None:
    bodies: list[bytes] = []
    proxy.add(Rule(recording(bodies)))
    bob = await people.register("bob")
    invited = await alice.create_room("Named", preset="private_chat", invite=[reader], is_direct=True)
    await reader.join(invited)
    earlier = await alice.create_room("Later with the reader", preset="private_chat", invite=[bob], is_direct=True)
    await bob.join(earlier)
    await alice.invite(earlier, reader)
    await reader.join(earlier)
    for name in ("Bobby", "Rob"):
        await bob.set_display_name(name)
    for room in (invited, earlier):
        await alice.say(room, "forbiddenword")
    people.homeserver.stop()
    people.homeserver.start()
    host = host_for(tmp_path / "state", proxy.url, reader)
    await host.refresh()
    assert [await host.reason(room) for room in (invited, earlier)] == ["direct", "direct"]
    assert not [body for body in bodies if b"forbiddenword" in body]


@pytest.mark.parametrize("how", ["leave", "kick", "ban"])
async def test_a_room_that_the_reader_is_out_of_is_hidden_at_once_and_erased_after_the_grace_time(
    host: Host, alice: Person, reader: Person, how: str
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "hello")
    await host.refresh()
    await (reader.leave(room) if how == "leave" else getattr(alice, how)(room, reader))
    await host.refresh()
    assert await host.found("hello") == []
    assert host.holds("hello")
    assert await host.reason(room) == "not_joined"
    host.now_ms = (await host.room(room)).left_ms
    assert host.now_ms
    host.now_ms += 24 * HOUR_MS - 1
    await host.refresh()
    assert host.holds("hello")
    host.now_ms += 1
    await host.refresh()
    assert not host.holds("hello")
    assert not host.holds("Kitchen")


async def test_without_a_grace_time_a_left_room_is_erased_in_the_same_run(
    host: Host, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "hello")
    await host.refresh()
    await reader.leave(room)
    host.set(grace_ms=0)
    await host.refresh()
    assert not host.holds("hello")


async def test_who_comes_back_finds_what_was_said_meanwhile(host: Host, alice: Person, reader: Person) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "hello")
    await host.refresh()
    await reader.leave(room)
    await host.refresh()
    for number in range(9):
        await alice.say(room, f"meanwhile{number}")
    await host.refresh()
    await reader.join(room)
    await alice.say(room, "welcome")
    host.set(page_limit=4)
    await host.refresh()
    assert await host.texts(room) == ["hello", *(f"meanwhile{number}" for number in range(9)), "welcome"]
    assert await host.found("hello")


async def test_a_room_that_the_homeserver_deleted_is_out_of_search_at_once(
    host: Host, people: People, alice: Person, reader: Person
) -> None:
    admin = await people.register("root", is_admin=True)
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "hello")
    await host.refresh()
    await admin.delete_room(room)
    await host.refresh()
    assert await host.found("hello") == []
    host.set(grace_ms=0)
    await host.refresh()
    assert not host.holds("hello")


async def test_a_room_that_becomes_bridged_is_erased_in_that_run(
    host: Host, alice: Person, reader: Person, people: People
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "hello")
    await host.refresh()
    puppet = await people.puppet("telegram_4711")
    await puppet.join(room)
    for number in range(9):
        await alice.say(room, f"more{number}")
    host.set(timeline_limit=3)
    report = await host.refresh()
    assert await host.reason(room) == "bridged"
    assert report_of(report, room).outcome == "removed"
    assert not host.holds("hello")
    await puppet.leave(room)
    await host.refresh()
    assert await host.reason(room) == "bridged"
    host.set(overrides={RoomId(room): frozenset({Override.WAS_BRIDGED})})
    await host.refresh()
    await alice.say(room, "fresh")
    await host.refresh()
    assert await host.texts(room) == ["fresh"]
    host.set(overrides={RoomId(room): frozenset({Override.BRIDGED})})
    await host.refresh()
    assert (await host.texts(room))[0] == "hello"


async def test_a_bridge_that_shows_only_in_messages_ends_reading_on_the_way(
    host: Host, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    for number in range(6):
        await alice.say(room, f"word{number}")
    await alice.say(room, "hi", {"fi.mau.double_puppet_source": "mautrix-signal"})
    host.set(page_limit=4)
    await host.refresh()
    assert await host.reason(room) == "bridged"
    assert not host.holds("word0")


async def test_an_alias_that_moves_frees_no_room(host: Host, alice: Person, reader: Person) -> None:
    alias = f"#moving-{reader.user[8:14]}:hs.test"
    first, second = await alice.create_room("First"), await alice.create_room("Second")
    await alice.add_alias(first, alias)
    for room in (first, second):
        await reader.join(room)
        await alice.say(room, "hello")
    host.set(excluded=(alias,))
    await host.refresh()
    assert (await host.reason(first), await host.reason(second)) == ("excluded", "")
    await alice.remove_alias(alias)
    await alice.add_alias(second, alias)
    await host.refresh()
    assert (await host.reason(first), await host.reason(second)) == ("excluded", "excluded")
    assert not host.holds("hello")


async def test_a_changed_exclusion_works_in_the_next_run_both_ways(host: Host, alice: Person, reader: Person) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "hello")
    await host.refresh()
    host.set(excluded=(room,))
    await host.refresh()
    assert not host.holds("hello")
    host.set(excluded=())
    await host.refresh()
    assert await host.texts(room) == ["hello"]


async def test_an_upgraded_room_keeps_its_text_and_passes_its_exclusion_on(
    host: Host, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen", version="11")
    await reader.join(room)
    await alice.say(room, "oldword")
    await host.refresh()
    newer = await alice.upgrade(room, "12")
    await host.refresh()
    assert await host.texts(room) == ["oldword"]
    await reader.join(newer)
    await alice.say(newer, "newword")
    await host.refresh()
    assert await host.texts(newer) == ["newword"]
    host.set(excluded=(room,))
    await host.refresh()
    assert (await host.reason(room), await host.reason(newer)) == ("excluded", "excluded")
    assert not host.holds("oldword") and not host.holds("newword")


async def test_what_was_said_while_newcomers_could_not_read_back_stays_out(
    host: Host, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "open")
    for visibility, text in (("joined", "hiddenword"), ("shared", "again")):
        await alice.set_state(room, "m.room.history_visibility", {"history_visibility": visibility})
        await alice.say(room, text)
    await host.refresh()
    assert await host.texts(room) == ["open", "again"]
    for visibility, text in (("invited", "hiddenword"), ("shared", "last")):
        await alice.set_state(room, "m.room.history_visibility", {"history_visibility": visibility})
        for number in range(4):
            await alice.say(room, f"{text}{number}")
    host.set(timeline_limit=3, page_limit=3)
    await host.refresh()
    assert await host.texts(room) == ["open", "again", *(f"last{number}" for number in range(4))]
    assert not host.holds("hiddenword")


async def test_rooms_of_an_account_that_is_configured_no_more_are_hidden_at_once_and_erased_after_the_grace_time(
    host: Host, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "hello")
    host.set(grace_ms=3 * HOUR_MS)
    await host.refresh()
    host.now_ms = time.time_ns() // 1_000_000 + 99 * HOUR_MS
    await host.refresh_without_chat()
    host.now_ms -= 99 * HOUR_MS  # that clock was ahead: the time counts from now on
    [told] = (await host.refresh_without_chat()).sources
    assert "erased from 20" in told.notes[0] and "put it back" in told.notes[0]
    assert await host.found("hello") == [] and host.holds("hello")
    host.now_ms += 3 * HOUR_MS - 1
    assert not (await host.refresh_without_chat()).has_changed
    assert host.holds("hello")
    host.now_ms += 1
    await host.refresh_without_chat()
    assert not host.holds("hello")
    assert not host.holds("Kitchen")
    host.now_ms = None
    await host.refresh()
    assert await host.found("hello")
    async with open_store(host.file, is_writer=True) as store, store.transaction():
        await store.forget(SourceId(f"chat:{reader.user}"))  # as a first run leaves it that is killed at its end
    await host.refresh_without_chat()
    assert host.holds("hello")
    host.set(grace_ms=0)
    await host.refresh()
    await host.refresh_without_chat()
    assert not host.holds("hello")


async def test_a_configuration_that_lost_its_rooms_for_a_while_shows_them_again_as_they_are_then(
    host: Host, alice: Person, reader: Person
) -> None:
    room, left, excluded = [await alice.create_room(name) for name in ("Kitchen", "Left", "Excluded")]
    for one in (room, left, excluded):
        await reader.join(one)
    for one, texts in ((room, ("kept", "regretted", "forgotten")), (left, ("leftword",)), (excluded, ("shutword",))):
        said = {text: await alice.say(one, text) for text in texts}
        if one == room:
            of_room = said
    await host.refresh()
    host.now_ms = time.time_ns() // 1_000_000
    host.set(orders=host.folder / "purges")
    order = PurgeRecord(RoomId(room), EventId(of_room["forgotten"]), None, None, None, host.now_ms, "host")
    orders.write(host.folder / "purges", order)
    await host.refresh_without_chat()
    assert not host.holds("forgotten"), "orders to forget do not wait for the table"
    host.now_ms = None
    await alice.redact(room, of_room["regretted"])
    await alice.say(room, "meanwhile")
    await reader.leave(left)
    host.set(excluded=(excluded,))
    for word in ("kept", "regretted", "leftword", "shutword"):
        assert await host.found(word) == []
    await host.refresh()
    assert await host.texts(room) == ["kept", "meanwhile"]
    assert await host.found("kept")
    assert await host.found("leftword") == [] and host.holds("leftword")
    assert not host.holds("shutword") and not host.holds("regretted")
    await host.refresh_without_chat()
    assert host.holds("meanwhile"), "the time begins anew"


async def test_messages_of_service_accounts_and_ignored_users_are_not_silently_missing(
    host: Host, people: People, alice: Person, reader: Person
) -> None:
    robot = await people.register("robot")
    room = await alice.create_room("Kitchen")
    for person in (reader, robot):
        await person.join(room)
    await robot.say(room, "beep")
    await alice.say(room, "hello")
    await reader.ignore(alice)
    host.set(service_users=frozenset({UserId(robot.user)}))
    report = await host.refresh()
    assert any("ignores 1 user," in note for note in report.sources[0].notes)
    assert not host.holds("beep")
