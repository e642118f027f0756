"""The bot among people, on a real homeserver."""

import asyncio

from tests.bot.town import Town, word
from tests.matrix.people import Person


async def room_with_bot(town: Town, alice: Person, name: str = "Asking") -> str:
    room = await alice.create_room(name)
    await town.bot.join(room)
    await town.reader.join(room)
    return room


async def test_a_question_is_answered_with_who_when_where_and_a_link(town: Town, alice: Person) -> None:
    room, needle = await room_with_bot(town, alice), word()
    said = await alice.say(room, f"rotate the {needle} once a year")
    await alice.say(room, "agreed, with the others")
    await town.refresh()
    town.permit({room: ["here"]})
    async with town.bot_running():
        content = await town.ask(alice, room, f"!search {needle}")
        name = alice.user[1:].partition(":")[0]
        assert content["msgtype"] == "m.notice" and content["m.mentions"] == {}
        assert content["body"].startswith(f"1. {name}, ")
        assert f"https://matrix.to/#/{room.replace(':', '%3A')}/{said.replace(':', '%3A')}" in content["body"]
        assert f"{name}: rotate the {needle} once a year\n{name}: agreed, with the others" in content["body"]
        assert f"<b>{needle}</b>" in content["formatted_body"]
        nothing = await town.ask(alice, room, f"!search {word()}")
        assert nothing["body"] == "Nothing found."
