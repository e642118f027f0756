"""Around an event that the homeserver cannot serve: everything else is read, and the hole is told."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from index.model import RoomId
from matrix.detour import Stretch, Unknown, read_stretch
from matrix.errors import UnavailableError
from matrix.reading import Direction, HomeserverReader
from matrix.shape import integer_at
from sources.demo.homeserver import Homeserver
from tests.matrix.people import People
from tests.matrix.proxy import Proxy, Rule, failing, poisoned
from tests.matrix.test_reading import bodies, first_sync, reading

NOW_MS = 5_000_000_000_000
POISON = "poisonous"


async def walk(reader: HomeserverReader, room: str, direction: Direction, *, limit: int) -> list[Stretch]:
    """As a caller does: from the end on, with the farthest time seen so far."""
    near_ms: int | None = None
    farthest = min if direction == "b" else max
    stretches = [
        await read_stretch(
            reader, RoomId(room), from_=None, direction=direction, limit=limit, near_ms=None, now_ms=NOW_MS
        )
    ]
    while (end := stretches[-1].page.end) is not None:
        times = [ms for event in stretches[-1].page.events if (ms := integer_at(event, "origin_server_ts")) is not None]
        near_ms = farthest([*times, *([] if near_ms is None else [near_ms])], default=None)
        stretches.append(
            await read_stretch(
                reader, RoomId(room), from_=end, direction=direction, limit=limit, near_ms=near_ms, now_ms=NOW_MS
            )
        )
    return stretches


@pytest.mark.parametrize(("direction", "limit"), [("b", 1), ("b", 100), ("f", 7)])
async def test_all_but_the_bad_event_is_read_and_the_hole_is_bounded(
    people: People, proxy: Proxy, direction: Direction, limit: int
) -> None:
    alice, puppet = await people.register("alice"), await people.puppet("telegram_detour")
    room = await alice.create_room("Holed")
    await puppet.join(room)
    start_ms = 1_500_000_000_000 if direction == "b" else 4_000_000_000_000
    for number in range(12):
        await puppet.say(room, POISON if number == 5 else f"word{number}", ts=start_ms + number)
    proxy.add(Rule(poisoned(POISON), path="/(messages|context|event)/?"))
    async with reading(proxy.url, alice) as reader:
        stretches = await walk(reader, room, direction, limit=limit)
    read = [body for stretch in stretches for body in bodies(stretch.page.events)]
    expected = [f"word{number}" for number in range(12) if number != 5]
    assert read == (expected if direction == "f" else expected[::-1])
    (unknown,) = [stretch.unknown for stretch in stretches if stretch.unknown]
    bounds = (start_ms + 4, start_ms + 6)
    assert (unknown.first_ms, unknown.last_ms) == (bounds if direction == "f" else bounds[::-1])
    assert len(proxy.requests) < 45


async def test_a_lone_surrogate_in_the_homeservers_own_database_is_stepped_around(tmp_path: Path) -> None:
    """As federation could bring it: Synapse then fails wherever it loads the event, by page, by id and by time."""
    with Homeserver(tmp_path / "homeserver") as server:
        async with People(server) as people:
            alice = await people.register("alice")
            room = await alice.create_room("Poisoned", version="12")
            said = [await alice.say(room, f"word{number}") for number in range(8)]
            server.stop()
            with closing(sqlite3.connect(server.database)) as database, database:
                change = """UPDATE event_json SET json = replace(json, '"word4"', '"\\ud800"') WHERE event_id = ?"""
                assert database.execute(change, (said[4],)).rowcount == 1
            server.start()
            async with reading(server.url, alice) as reader:
                stretches = await walk(reader, room, "b", limit=100)
    read = [body for stretch in stretches for body in bodies(stretch.page.events)]
    assert read == ["word7", "word6", "word5", "word3", "word2", "word1", "word0"]
    (unknown,) = [stretch.unknown for stretch in stretches if stretch.unknown]
    assert unknown.resumed_at == said[3]


async def test_a_bad_event_at_the_end_of_the_room_leaves_an_open_hole(people: People, proxy: Proxy) -> None:
    alice = await people.register("alice")
    room = await alice.create_room("Holed at its end")
    await alice.say(room, "fine")
    await alice.say(room, POISON)
    proxy.add(Rule(poisoned(POISON), path="/(messages|context|timestamp)"))
    async with reading(proxy.url, alice) as reader:
        stretches = await walk(reader, room, "f", limit=50)
    assert [body for stretch in stretches for body in bodies(stretch.page.events)] == ["fine"]
    unknown = stretches[-1].unknown
    assert isinstance(unknown, Unknown)
    assert (unknown.last_ms, unknown.resumed_at) == (None, None)


async def test_a_homeserver_that_is_down_is_no_hole(people: People, proxy: Proxy) -> None:
    alice = await people.register("alice")
    room = await alice.create_room("Whole")
    proxy.add(Rule(failing(500)))
    async with reading(proxy.url, alice) as reader:
        with pytest.raises(UnavailableError):
            await read_stretch(reader, RoomId(room), from_=None, direction="b", limit=100, near_ms=None, now_ms=NOW_MS)
    assert len(proxy.requests) == 7


async def test_a_sync_that_cannot_be_answered_still_gives_a_position_when_asked_blindly(
    people: People, proxy: Proxy
) -> None:
    alice, reader_account = await people.register("alice"), await people.register("reader")
    room, other = await alice.create_room("Bad"), await alice.create_room("Good")
    for joined in (room, other):
        await reader_account.join(joined)
    proxy.add(Rule(poisoned(POISON), path="/sync"))
    async with reading(proxy.url, reader_account) as reader:
        chosen, batch = await first_sync(reader)
        await alice.say(room, POISON)
        with pytest.raises(UnavailableError):
            await reader.sync(batch.next_batch, filter_id=chosen, attempts=2)
        blind = await reader.sync_blind(batch.next_batch)
        assert blind.is_blind
        await alice.say(other, "afterwards")
        (update,) = (await reader.sync(blind.next_batch, filter_id=chosen)).joined
    assert (update.room, bodies(update.timeline)) == (other, ["afterwards"])
