"""Reading a real homeserver: what each request gives, and what a homeserver's habits must not do to us."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from index.errors import ConfigError, CredentialError
from index.model import EventId, RoomId, UserId
from matrix.calls import Mode
from matrix.errors import RefusedError
from matrix.reading import HomeserverReader, sync_filter
from matrix.records import SyncBatch
from matrix.session import open_session
from matrix.shape import RawEvent, object_at, text_at
from tests.matrix.people import People, Person
from tests.matrix.proxy import Proxy, Rule, answer, refuse, rewrite
from tests.matrix.timing import FakeTime


@asynccontextmanager
async def reading(url: str, who: Person, time: FakeTime | None = None) -> AsyncIterator[HomeserverReader]:
    timing = (time or FakeTime()).timing()
    async with open_session(url, who.token, Mode.READER, timing=timing) as session:
        yield HomeserverReader(session, UserId(who.user))


async def history(reader: HomeserverReader, room: str, *, limit: int = 4) -> list[RawEvent]:
    """All events, newest first, page by page."""
    found: list[RawEvent] = []
    page = await reader.messages(RoomId(room), from_=None, direction="b", limit=limit)
    found += page.events
    while page.end is not None:
        page = await reader.messages(RoomId(room), from_=page.end, direction="b", limit=limit)
        found += page.events
    return found


def bodies(events: list[RawEvent] | tuple[RawEvent, ...]) -> list[str]:
    return [body for event in events if (body := text_at(object_at(event, "content"), "body")) is not None]


async def first_sync(reader: HomeserverReader, *, timeline_limit: int = 5) -> tuple[str, SyncBatch]:
    chosen = await reader.upload_filter(sync_filter(timeline_limit=timeline_limit))
    return chosen, await reader.sync(None, filter_id=chosen)


async def test_everything_a_reader_asks_for_changes_nothing(people: People, proxy: Proxy) -> None:
    alice, reader_account = await people.register("alice"), await people.register("reader")
    room = await alice.create_room("Read only", alias=alice.user[1:].split(":")[0])
    await reader_account.join(room)
    said = EventId(await alice.say(room, "hello"))
    async with reading(proxy.url, reader_account) as reader:
        await reader.check_account(UserId(reader_account.user))
        await reader.joined_rooms()
        await reader.state(RoomId(room))
        await reader.joined_members(RoomId(room))
        chosen, batch = await first_sync(reader)
        await reader.sync(batch.next_batch, filter_id=chosen)
        await reader.sync_blind(batch.next_batch)
        await history(reader, room)
        await reader.context(RoomId(room), said)
        await reader.event(RoomId(room), said)
        await reader.event_at(RoomId(room), 0, "f")
        await reader.ignored_users()
        await reader.direct_rooms()
        await reader.tags(RoomId(room))
        await reader.resolve("#none:hs.test")
        await reader.is_alive()
    writes = [(sent.method, sent.path) for sent in proxy.requests if sent.method != "GET"]
    assert writes == [("POST", f"/_matrix/client/v3/user/{reader_account.user}/filter")]
    syncs = [sent.query for sent in proxy.requests if sent.path.endswith("/sync")]
    assert {query["set_presence"] for query in syncs} == {"offline"}
    assert {query.get("dir", "missing") for query in _queries(proxy, "/messages")} == {"b"}


def _queries(proxy: Proxy, ending: str) -> list[dict[str, str]]:
    return [sent.query for sent in proxy.requests if sent.path.endswith(ending)]


async def test_a_token_of_another_account_is_a_fault_of_the_configuration(people: People) -> None:
    alice = await people.register("alice")
    async with reading(people.homeserver.url, alice) as reader:
        with pytest.raises(ConfigError, match=r"the configuration names @reader:hs\.test"):
            await reader.check_account(UserId("@reader:hs.test"))


async def test_a_token_that_was_signed_out_ends_the_run(people: People, proxy: Proxy) -> None:
    alice = await people.register("alice")
    async with reading(proxy.url, alice) as reader:
        await reader.joined_rooms()
        await alice.sign_out()
        for _ in range(3):
            with pytest.raises(CredentialError, match="M_UNKNOWN_TOKEN"):
                await reader.joined_rooms()
    assert len(proxy.requests) == 2


async def test_a_locked_account_ends_the_run_by_its_own_name(people: People) -> None:
    admin, alice = await people.register("root", is_admin=True), await people.register("alice")
    await admin.lock(alice)
    async with reading(people.homeserver.url, alice) as reader:
        with pytest.raises(CredentialError, match="M_USER_LOCKED: the account is locked"):
            await reader.joined_rooms()


async def test_a_deactivated_account_ends_the_run(people: People) -> None:
    admin, alice = await people.register("root", is_admin=True), await people.register("alice")
    await admin.deactivate(alice, erase=True)
    async with reading(people.homeserver.url, alice) as reader:
        with pytest.raises(CredentialError):
            await reader.joined_rooms()


@pytest.mark.parametrize("version", ["9", "11", "12"])
async def test_pages_backwards_give_every_event_once_to_the_room_s_beginning(people: People, version: str) -> None:
    alice = await people.register("alice")
    room = await alice.create_room("Long", version=version)
    for number in range(9):
        await alice.say(room, f"word{number}")
    async with reading(people.homeserver.url, alice) as reader:
        events = await history(reader, room)
    assert bodies(events) == [f"word{number}" for number in reversed(range(9))]
    assert len({text_at(event, "event_id") for event in events}) == len(events)
    assert text_at(events[-1], "type") == "m.room.create"


async def test_an_empty_page_with_an_end_is_walked_over(people: People) -> None:
    # matrix-org/synapse#12903, matrix-nio/matrix-nio#342
    alice, late = await people.register("alice"), await people.register("late")
    room = await alice.create_room("Joined only", history="joined")
    for number in range(12):
        await alice.say(room, f"before{number}")
    await late.join(room)
    await alice.say(room, "after")
    async with reading(people.homeserver.url, late) as reader:
        events = await history(reader, room, limit=3)
    assert bodies(events) == ["after"]
    assert "m.room.create" in [text_at(event, "type") for event in events]


async def test_a_gap_is_told_and_walking_back_from_its_token_fills_it(people: People) -> None:
    # mindroom-ai/mindroom#1626
    alice, reader_account = await people.register("alice"), await people.register("reader")
    room = await alice.create_room("Busy")
    await reader_account.join(room)
    async with reading(people.homeserver.url, reader_account) as reader:
        chosen, batch = await first_sync(reader)
        for number in range(30):
            await alice.say(room, f"word{number}")
        (update,) = (await reader.sync(batch.next_batch, filter_id=chosen)).joined
        assert update.is_limited
        page = await reader.messages(
            update.room, from_=update.prev_batch, to=batch.next_batch, direction="b", limit=100
        )
    assert bodies(page.events[::-1]) + bodies(update.timeline) == [f"word{number}" for number in range(30)]


async def test_a_quiet_homeserver_tells_nothing_and_a_busy_one_what_is_new(people: People) -> None:
    alice, reader_account = await people.register("alice"), await people.register("reader")
    room = await alice.create_room("Slow")
    await reader_account.join(room)
    async with reading(people.homeserver.url, reader_account) as reader:
        chosen, batch = await first_sync(reader)
        quiet = await reader.sync(batch.next_batch, filter_id=chosen)
        assert (quiet.joined, quiet.left, quiet.invited) == ((), (), ())
        waiting = asyncio.create_task(reader.sync(quiet.next_batch, filter_id=chosen, wait_ms=30_000))
        await alice.say(room, "news")
        (update,) = (await waiting).joined
    assert (bodies(update.timeline), update.is_limited) == (["news"], False)


async def test_one_event_of_any_form_costs_no_other(people: People, proxy: Proxy) -> None:
    """Forms that made nio's parser raise and lose the page, and entries that are no objects at all."""
    alice = await people.register("alice")
    room = await alice.create_room("Odd")
    await alice.send(room, {"msgtype": "m.text", "body": "null format", "format": None, "formatted_body": None})
    await alice.send(room, {"m.relates_to": 7, "body": "odd relation", "msgtype": "m.text"})
    await alice.send(room, {"body": "nul \0 byte", "msgtype": "m.text"})

    def spoil(page: dict[str, object]) -> dict[str, object]:
        chunk = page["chunk"]
        assert isinstance(chunk, list)
        odd: list[object] = [
            None,
            5,
            "text",
            [],
            {},
            {"type": "m.room.message"},
            {"origin_server_ts": "late", "content": {"body": "x"}},
        ]
        return {**page, "chunk": odd + chunk}

    proxy.add(Rule(rewrite(spoil), path="/messages", times=1))
    async with reading(proxy.url, alice) as reader:
        page = await reader.messages(RoomId(room), from_=None, direction="b", limit=100)
    assert page.odd == 4
    assert bodies(page.events) == ["x", "nul \0 byte", "odd relation", "null format"]


