"""What must be forgotten: by order, because the homeserver lost it, or because a room keeps nothing for long."""

import time
from pathlib import Path

import pytest

from index.model import EventId, RoomId, UserId
from index.store import purges
from index.store.purges import PurgeRecord
from index.store.store import open_store
from tests.chat.host import Host, host_for, own_report, report_of
from tests.matrix.people import People, Person
from tests.matrix.proxy import Proxy, Rule, answer, dropped, refuse

HOUR_MS = 3_600_000


async def order(host: Host, **conditions: object) -> None:
    fields = dict.fromkeys(("room", "event", "sender", "after_ms", "before_ms")) | conditions
    async with open_store(host.file, is_writer=True) as store, store.transaction():
        await purges.add(store.connection, PurgeRecord(**fields, ordered_ms=1, ordered_by="host"))  # type: ignore[arg-type]


async def test_a_purge_by_event_takes_its_edits_along_and_outlives_a_full_run(
    host: Host, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    gone = await alice.say(room, "secretword")
    await alice.edit(room, gone, "secretedit")
    await alice.say(room, "kept")
    await host.refresh()
    await order(host, room=RoomId(room), event=EventId(gone))
    report = await host.refresh()
    assert own_report(report).notes == ("purged 2 messages in 1 room",)
    await alice.edit(room, gone, "secretlater")
    await host.refresh()
    await host.refresh(is_full=True)
    assert await host.texts(room) == ["kept"]
    for word in ("secretword", "secretedit", "secretlater"):
        assert not host.holds(word)
    async with host.opened() as store:
        (record,) = await purges.purges(store.connection)
    assert (record.removed, record.applied_ms is not None, len(record.proof)) == (2, True, 32)


async def test_a_purge_by_sender_reaches_all_rooms_and_what_comes_later(
    host: Host, people: People, alice: Person, reader: Person
) -> None:
    bob = await people.register("bob")
    rooms = [await alice.create_room(name) for name in ("Kitchen", "Garden")]
    for room in rooms:
        for person in (reader, bob):
            await person.join(room)
        await bob.say(room, "bobsword")
        await alice.say(room, "aliceword")
    await host.refresh()
    await order(host, sender=UserId(bob.user))
    await bob.say(rooms[0], "bobsword again")
    await host.refresh()
    for room in rooms:
        assert await host.texts(room) == ["aliceword"]
    assert not host.holds("bobsword")
    dump = await host.dump()
    assert not any(bob.user in str(dump[table]) for table in ("people", "senders", "ledger", "chunks"))


async def test_users_whom_the_host_erases_leave_no_word(
    host: Host, people: People, alice: Person, reader: Person
) -> None:
    admin, bob = await people.register("root", is_admin=True), await people.register("bob")
    room = await alice.create_room("Kitchen")
    for person in (reader, bob):
        await person.join(room)
    await bob.say(room, "bobsword")
    await alice.say(room, "aliceword")
    await host.refresh()
    await admin.deactivate(bob, erase=True)
    await host.refresh()
    assert await host.found("bobsword")  # the homeserver tells nobody
    host.set(erased_users=(UserId(bob.user),))
    await host.refresh()
    await host.refresh(is_full=True)
    assert await host.texts(room) == ["aliceword"]
    assert not host.holds("bobsword")


async def test_history_that_the_homeserver_purged_is_missed_and_erased(
    host: Host, people: People, alice: Person, reader: Person
) -> None:
    admin = await people.register("root", is_admin=True)
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    events = [await alice.say(room, f"word{number}") for number in range(12)]
    await host.refresh()
    await admin.purge_history(room, up_to_event=events[8])
    report = await host.refresh()
    assert await host.texts(room) == [f"word{number}" for number in range(8, 12)]
    assert not host.holds("word3")
    assert report_of(report, room).notes


async def test_a_single_message_that_is_missing_takes_no_other_along(
    tmp_path: Path, alice: Person, reader: Person, proxy: Proxy
) -> None:
    host = host_for(tmp_path / "state", proxy.url, reader)
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    events = [await alice.say(room, f"word{number}") for number in range(12)]
    await host.refresh()
    proxy.add(*(Rule(answer(refuse(404, "M_NOT_FOUND")), path=events[number][1:]) for number in (0, 6)))
    await host.refresh()
    left = await host.texts(room)
    assert len(left) >= 10 and "word0" not in left
    assert set(left) >= {f"word{number}" for number in range(12) if number not in (0, 6)}


async def test_a_room_that_keeps_messages_for_an_hour_is_held_to_it(host: Host, alice: Person, reader: Person) -> None:
    room = await alice.create_room(
        "Kitchen",
        initial_state=[{"type": "m.room.retention", "state_key": "", "content": {"max_lifetime": HOUR_MS}}],
    )
    await reader.join(room)
    await alice.say(room, "shortlived")
    await host.refresh()
    assert await host.texts(room) == ["shortlived"]
    host.now_ms = time.time_ns() // 1_000_000 + 2 * HOUR_MS
    await host.refresh()
    assert not host.holds("shortlived")
    await host.refresh(is_full=True)
    assert await host.texts(room) == []


async def test_an_edit_of_something_that_nobody_can_see_is_dropped_after_the_grace_time(
    host: Host, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.set_state(room, "m.room.history_visibility", {"history_visibility": "joined"})
    hidden = await alice.say(room, "hidden")
    await alice.set_state(room, "m.room.history_visibility", {"history_visibility": "shared"})
    await alice.edit(room, hidden, "orphaned")
    await alice.say(room, "hello")
    await host.refresh()
    assert await host.texts(room) == ["hello"]
    assert host.holds("orphaned")
    host.set(grace_ms=0)
    await host.refresh()
    assert not host.holds("orphaned")


async def test_forged_edits_change_nothing_and_are_kept_nowhere(
    host: Host, people: People, alice: Person, reader: Person
) -> None:
    # https://github.com/syphon-org/syphon/issues/242
    mallory = await people.register("mallory")
    room = await alice.create_room("Kitchen")
    for person in (reader, mallory):
        await person.join(room)
    said = await alice.say(room, "original")
    await host.refresh()
    await mallory.edit(room, said, "forgedword")
    await host.refresh()
    assert await host.texts(room) == ["original"]
    assert not host.holds("forgedword")


@pytest.mark.parametrize("is_in_gap", [False, True])
async def test_a_redaction_that_arrives_while_history_is_still_being_read_works_at_once(
    tmp_path: Path, alice: Person, reader: Person, proxy: Proxy, is_in_gap: bool
) -> None:
    def cut_off(pages: int) -> None:
        proxy.clear()
        proxy.add(Rule(dropped(), path="/messages", skip=pages), Rule(dropped(), path="/whoami", skip=1))

    host = host_for(tmp_path / "state", proxy.url, reader, page_limit=5, timeline_limit=5)
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    events = [await alice.say(room, f"word{number}x") for number in range(12)]
    cut_off(pages=3)
    assert (await host.refresh()).failed
    assert host.holds("word1x")
    await alice.redact(room, events[1])
    if is_in_gap:
        for number in range(9):
            await alice.say(room, f"more{number}")
    cut_off(pages=0)
    assert (await host.refresh()).failed
    assert host.holds("word1x") is is_in_gap
    proxy.clear()
    assert (await host.refresh()).failed == ()
    assert not host.holds("word1x")
