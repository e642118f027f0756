"""Orders to forget: given by the host, carried out at once or by a running refresh, and standing for ever."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.model import EventId, RoomId, UserId
from index.store import purges
from index.store.purges import PurgeRecord
from index.store.store import open_store
from ingest.chat import orders
from ingest.lock import write_lock
from sources.cli.main import group
from tests.chat.desk import Desk
from tests.chat.host import Host, own_report
from tests.matrix.people import People, Person


@pytest.fixture
def desk(host: Host) -> Desk:
    return Desk(host)


async def kitchen(alice: Person, reader: Person) -> str:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    return room


async def test_a_message_is_counted_then_gone_from_every_byte_with_its_edits(
    desk: Desk, alice: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, reader)
    regretted = await alice.say(room, "xylophonic regret")
    await alice.edit(room, regretted, "quixotry regret")
    kept = await alice.reply(room, regretted, "standing answer")
    await host.refresh()
    expected = await desk.purge("--room", room, "--event", regretted, "--dry-run", "--keep-replies")
    assert [expected["matched"][name] for name in ("events", "rooms", "replies", "unasked")] == [2, 1, 1, 0]
    assert "xylophonic" not in json.dumps(expected)
    assert await host.found("quixotry")
    done = await desk.purge("--room", room, "--event", regretted, "--yes", "--keep-replies", "--reason", "by mail")
    assert (done["exit"], done["applied"], done["erased"], done["order"]["removed"]) == (0, True, True, 2)
    assert await host.found("quixotry") == []
    for fragment in ("xyloph", "phonic", "quixot", "xotry"):
        assert not host.holds(fragment)
    await host.refresh()
    await host.refresh(is_full=True)
    assert await host.texts(room) == ["standing answer"]
    assert kept


async def test_an_order_outlives_the_index(desk: Desk, alice: Person, reader: Person) -> None:
    host, room = desk.host, await kitchen(alice, reader)
    await alice.say(room, "xylophonic regret")
    await host.refresh()
    await desk.purge("--room", room, "--all", "--yes")
    await alice.say(room, "spoken afterwards")
    for file in host.folder.glob("index.sqlite*"):
        file.unlink()
    await host.refresh()
    assert await host.texts(room) == ["spoken afterwards"]
    assert not host.holds("xyloph")
    (listed,) = (await desk.purge("--list"))["orders"]
    assert listed["room"] == room
    assert listed["applied_ms"] is not None


async def test_a_person_is_erased_in_all_rooms_and_stays_so(
    desk: Desk, people: People, alice: Person, reader: Person
) -> None:
    host, bob = desk.host, await people.register("bob")
    rooms = [await kitchen(alice, reader), await kitchen(alice, reader)]
    for room in rooms:
        await bob.join(room)
        await bob.say(room, "xylophonic regret")
        await alice.say(room, "standing answer")
    await host.refresh()
    done = await desk.purge("--sender", bob.user, "--yes")
    assert done["order"]["removed"] == 2
    await bob.say(rooms[0], "xylophonic again")
    await host.refresh()
    await host.refresh(is_full=True)
    for room in rooms:
        assert await host.texts(room) == ["standing answer"]
    assert not host.holds("xyloph")
    dump = await host.dump()
    assert not any(bob.user in str(dump[table]) for table in ("people", "senders", "ledger", "chunks"))


async def test_times_are_those_of_the_server_and_a_day_counts_to_its_end(
    desk: Desk, alice: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, reader)
    noon = int(time.time() * 1000) // 86_400_000 * 86_400_000 - 86_400_000 // 2  # of yesterday
    await alice.say(room, "today")
    await host.refresh()
    yesterday = time.strftime("%Y-%m-%d", time.gmtime(noon / 1000))
    none = await desk.purge("--room", room, "--until", yesterday, "--dry-run")
    assert none["matched"]["events"] == 0
    all_of_it = await desk.purge("--room", room, "--since", yesterday, "--dry-run")
    assert all_of_it["matched"]["events"] == 1
    assert none["order"]["before_ms"] == noon + 86_400_000 // 2 - 1


async def test_while_a_refresh_runs_an_order_is_written_down_and_the_next_one_carries_it_out(
    desk: Desk, alice: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, reader)
    await alice.say(room, "xylophonic regret")
    await host.refresh()
    with write_lock(host.folder / "refresh.lock"):
        done = await desk.purge("--room", room, "--all", "--yes")
    assert (done["exit"], done["applied"], done["erased"]) == (6, False, False)
    await host.refresh()
    assert await host.texts(room) == []
    assert not host.holds("xyloph")


async def test_an_order_that_is_given_while_chat_is_read_is_carried_out_at_the_end_of_that_run(
    desk: Desk, alice: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, reader)
    await alice.say(room, "xylophonic regret")
    keep = host.scrub

    def order(text: str) -> str:
        if "xylophonic" in text and not orders.read(host.folder / "purges"):
            record = PurgeRecord(RoomId(room), None, None, None, None, ordered_ms=1, ordered_by="root")
            orders.write(host.folder / "purges", record)
        return keep(text)

    host.scrub = order
    report = await host.refresh()
    assert "purged 1 message in 1 room" in own_report(report).notes
    assert not host.holds("xyloph")
    assert await host.texts(room) == []


async def test_an_order_that_cannot_be_read_lets_no_chat_in(desk: Desk, alice: Person, reader: Person) -> None:
    host, room = desk.host, await kitchen(alice, reader)
    folder = host.folder / "purges"
    folder.mkdir()
    (folder / "1-a.json").write_text("{")
    await alice.say(room, "hello")
    report = await host.refresh()
    assert [one.fault for one in report.failed if "purges/1-a.json: not an order" in (one.fault or "")]
    assert await host.texts(room) == []
    (folder / "1-a.json").unlink()
    assert (await host.refresh()).failed == ()
    assert await host.texts(room) == ["hello"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--room", "!a:b"),
        ("--all",),
        ("--event", "$x"),
        ("--room", "!a:b", "--all", "--sender", "@a:b"),
        ("--room", "!a:b", "--event", "x"),
        ("--sender", "alice"),
        ("--sender", "@a:b", "--since", "yesterday"),
        ("--sender", "@a:b", "--since", "2026-05-02", "--until", "2026-05-01"),
        ("--sender", "@a:b"),  # neither --yes nor anybody to ask
    ],
)
def test_what_is_not_plain_is_refused_and_nothing_is_written(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    import click

    config = tmp_path / "sources.toml"
    config.write_text(
        f'state_dir = "{tmp_path / "state"}"\n[chat]\nhomeserver = "https://hs.example"\nuser = "@r:hs.example"\n'
    )
    ended = CliRunner().invoke(group, ["--config", str(config), "chat-purge", *arguments], standalone_mode=False)
    assert isinstance(ended.exception, click.UsageError)
    assert not (tmp_path / "state").exists()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.builds(
        PurgeRecord,
        room=st.none() | st.text(max_size=20).map(RoomId),
        event=st.none() | st.text(max_size=20).map(EventId),
        sender=st.none() | st.text(max_size=20).map(UserId),
        after_ms=st.none() | st.integers(0, 2**53),
        before_ms=st.none() | st.integers(0, 2**53),
        ordered_ms=st.integers(0, 2**53),
        ordered_by=st.text(max_size=20),
        reason=st.text(max_size=20),
        takes_replies=st.booleans(),
    )
)
def test_an_order_reads_back_as_it_was_given(tmp_path_factory: pytest.TempPathFactory, record: PurgeRecord) -> None:
    folder = tmp_path_factory.mktemp("orders") / "purges"
    orders.write(folder, record)
    assert orders.read(folder) == [record]


async def test_an_order_is_taken_in_once(tmp_path: Path) -> None:
    record = PurgeRecord(None, None, UserId("@a:b"), None, None, ordered_ms=5, ordered_by="root")
    orders.write(tmp_path / "purges", record)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        for expected in (1, 0):
            async with store.transaction():
                assert await orders.take_in(store, tmp_path / "purges") == expected
        assert [one.identity for one in await purges.purges(store.connection)] == [record.identity]


async def test_the_proof_is_the_same_however_often_the_removal_was_interrupted(tmp_path: Path) -> None:
    ids = [EventId(f"${number}") for number in range(9)]
    record = PurgeRecord(None, None, UserId("@a:b"), None, None, ordered_ms=5, ordered_by="root")
    proofs = set()
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        for cut in (0, 4, 9):
            async with store.transaction():
                key = await purges.add(store.connection, record)
            for part in (ids[:cut], ids[cut:]):
                async with store.transaction():
                    await purges.record_removed(store.connection, key, part)
        for stored in await purges.purges(store.connection):
            assert stored.removed == 9
            proofs.add(stored.proof)
    assert len(proofs) == 1