async def test_leaving_and_being_invited_is_told_by_sync_and_membership_by_joined_rooms(people: People) -> None:
    alice, reader_account = await people.register("alice"), await people.register("reader")
    kept, lost = await alice.create_room("Kept"), await alice.create_room("Lost")
    private = await alice.create_room("Private", preset="private_chat")
    await reader_account.join(kept)
    await reader_account.join(lost)
    async with reading(people.homeserver.url, reader_account) as reader:
        chosen, batch = await first_sync(reader)
        await alice.kick(lost, reader_account)
        await alice.invite(private, reader_account)
        batch = await reader.sync(batch.next_batch, filter_id=chosen)
        assert [update.room for update in batch.left] == [lost]
        assert [invitation.room for invitation in batch.invited] == [private]
        assert "m.room.member" in [text_at(event, "type") for event in batch.invited[0].state]
        assert await reader.joined_rooms() == {kept}


async def test_a_room_that_was_banned_from_or_deleted_is_refused(people: People) -> None:
    admin, alice = await people.register("root", is_admin=True), await people.register("alice")
    reader_account = await people.register("reader")
    banned, deleted = await alice.create_room("Banned"), await alice.create_room("Deleted")
    for room in (banned, deleted):
        await reader_account.join(room)
    await alice.ban(banned, reader_account)
    await admin.delete_room(deleted)
    async with reading(people.homeserver.url, reader_account) as reader:
        for room in (banned, deleted):
            with pytest.raises(RefusedError) as caught:
                await reader.messages(RoomId(room), from_=None, direction="b", limit=1)
            assert caught.value.status == 403
        assert await reader.joined_rooms() == frozenset()


