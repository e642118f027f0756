"""What was quoted and then went is taken back: by what a sync tells, by what a refresh finds, by what the rules are."""

from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from bot.checking import Checker
from bot.memory import Given, News, Quote, open_memory
from bot.withdrawal import Withdrawals
from index.model import ChunkId, EventId, RoomId, SourceId, UserId
from matrix.errors import UnavailableError
from tests.bot.town import Json, Town, word
from tests.matrix.people import Person


async def visible(town: Town, room: str, answer: Json) -> str:
    """What anybody can still read of an answer: its own text and that of its edits."""
    events = await town.bot.messages(room)
    related = [
        event
        for event in events
        if event["event_id"] == answer["event_id"]
        or event["content"].get("m.relates_to", {}).get("event_id") == answer["event_id"]
    ]
    return str([event["content"] for event in related])


async def gone(town: Town, room: str, answer: Json, text: str) -> None:
    async def is_gone() -> bool:
        return text not in await visible(town, room, answer)

    await town.until(is_gone)


async def test_an_answer_goes_when_what_it_quotes_is_redacted_or_edited(town: Town, alice: Person) -> None:
    """In rooms that the bot is in and in one that only the reader sees; while it runs and while it does not."""
    words = {name: word() for name in ("redacted", "edited", "elsewhere", "revised", "meanwhile", "kept")}
    room = await town.room(alice)
    far = await alice.create_room("Far", invite=[town.reader])
    await town.reader.join(far)
    said = {}
    for name, text in words.items():
        place = far if name == "elsewhere" else room
        # Threads, so that no answer quotes two of them.
        said[name] = await alice.thread(place, await alice.say(place, "well"), f"here is {text}")
    revision = await alice.edit(room, said["revised"], f"here is {words['revised']} again")
    await town.refresh()
    town.permit({room: ["here", "public"]})
    answers: dict[str, Json] = {}
    async with town.bot_running():
        for name, text in words.items():
            answers[name] = await town.answer(room, await alice.say(room, f"!search {text}"))
            assert text in answers[name]["content"]["body"]
        mallory = await town.people.register("mallory")
        await mallory.join(room)
        await mallory.edit(room, said["kept"], "forged")
        await alice.redact(room, said["redacted"])
        await alice.edit(room, said["edited"], "never mind")
        await alice.redact(far, said["elsewhere"])
        await alice.redact(room, revision)
        for name in ("redacted", "edited", "elsewhere", "revised"):
            await gone(town, room, answers[name], words[name])
        assert words["meanwhile"] in await visible(town, room, answers["meanwhile"])
    await alice.redact(room, said["meanwhile"])
    async with town.bot_running():
        await gone(town, room, answers["meanwhile"], words["meanwhile"])
    assert words["kept"] in await visible(town, room, answers["kept"])


@pytest.mark.parametrize("runs", [True, False])
async def test_an_answer_that_could_not_be_taken_back_goes_when_the_bot_is_let_in_again(
    town: Town, alice: Person, runs: bool
) -> None:
    needle = word()
    room = await town.room(alice)
    said = await alice.thread(room, await alice.say(room, "well"), f"here is {needle}")
    await town.refresh()
    town.permit({room: ["here"]})
    with capture_logs() as logs:
        async with town.bot_running():
            answer = await town.answer(room, await alice.say(room, f"!search {needle}"))
            await alice.kick(room, town.bot)
            await alice.redact(room, said)

            async def is_refused() -> bool:
                return any(entry["event"] == "bot.answer_stays" for entry in logs)

            await town.until(is_refused)
            if runs:
                await alice.invite(room, town.bot)
                await town.bot.join(room)
                await gone(town, room, answer, needle)
    if not runs:
        await alice.invite(room, town.bot)
        await town.bot.join(room)
        async with town.bot_running():
            await gone(town, room, answer, needle)


