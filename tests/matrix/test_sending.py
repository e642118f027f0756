"""What the bot sends arrives once, also when the answer to it is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from index.errors import MatrixError
from index.model import EventId, RoomId
from matrix.budget import BOT_BUDGET
from matrix.calls import Mode
from matrix.errors import ForbiddenCallError, RefusedError, UnavailableError
from matrix.sending import HomeserverSender, replacement
from matrix.session import open_session
from matrix.shape import JsonObject
from tests.matrix.people import People, Person
from tests.matrix.proxy import Proxy, Rule, limited, lost_answer
from tests.matrix.timing import FakeTime

NOTICE: JsonObject = {"msgtype": "m.notice", "body": "found it", "m.mentions": {}}


@asynccontextmanager
async def sending(
    url: str, who: Person, *, mode: Mode = Mode.BOT, time: FakeTime | None = None
) -> AsyncIterator[HomeserverSender]:
    timing = (time or FakeTime()).timing()
    async with open_session(url, who.token, mode, BOT_BUDGET, timing) as session:
        yield HomeserverSender(session)


async def said_in(who: Person, room: str) -> list[object]:
    return [event["content"].get("body") for event in await who.messages(room) if event["type"] == "m.room.message"]


async def test_an_answer_is_sent_edited_and_withdrawn(people: People) -> None:
    alice, bot = await people.register("alice"), await people.register("bot")
    room = await alice.create_room("Asking")
    async with sending(people.homeserver.url, bot) as sender:
        assert await sender.join(room) == room
        assert await sender.join(room) == room
        sent = await sender.send(RoomId(room), NOTICE, transaction="one")
        edited = await sender.edit(RoomId(room), sent, {**NOTICE, "body": "one hit was withdrawn"}, transaction="two")
        assert await said_in(alice, room) == ["found it", "* one hit was withdrawn"]
        replaced = (await alice.event(room, sent))["unsigned"]["m.relations"]["m.replace"]
        assert (replaced["event_id"], replaced["content"]["m.new_content"]["body"]) == (edited, "one hit was withdrawn")
        await sender.redact(RoomId(room), sent, transaction="three", reason="its source is gone")
        assert (await alice.event(room, sent))["content"] == {}
        await sender.leave(RoomId(room))
        await sender.leave(RoomId(room))
        with pytest.raises(RefusedError, match="403"):
            await sender.send(RoomId(room), NOTICE, transaction="four")


async def test_an_answer_whose_receipt_was_lost_is_not_said_twice(people: People, proxy: Proxy) -> None:
    alice = await people.register("alice")
    room = await alice.create_room("Lossy")
    proxy.add(Rule(lost_answer(), times=2))
    async with sending(proxy.url, alice) as sender:
        sent = await sender.send(RoomId(room), NOTICE, transaction="same")
        assert await sender.send(RoomId(room), NOTICE, transaction="same") == sent
    assert await said_in(alice, room) == ["found it"]


async def test_many_answers_at_once_arrive_once_each(people: People) -> None:
    alice = await people.register("alice")
    room = await alice.create_room("Burst")
    async with sending(people.homeserver.url, alice) as sender:
        await asyncio.gather(
            *(
                sender.send(RoomId(room), {**NOTICE, "body": str(number)}, transaction=f"burst-{number}")
                for number in [*range(10), *range(10)]
            )
        )
    assert sorted(map(str, await said_in(alice, room))) == [str(number) for number in range(10)]


async def test_an_answer_that_is_limited_for_long_is_given_up_soon(people: People, proxy: Proxy) -> None:
    alice, time = await people.register("alice"), FakeTime()
    room = await alice.create_room("Limited")
    proxy.add(Rule(limited(retry_after="3600"), method="PUT"))
    async with sending(proxy.url, alice, time=time) as sender:
        with pytest.raises(UnavailableError):
            await sender.send(RoomId(room), NOTICE, transaction="late")
    assert sum(time.slept) <= 2 * BOT_BUDGET.retry_after_cap_s
    assert len(proxy.requests) == BOT_BUDGET.max_attempts


async def test_the_roster_may_come_and_go_but_not_speak(people: People) -> None:
    alice, reader = await people.register("alice"), await people.register("reader")
    room = await alice.create_room("Quiet")
    async with sending(people.homeserver.url, reader, mode=Mode.ROSTER) as sender:
        await sender.join(room)
        with pytest.raises(ForbiddenCallError):
            await sender.send(RoomId(room), NOTICE, transaction="one")
        await sender.leave(RoomId(room))


def test_an_edit_carries_its_content_twice_and_no_new_relation() -> None:
    target = EventId("$original")
    content: JsonObject = {
        **NOTICE,
        "formatted_body": "<b>found</b>",
        "m.relates_to": {"m.in_reply_to": {"event_id": "$other"}},
    }
    edit = replacement(target, content)
    fresh = {**NOTICE, "formatted_body": "<b>found</b>"}
    assert edit == {
        **fresh,
        "body": "* found it",
        "formatted_body": "* <b>found</b>",
        "m.new_content": fresh,
        "m.relates_to": {"rel_type": "m.replace", "event_id": "$original"},
    }
    with pytest.raises(MatrixError, match="replace the original"):
        replacement(target, edit)