async def test_state_holds_every_key_of_every_type_in_rooms_of_version_12_too(people: People) -> None:
    alice, reader_account = await people.register("alice"), await people.register("reader")
    room = await alice.create_room("Bridged", version="12")
    await alice.set_state(room, "uk.half-shot.bridge", {}, "irc://long/key")
    await reader_account.join(room)
    async with reading(people.homeserver.url, reader_account) as reader:
        state = await reader.state(RoomId(room))
        members = await reader.joined_members(RoomId(room))
    keys = {(text_at(event, "type"), text_at(event, "state_key")) for event in state.events}
    assert {("m.room.create", ""), ("uk.half-shot.bridge", "irc://long/key")} <= keys
    assert set(members) == {alice.user, reader_account.user}


async def test_a_lost_position_is_found_again_from_the_last_known_event(people: People) -> None:
    alice = await people.register("alice")
    room = await alice.create_room("Lost position")
    known = [EventId(await alice.say(room, f"word{number}")) for number in range(5)]
    async with reading(people.homeserver.url, alice) as reader:
        with pytest.raises(RefusedError) as caught:
            await reader.messages(RoomId(room), from_="a token of another server", direction="f", limit=10)
        assert caught.value.status == 400
        context = await reader.context(RoomId(room), known[2])
        assert context and context.event and text_at(context.event, "event_id") == known[2]
        newer = await reader.messages(RoomId(room), from_=context.end, direction="f", limit=10)
        older = await reader.messages(RoomId(room), from_=context.start, direction="b", limit=2)
        moment = await reader.event_at(RoomId(room), 2**53 - 1, "b")
        assert moment and moment.event == known[-1]
        assert await reader.context(RoomId(room), EventId("$" + "x" * 43)) is None
    assert bodies(newer.events) == ["word3", "word4"]
    assert bodies(older.events) == ["word1", "word0"]