async def test_what_cannot_be_looked_at_is_tried_less_and_less_often_and_holds_up_nothing(tmp_path: Path) -> None:
    looks: list[EventId] = []
    clock = iter(range(100_000))  # a second each time that it is looked at

    class Ill:
        async def look(self, room: RoomId, event: EventId) -> None:
            looks.append(event)
            if event == "$ill":
                raise UnavailableError("the homeserver cannot serve it")

    async with open_memory(tmp_path / "bot.sqlite") as memory:
        unused: Any = None
        withdrawals = Withdrawals(
            memory, unused, unused, unused, cast(Checker, Ill()), unused, clock=lambda: next(clock)
        )
        for event in ("$ill", "$well"):
            quote = Quote(SourceId("chat:!r"), ChunkId(1), EventId(event))
            await memory.intend(
                Given(
                    EventId(f"{event} asked"),
                    RoomId("!r"),
                    UserId("@a:x"),
                    is_direct=False,
                    event=None,
                    quotes=(quote,),
                ),
                now_ms=1,
            )
            await memory.sent(EventId(f"{event} asked"), EventId(f"{event} answer"))
        await memory.take("@bot:x", "s", News(unclear=[SourceId("chat:!r")]), now_ms=1)
        for _ in range(300):
            await withdrawals.look_again()
        [going] = await memory.in_state("going")
        [doubtful] = await memory.in_state("doubtful")
    assert (going.event, doubtful.event) == ("$well answer", "$ill answer")
    assert looks.count(EventId("$well")) == 1 and 10 <= looks.count(EventId("$ill")) <= 60


async def test_an_answer_goes_when_its_source_is_purged_or_leaves_the_audience(town: Town, alice: Person) -> None:
    words = {name: word() for name in ("purged", "shut", "unlisted", "left", "kept")}
    room = await town.room(alice, f"here is {words['kept']}")
    rooms = {}
    for name in ("purged", "shut", "unlisted", "left"):
        rooms[name] = await alice.create_room(name, invite=[town.reader])
        await town.reader.join(rooms[name])
        await alice.say(rooms[name], f"here is {words[name]}")
    await town.refresh()
    town.permit({room: ["here", "public", rooms["unlisted"]]})
    await alice.set_state(rooms["unlisted"], "m.room.join_rules", {"join_rule": "invite"})
    answers: dict[str, Json] = {}
    config_file = town.folder / "sources.toml"
    config_file.write_text(town.written())
    async with town.bot_running(config_file) as bot:
        for name, text in words.items():
            answers[name] = await town.answer(room, await alice.say(room, f"!search {text}"))
            assert text in answers[name]["content"]["body"]
        await alice.set_state(rooms["shut"], "m.room.join_rules", {"join_rule": "invite"})
        await gone(town, room, answers["shut"], words["shut"])
        # What no sync tells: the host erases a user's words, and the reader leaves a room.
        town.set_chat(exclude=(rooms["purged"],))
        await town.reader.leave(rooms["left"])
        await town.refresh()
        await gone(town, room, answers["purged"], words["purged"])
        await gone(town, room, answers["left"], words["left"])
        town.permit({room: ["here", "public"]})
        config_file.write_text(town.written())
        bot.want_reload()
        await gone(town, room, answers["unlisted"], words["unlisted"])
        config_file.write_text("this is no configuration")
        bot.want_reload()
        assert words["kept"] in (await town.ask(alice, room, f"!search {words['kept']}"))["body"]
    assert words["kept"] in await visible(town, room, answers["kept"])


@pytest.mark.parametrize("remembers", [True, False])
async def test_where_edits_are_preferred_the_other_hits_stay_as_long_as_they_are_remembered(
    town: Town, alice: Person, remembers: bool
) -> None:
    needle, first, second = word(), word(), word()
    room = await town.room(alice)
    said = {}
    for text in (first, second):
        said[text] = await alice.thread(room, await alice.say(room, "well"), f"{needle} {text}")
    await town.refresh()
    town.permit({room: ["here"]})
    town.set_bot(withdraw="edit")

    async def newest(answer: Json) -> str:
        found: Any = await town.bot.event(room, answer["event_id"])
        edits = found["unsigned"].get("m.relations", {}).get("m.replace", {})
        return str(edits.get("content", {}).get("m.new_content", found["content"])["body"])

    async def becomes(answer: Json, *, has: str, lacks: str) -> None:
        async def is_so() -> bool:
            body = await newest(answer)
            return has in body and lacks not in body

        await town.until(is_so)

    async with town.bot_running():
        answer = await town.answer(room, await alice.say(room, f"!search {needle}"))
        assert first in answer["content"]["body"] and second in answer["content"]["body"]
        if remembers:
            await alice.redact(room, said[first])
            await becomes(answer, has="(withdrawn", lacks=first)
            assert second in await newest(answer)
            await alice.redact(room, said[second])
            await becomes(answer, has="ask again for what is left", lacks=second)
    if not remembers:
        await alice.redact(room, said[first])
        async with town.bot_running():
            await becomes(answer, has="ask again for what is left", lacks=first)
            assert second not in await newest(answer)
