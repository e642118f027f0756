"""A refresh of chat against a real homeserver: what is read, once, in order, and what is asked for it."""

from pathlib import Path

import pytest

from tests.chat.host import Host, host_for, own_report, report_of
from tests.matrix.people import People, Person


@pytest.fixture
async def alice(people: People) -> Person:
    return await people.register("alice")


@pytest.fixture
async def reader(people: People) -> Person:
    return await people.register("reader")


@pytest.fixture
def host(tmp_path: Path, people: People, reader: Person) -> Host:
    return host_for(tmp_path / "state", people.homeserver.url, reader)


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