async def test_a_missing_event_is_asked_for_once_more_and_then_is_nothing(people: People, proxy: Proxy) -> None:
    # Nheko-Reborn/nheko#1075
    alice, time = await people.register("alice"), FakeTime()
    room = await alice.create_room("Relations")
    said = EventId(await alice.say(room, "here"))
    proxy.add(Rule(answer(refuse(404, "M_NOT_FOUND")), path="/event/", times=1))
    async with reading(proxy.url, alice, time) as reader:
        event = await reader.event(RoomId(room), said)
        assert event and bodies([event]) == ["here"]
        assert time.slept == [1.0]
        assert await reader.event(RoomId(room), EventId("$" + "x" * 43)) is None
        assert await reader.event(RoomId(room), EventId("$" + "x" * 43), is_patient=False) is None
    assert len(proxy.requests) == 5


@pytest.mark.parametrize("hostile", ["", "..", "$", "no sigil", "$" + "x" * 60_000, "$\ud800", "$two\nlines"])
async def test_an_event_id_that_cannot_exist_is_not_asked_for(people: People, proxy: Proxy, hostile: str) -> None:
    alice = await people.register("alice")
    async with reading(proxy.url, alice) as reader:
        assert await reader.event(RoomId("!any:hs.test"), EventId(hostile)) is None
        assert await reader.context(RoomId("!any:hs.test"), EventId(hostile)) is None
    assert not proxy.requests


async def test_an_old_style_event_id_with_a_slash_arrives_whole(people: People, proxy: Proxy) -> None:
    alice = await people.register("alice")
    async with reading(proxy.url, alice) as reader:
        await reader.event(RoomId("!any:hs.test"), EventId("$a/b+c?d#e%25"), is_patient=False)
    (sent,) = proxy.requests
    assert sent.target.count("/") == 7
    assert sent.path.endswith("/event/$a/b+c?d#e%25")


async def test_what_the_account_ignores_marks_and_tags_is_told(people: People) -> None:
    alice, bob = await people.register("alice"), await people.register("bob")
    room = await alice.create_room("Marked")
    async with reading(people.homeserver.url, alice) as reader:
        assert (await reader.ignored_users(), await reader.direct_rooms(), await reader.tags(RoomId(room))) == (
            frozenset(),
            frozenset(),
            frozenset(),
        )
        await alice.ignore(bob)
        await alice.set_account_data("m.direct", {bob.user: [room, 5], "odd": None})
        await alice.tag(room, "m.server_notice")
        assert await reader.ignored_users() == {bob.user}
        assert await reader.direct_rooms() == {room}
        assert await reader.tags(RoomId(room)) == {"m.server_notice"}


async def test_an_alias_leads_to_the_room_it_points_to_now(people: People) -> None:
    alice = await people.register("alice")
    name = alice.user[1:].partition(":")[0]
    room, other = await alice.create_room("Before", alias=name), await alice.create_room("After")
    alias = f"#{name}:{people.homeserver.server_name}"
    async with reading(people.homeserver.url, alice) as reader:
        assert await reader.resolve(alias) == room
        await alice.remove_alias(alias)
        assert await reader.resolve(alias) is None
        await alice.add_alias(other, alias)
        assert await reader.resolve(alias) == other
        assert await reader.resolve("not an alias") is None


async def test_a_first_sync_may_be_out_of_date_and_joined_rooms_is_not(people: People) -> None:
    alice = await people.register("alice")
    async with reading(people.homeserver.url, alice) as reader:
        chosen, _ = await first_sync(reader)
        room = await alice.create_room("Joined in between")
        again = await reader.sync(None, filter_id=chosen)
        assert await reader.joined_rooms() == {room}
        (update,) = (await reader.sync(again.next_batch, filter_id=chosen)).joined
    assert update.room == room


async def test_a_homeserver_that_lost_its_newest_past_is_noticed(people: People) -> None:
    """A database restored from a backup counts on from an earlier event; Synapse itself says nothing of it."""
    alice = await people.register("alice")
    async with reading(people.homeserver.url, alice) as reader:
        chosen, batch = await first_sync(reader)
        assert not (await reader.sync(batch.next_batch, filter_id=chosen)).is_rewound
        ahead = re.sub(r"^s\d+", "s999999999", batch.next_batch)
        rewound = await reader.sync(ahead, filter_id=chosen)
        assert rewound.is_rewound
        assert not (await reader.sync(rewound.next_batch, filter_id=chosen)).is_rewound
