"""Each hidden text is a word of its own: none ever stands in what the bot says or logs, and each allowed one does."""

import itertools
import json

import pytest

from tests.bot.town import Town, word
from tests.matrix.people import Person

RULES = ("public", "invite", "knock")
VISIBILITIES = ("world_readable", "shared", "invited", "joined")


async def source_room(town: Town, owner: Person, rule: str, visibility: str, *, text: str) -> str:
    """A room that the reader is in, with one message."""
    joining = {"type": "m.room.join_rules", "state_key": "", "content": {"join_rule": rule}}
    room = await owner.create_room(
        f"{rule} {visibility}",
        preset="private_chat",
        history=visibility,
        initial_state=[joining],
        invite=[town.reader, town.bot],
    )
    await town.reader.join(room)
    await owner.say(room, f"we talked of {text} for long")
    return room


async def asking_room(town: Town, owner: Person, *, text: str) -> str:
    room = await source_room(town, owner, "invite", "shared", text=text)
    await town.bot.join(room)
    return room


async def seen(town: Town, who: Person, room: str, words: list[str]) -> set[str]:
    """Which of the words the pages of one question show."""
    found: set[str] = set()
    text = f"!search {' '.join(words)}"
    while True:
        body = str((await town.ask(who, room, text))["body"])
        if body.startswith(("Nothing found.", "There is nothing more.")):
            return found
        found |= {one for one in words if one in body}
        text = "!search more"


async def test_no_room_reads_another_one_through_the_bot(
    town: Town, alice: Person, capfd: pytest.CaptureFixture[str]
) -> None:
    """Asking rooms x source rooms x join rules x history x membership of the asker, of the bot and of the reader."""
    bob = await town.people.register("bob")
    rooms: dict[str, str] = {}  # word to room
    kinds: dict[str, tuple[str, str]] = {}
    for rule, visibility in itertools.product(RULES, VISIBILITIES):
        text = word()
        rooms[text] = await source_room(town, alice, rule, visibility, text=text)
        kinds[text] = (rule, visibility)
    bots = word()  # a room that the bot is in and that nobody else may see: its own membership opens nothing
    rooms[bots] = await asking_room(town, alice, text=bots)
    left, member = word(), word()  # one that the reader left, one that bob is in
    rooms[left] = await source_room(town, alice, "public", "shared", text=left)
    rooms[member] = await source_room(town, alice, "invite", "shared", text=member)
    await alice.invite(rooms[member], bob)
    await bob.join(rooms[member])
    own = {name: word() for name in ("alone", "open", "listed", "nothing")}
    asking = {name: await asking_room(town, bob, text=text) for name, text in own.items()}
    rooms |= {own[name]: room for name, room in asking.items()}
    town.set_chat(history=VISIBILITIES)
    await town.refresh()
    await town.reader.leave(rooms[left])
    direct = await bob.create_room(preset="trusted_private_chat", invite=[town.bot], is_direct=True)
    await town.bot.join(direct)
    private_word = next(text for text, kind in kinds.items() if kind == ("invite", "joined"))
    town.permit(
        {
            asking["alone"]: ["here"],
            asking["open"]: ["here", "public", "#nowhere:hs.test"],
            asking["listed"]: [rooms[private_word], "repo:none"],
            asking["nothing"]: ["forge:public", "notes:public"],
        }
    )
    town.set_bot(hits=10, direct=True, direct_sees=("joined",))
    everything = list(rooms)
    public = {text for text, kind in kinds.items() if kind in (("public", "world_readable"), ("public", "shared"))}
    async with town.bot_running():
        expected = {
            "alone": {own["alone"]},
            "open": {own["open"], *public},
            "listed": {private_word},
            "nothing": set(),
        }
        for name, words in expected.items():
            assert await seen(town, bob, asking[name], everything) == words, name
        assert await seen(town, bob, direct, everything) == {member, *own.values()}
        hidden = await town.ask(bob, asking["alone"], f"!search {private_word}")
        absent = await town.ask(bob, asking["alone"], f"!search {word()}")
        named = await town.ask(bob, asking["alone"], f"!search {private_word} in:{rooms[private_word]}")
        assert hidden["body"] == absent["body"] == named["body"] == "Nothing found."
        closed = await town.ask(bob, asking["nothing"], f"!search {private_word}")
        nowhere = await town.ask(bob, asking["nothing"], f"!search {word()}")
        assert closed["body"] == nowhere["body"] and "Nothing that may be shown here was read yet" in closed["body"]
        # What is decided is what holds now, not at the last refresh.
        shut = next(text for text, kind in kinds.items() if kind == ("public", "shared"))
        await alice.set_state(rooms[shut], "m.room.join_rules", {"join_rule": "invite"})
        narrowed = next(text for text, kind in kinds.items() if kind == ("public", "world_readable"))
        await alice.set_state(rooms[narrowed], "m.room.history_visibility", {"history_visibility": "joined"})
        await alice.kick(rooms[member], bob)
        assert await seen(town, bob, asking["open"], everything) == {own["open"]}
        assert await seen(town, bob, direct, everything) == set(own.values())
    allowed = {
        asking["alone"]: {own["alone"]},
        asking["open"]: {own["open"], *public},
        asking["listed"]: {private_word},
        asking["nothing"]: set[str](),
        direct: {member, *own.values()},
    }
    for room in (*rooms.values(), direct):
        if room in await town.bot.joined_rooms():
            told = json.dumps(await town.said(room))
            assert {text for text in rooms if text in told} <= allowed.get(room, set()), room
    logged = "".join(capfd.readouterr())
    assert "bot.answered" in logged
    assert not [text for text in everything if text in logged]


async def test_with_the_bots_eyes_only_rooms_that_it_is_in_are_quoted(town: Town, alice: Person) -> None:
    far, near = word(), word()
    await source_room(town, alice, "public", "shared", text=far)
    both = await source_room(town, alice, "public", "shared", text=near)
    await town.bot.join(both)
    asking = await asking_room(town, alice, text=word())
    await town.refresh()
    town.permit({asking: ["public"]})
    town.set_bot(looks_with="bot")
    async with town.bot_running():
        assert await seen(town, alice, asking, [far, near]) == {near}


async def test_a_direct_chat_is_one_only_while_nobody_else_is_in_it(town: Town, alice: Person) -> None:
    bob, text = await town.people.register("bob"), word()
    await source_room(town, alice, "invite", "shared", text=text)
    direct = await alice.create_room(preset="trusted_private_chat", invite=[town.bot], is_direct=True)
    witness = await asking_room(town, alice, text=word())
    await town.bot.join(direct)
    await town.refresh()
    town.permit({witness: ["here"]})
    async with town.bot_running():
        asked = await alice.say(direct, f"!search {text}")
        await town.silence(alice, direct, witness)
        assert await town.answers_to(direct, asked) == [], "direct chats are off unless the host wants them"
    town.set_bot(direct=True)
    async with town.bot_running():
        answer = await town.answer(direct, await alice.say(direct, f"!search {text}"))
        assert text in answer["content"]["body"]
        await alice.invite(direct, bob)

        async def is_taken_back() -> bool:
            return not (await town.bot.event(direct, answer["event_id"]))["content"]

        await town.until(is_taken_back)
        asked = await alice.say(direct, f"!search {text}")
        await town.silence(alice, direct, witness)
        assert await town.answers_to(direct, asked) == []
