"""Around an event that the homeserver cannot serve: everything else is read, and the hole is told."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import EventId, RoomId
from matrix.detour import Stretch, Unknown, read_stretch
from matrix.errors import UnavailableError
from matrix.reading import Direction, History, Moment
from matrix.records import Context, Page
from matrix.shape import RawEvent, integer_at
from sources.demo.homeserver import Homeserver
from tests.matrix.people import People
from tests.matrix.proxy import Proxy, Rule, failing, poisoned
from tests.matrix.test_reading import bodies, first_sync, reading

NOW_MS = 5_000_000_000_000
POISON = "poisonous"


async def walk(reader: History, room: str, direction: Direction, *, limit: int) -> list[Stretch]:
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


class HoledRoom:
    """A room whose events hold their number; the bad ones fail wherever they would be served. Tokens are positions."""

    def __init__(self, times: list[int], bad: set[int]) -> None:
        self._times = times
        self._bad = bad
        self.requests = 0

    async def messages(
        self,
        room: RoomId,
        *,
        from_: str | None,
        direction: Direction,
        limit: int,
        to: str | None = None,
        attempts: int | None = None,
    ) -> Page:
        at = int(from_) if from_ is not None else (len(self._times) if direction == "b" else 0)
        step = -1 if direction == "b" else 1
        numbers = list(range(at - 1, -1, -1) if direction == "b" else range(at, len(self._times)))[:limit]
        events = tuple(self._serve(number) for number in numbers)
        return Page(events, from_, str(at + step * len(events)) if events else None)

    async def context(self, room: RoomId, event: EventId, *, attempts: int | None = None) -> Context | None:
        number = int(event.removeprefix("$"))
        return Context(self._serve(number), str(number), str(number + 1))

    async def event_at(
        self, room: RoomId, sent_ms: int, direction: Direction, *, attempts: int | None = None
    ) -> Moment | None:
        there = range(len(self._times))
        if direction == "b":
            found = max(
                (n for n in there if self._times[n] <= sent_ms), key=lambda n: (self._times[n], n), default=None
            )
        else:
            found = min(
                (n for n in there if self._times[n] >= sent_ms), key=lambda n: (self._times[n], n), default=None
            )
        return None if found is None else Moment(EventId(f"${self._serve(found)['number']}"), self._times[found])

    async def is_alive(self) -> bool:
        return True

    def _serve(self, number: int) -> RawEvent:
        self.requests += 1
        if number in self._bad:
            raise UnavailableError("500 for good")
        return {"event_id": f"${number}", "number": number, "origin_server_ts": self._times[number]}


@given(
    st.lists(st.integers(1, NOW_MS), min_size=1, max_size=30),
    st.sets(st.integers(0, 29), max_size=8),
    st.sampled_from(["b", "f"]),
    st.integers(1, 20),
    st.booleans(),
)
async def test_whatever_is_bad_and_whatever_clocks_say_the_walk_ends_and_owns_up_to_what_it_missed(
    times: list[int], bad: set[int], direction: Direction, limit: int, is_in_order: bool
) -> None:
    room = HoledRoom(sorted(times) if is_in_order else times, bad)
    stretches = await walk(room, "!holed", direction, limit=limit)
    read = [event["number"] for stretch in stretches for event in stretch.page.events]
    unknown = [stretch.unknown for stretch in stretches if stretch.unknown]
    good = set(range(len(times))) - bad
    assert set(read) <= good
    assert bool(unknown) == bool(bad & set(range(len(times))))
    if not unknown:
        assert len(read) == len(times)
    if is_in_order:
        assert len(read) == len(set(read))
        for number in good - set(read):
            assert any(_is_inside(sorted(times)[number], hole) for hole in unknown)


def _is_inside(sent_ms: int, hole: Unknown) -> bool:
    bounds = [bound for bound in (hole.first_ms, hole.last_ms) if bound is not None]
    return len(bounds) < 2 or min(bounds) <= sent_ms <= max(bounds)


@given(
    st.sets(st.integers(1, NOW_MS), min_size=1, max_size=30), st.data(), st.sampled_from(["b", "f"]), st.integers(1, 20)
)
async def test_one_bad_event_costs_no_other(
    times: set[int], data: st.DataObject, direction: Direction, limit: int
) -> None:
    bad = data.draw(st.integers(0, len(times) - 1))
    room = HoledRoom(sorted(times), {bad})
    stretches = await walk(room, "!holed", direction, limit=limit)
    read = [event["number"] for stretch in stretches for event in stretch.page.events]
    expected = [number for number in range(len(times)) if number != bad]
    assert read == (expected if direction == "f" else expected[::-1])


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
