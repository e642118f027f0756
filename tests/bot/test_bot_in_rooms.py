"""The bot among people, on a real homeserver: what it answers, how, and what it keeps silent about."""

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.settings import OLDEST_COMMAND_MS
from index.model import EventId, RoomId
from index.store.rooms import ADMITTED, READING, RoomRecord, save_room
from index.store.store import open_store
from matrix.links import event_link
from sources.checks.bot import probe
from sources.config.source_tables import Notes
from tests.bot.town import Town, word
from tests.matrix.people import Person


def bare(who: Person) -> str:
    return who.user[1:].partition(":")[0]


async def test_a_question_is_answered_with_who_when_where_and_a_link(town: Town, alice: Person) -> None:
    needle = word()
    room = await town.room(alice)
    said = await alice.say(room, f"rotate the {needle} once a year")
    await alice.say(room, "agreed, with the others")
    await town.refresh()
    town.permit({room: ["here"]})
    async with town.bot_running():
        asked = await alice.say(room, f"!search {needle}")
        content = (await town.answer(room, asked))["content"]
        assert content["msgtype"] == "m.notice" and content["m.mentions"] == {}
        assert content["m.relates_to"] == {"m.in_reply_to": {"event_id": asked}}
        first, second, third = content["body"].split("\n")
        assert first.startswith(f"1. {bare(alice)}, 20") and ", Asking · " in first
        assert event_link(town.room_id(room), EventId(said), ["hs.test"]) in first
        assert second == f"{bare(alice)}: rotate the {needle} once a year"
        assert third == f"{bare(alice)}: agreed, with the others"
        assert f"<strong>{needle}</strong>" in content["formatted_body"]
        # In a thread the answer stays in it.
        asked = await alice.thread(room, said, f"!search {needle}")
        relation = (await town.answer(room, asked))["content"]["m.relates_to"]
        assert (relation["rel_type"], relation["event_id"]) == ("m.thread", said)
        assert relation["m.in_reply_to"] == {"event_id": asked}
        by_name = await town.ask(alice, room, f"{bare(town.bot)}: {needle}")
        assert needle in by_name["body"]


async def test_what_is_quoted_is_what_the_room_says_now(town: Town, alice: Person) -> None:
    """Edited, redacted and covered since the last refresh; nobody waits for the next one."""
    edited, redacted, replaced, covered, puzzle = (word() for _ in range(5))
    room = await town.room(alice)
    changing = await alice.say(room, f"the harbour is {edited}")
    going = await alice.say(room, f"the other port is {redacted}")
    spoiler = f'the {puzzle} was <span data-mx-spoiler="who">{covered}</span> all along'
    hiding = await alice.say(room, f"who was the {puzzle}? {covered}")
    mallory = await town.people.register("mallory")
    await mallory.join(room)
    await town.refresh()
    await alice.edit(room, changing, f"the harbour is {replaced} with token ghp_{'a1B2' * 9}")
    await mallory.edit(room, hiding, "forged")
    await alice.redact(room, going)
    await alice.edit(room, hiding, "covered", format="org.matrix.custom.html", formatted_body=spoiler)
    town.permit({room: ["here"]})
    async with town.bot_running():
        body = (await town.ask(alice, room, "!search harbours"))["body"]
        assert replaced in body and edited not in body
        assert "ghp_" not in body and "redacted:" in body
        assert (await town.ask(alice, room, f"!search {redacted}"))["body"] == "Nothing found."
        body = (await town.ask(alice, room, f"!search {puzzle}"))["body"]
        assert covered not in body and "forged" not in body and "‹spoiler›" in body


async def test_a_word_that_was_edited_away_leads_nowhere(town: Town, alice: Person) -> None:
    """Who could find the new text by it would know what stood there."""
    gone, kept, elsewhere = (word() for _ in range(3))
    room = await town.room(alice)
    changing = await alice.say(room, f"the harbour key is {gone}")
    said_twice = await alice.say(room, f"see {elsewhere} {elsewhere} for that")
    await alice.say(room, f"once more, {elsewhere}")
    await alice.say(room, f"it is {kept}, they say")
    mended = await alice.thread(room, changing, f"teh {kept} quay")
    await town.refresh()
    await alice.edit(room, changing, "the harbour key is with the warden")
    await alice.edit(room, said_twice, "never mind")
    await alice.edit(room, mended, f"the {kept} quay")
    town.permit({room: ["here"]})
    async with town.bot_running():
        for question in (gone, f"harbour key {gone}", f'"key is {gone}"', gone[:6]):
            assert (await town.ask(alice, room, f"!search {question}"))["body"] == "Nothing found.", question
        assert "with the warden" in (await town.ask(alice, room, "!search harbour key"))["body"]
        body = (await town.ask(alice, room, f"!search {elsewhere}"))["body"]
        assert f"once more, {elsewhere}" in body and "never mind" not in body, "another message of it says the same"
        assert f"the {kept} quay" in (await town.ask(alice, room, f"!search {kept} quay"))["body"]
        await town.refresh()
        assert (await town.ask(alice, room, f"!search {gone}"))["body"] == "Nothing found."
        assert "never mind" in (await town.ask(alice, room, "!search never mind"))["body"]


async def test_operators_alone_list_the_newest_that_the_room_may_see(town: Town, alice: Person) -> None:
    bob = await town.people.register("bob")
    room, hidden = await town.room(alice), await town.room(bob, "of another room", name="Hidden")
    await bob.join(room)
    for number in range(3):
        await bob.thread(room, await alice.say(room, "well"), f"bob says {number}")
    root = await alice.say(room, "and")
    changing = await bob.thread(room, root, "teh last")
    await alice.thread(room, root, "alice ends it")
    await town.refresh()
    await bob.edit(room, changing, "the last")
    town.permit({room: ["here"], hidden: ["here"]})
    town.set_bot(hits=2)
    async with town.bot_running():
        first = (await town.ask(alice, room, f"!search from:{bob.user}"))["body"]
        assert first.index("the last") < first.index("bob says 2") and "2 more" in first
        assert "alice ends it" not in first.split("\n")[1]
        second = (await town.ask(alice, room, "!search more"))["body"]
        assert second.index("bob says 1") < second.index("bob says 0")
        assert (await town.ask(alice, room, "!search more"))["body"] == "There is nothing more."
        assert (await town.ask(alice, room, f"!search in:{hidden}"))["body"] == "Nothing found."
        assert "of another room" in (await town.ask(bob, hidden, "!search corpus:chat"))["body"]
        assert "what to look for" in (await town.ask(alice, room, f"!search from:{bob.user} -bob"))["body"]


async def test_pages_go_on_where_the_last_one_ended(town: Town, alice: Person) -> None:
    needle = word()
    room = await town.room(alice)
    bob = await town.people.register("bob")
    await bob.join(room)
    for number in range(5):  # threads, so that each is a window of its own
        await alice.thread(room, await alice.say(room, "well"), f"{needle} number {number}")
    await town.refresh()
    town.permit({room: ["here"]})
    town.set_bot(hits=2)
    async with town.bot_running():
        assert "go on with" in (await town.ask(alice, room, "!search more"))["body"]
        first = await town.answer(room, await alice.say(room, f"!search {needle}"))
        assert first["content"]["body"].endswith("3 more: !search more, or react with ▶.")
        # Somebody else's arrow turns no page; the asker's does, and the answer belongs to the answer.
        await bob.react(room, first["event_id"], "▶️")
        await alice.react(room, first["event_id"], "▶️")
        second = await town.answer(room, first["event_id"])
        assert second["content"]["body"].startswith("3. ")
        third = (await town.ask(alice, room, "!search more"))["body"]
        assert third.startswith("5. ") and "more" not in third
        bodies = [event["content"]["body"] for event in await town.said(room)]
        shown = [body.partition(f"{needle} number ")[2][:1] for text in bodies for body in text.split("\n\n")]
        assert sorted(filter(str.isdigit, shown)) == ["0", "1", "2", "3", "4"]
        assert (await town.ask(alice, room, "!search more"))["body"] == "There is nothing more."
        assert "go on with" in (await town.ask(bob, room, "!search more"))["body"]


async def test_an_arrow_asks_something_only_on_an_answer_and_its_page_stays_in_the_thread(
    town: Town, alice: Person
) -> None:
    needle = word()
    room = await town.room(alice)
    for number in range(2):
        await alice.thread(room, await alice.say(room, "well"), f"{needle} number {number}")
    await town.refresh()
    town.permit({room: ["here"]})
    town.set_bot(hits=1, per_user=2)
    async with town.bot_running():
        for number in range(3):  # no commands: they use up no budget
            await alice.react(room, await alice.say(room, f"plain words {number}"), "▶")
        root = await alice.say(room, "a thread")
        first = await town.answer(room, await alice.thread(room, root, f"!search {needle}"))
        await alice.react(room, first["event_id"], "▶")
        second = (await town.answer(room, first["event_id"]))["content"]
    assert second["body"].startswith("2. ")
    assert (second["m.relates_to"]["rel_type"], second["m.relates_to"]["event_id"]) == ("m.thread", root)
    assert len(await town.said(room)) == 2


async def test_the_permission_to_answer_goes_along_with_an_upgrade_and_the_old_text_does_not(
    town: Town, alice: Person
) -> None:
    old, new = word(), word()
    room = await town.room(alice, f"here is {old}", version="11")
    town.permit({room: ["here", room]})
    town.set_bot(inviters=(alice.user,))
    async with town.bot_running():
        heir = await alice.upgrade(room, "12")
        await alice.invite(heir, town.reader)
        await town.reader.join(heir)
        await alice.say(heir, f"here is {new}")
        await town.refresh()
        await alice.invite(heir, town.bot)  # joins, for who invites is listed
        await town.until(lambda: _has_joined(town, heir))
        assert new in (await town.ask(alice, heir, f"!search {new}"))["body"]
        assert (await town.ask(alice, heir, f"!search {old}"))["body"] == "Nothing found."
        # A tombstone can point anywhere: into a room that knows nothing of it, nothing goes along.
        stranger = await alice.create_room("Stranger")
        await alice.set_state(heir, "m.room.tombstone", {"body": "", "replacement_room": stranger})
        await alice.invite(stranger, town.bot)
        await town.until(lambda: _has_joined(town, stranger))
        asked = await alice.say(stranger, "!search help")
        assert new in (await town.ask(alice, heir, f"!search {new}"))["body"]
        assert await town.answers_to(stranger, asked) == []


async def _has_joined(town: Town, room: str) -> bool:
    return room in await town.bot.joined_rooms()


async def test_the_bot_keeps_silent_about_all_that_is_not_asked_of_it(town: Town, alice: Person) -> None:
    room = await town.room(alice)
    other = await town.room(alice, name="Not permitted")
    robot = await town.people.register("robot")
    await robot.join(room)
    puppet = await town.people.puppet("_bridge_slow")
    await puppet.join(room)
    before = await alice.say(room, "!search help")
    await town.refresh()
    town.permit({room: ["here"]})
    town.set_bot(ignore=(robot.user,))
    async with town.bot_running():
        now_ms = time.time_ns() // 1_000_000
        unanswered = [
            before,
            await alice.say(room, "!search help", msgtype="m.notice"),
            await alice.say(room, "!search help", msgtype="m.emote"),
            await alice.edit(room, before, "!search help"),
            await robot.say(room, "!search help"),
            await puppet.say(room, "!search help", ts=now_ms - OLDEST_COMMAND_MS - 5_000),
            await alice.send(room, {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x"}, "m.room.encrypted"),
            await alice.say(other, "!search help"),
        ]
        quoting = await alice.reply(room, before, "> <@x:hs.test> !search help\n\nthis is what I typed")
        assert "exact phrase" in (await town.ask(alice, room, "!search help"))["body"]
        assert "what to look for" in (await town.ask(alice, room, "!search"))["body"]
    answered = {event["content"]["m.relates_to"]["m.in_reply_to"]["event_id"] for event in await town.said(room)}
    assert not answered & {*unanswered, quoting}
    assert len(await town.said(room)) == 2 and await town.said(other) == []


async def test_nothing_is_said_in_the_clear_once_a_room_is_encrypted(town: Town, alice: Person) -> None:
    room = await town.room(alice, "the cellar key hangs behind the meter")
    witness = await town.room(alice, name="Witness")
    await town.refresh()
    town.permit({room: ["here"], witness: ["here"]})
    async with town.bot_running():
        assert "cellar key" in (await town.ask(alice, room, "!search cellar key"))["body"]
        await alice.set_state(room, "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})
        unanswered = [await alice.say(room, text) for text in ("!search cellar key", "!search help")]
        await town.silence(alice, room, witness)
    assert [await town.answers_to(room, one) for one in unanswered] == [[], []]
    found = {one.name: one for one in await probe(town.config, town.credentials)}
    assert "encrypted" in found[f"bot {room}"].detail and "answers in 1 room" in found["bot"].detail


async def test_a_bot_that_is_put_out_tells_its_host_and_answers_when_it_is_back(
    town: Town, alice: Person, capfd: pytest.CaptureFixture[str]
) -> None:
    room, witness = await town.room(alice), await town.room(alice, name="Witness")
    await town.refresh()
    town.permit({room: ["here"], witness: ["here"]})
    town.set_bot(inviters=(alice.user,))

    async def is_back() -> bool:
        return room in await town.bot.joined_rooms()

    async with town.bot_running():
        await alice.ban(room, town.bot)
        unheard = await alice.say(room, "!search help")
        await town.silence(alice, room, witness)
        told = [line for line in "".join(capfd.readouterr()).splitlines() if "bot.put_out" in line]
        assert len(told) == 1 and room in told[0]
        await alice.unban(room, town.bot)
        await alice.invite(room, town.bot)
        await town.until(is_back)
        assert "exact phrase" in (await town.ask(alice, room, "!search help"))["body"]
        assert await town.answers_to(room, unheard) == []


async def test_hostile_questions_get_an_answer_or_a_help_line(town: Town, alice: Person) -> None:
    room = await town.room(alice, "@room <b>look</b> \u202ehere\u2066 https://matrix.to/#/@alice:hs.test \x00 end")
    await town.refresh()
    town.permit({room: ["here"]})
    hostile = [
        '"foo',
        "-foo",
        "NOT",
        "a:b",
        "*",
        "foo* OR NEAR(bar)",
        "(((",
        '"a" "b\' ` ; DROP TABLE chunk; --',
        "from:@room",
        "in:#x before:yesterday",
        "<script>alert(1)</script> @room",
        "\u202egnp.exe \x00 \ud7ff",
        "x" * 60_000,
        "“nested „quotes“ in” «quotes»",
        "corpus:сhat",
        "body:look {look} ^look",
    ]
    async with town.bot_running():
        for text in hostile:
            body = str((await town.ask(alice, room, f"!search {text}"))["body"])
            assert body and len(body) < 2_000
            assert "Traceback" not in body and "@room" not in body
        content = await town.ask(alice, room, "!search look here")
        assert "@room" not in content["body"] + content["formatted_body"]
        assert "@alice" not in content["body"] + content["formatted_body"]
        assert "<strong>look</strong>" in content["formatted_body"], "the mark of a found word, no markup of theirs"
        assert "&lt;b&gt;<strong>look</strong>&lt;/b&gt;" in content["formatted_body"]
        assert not {"\u202e", "\u2066", "\x00"} & set(content["body"])


async def test_members_can_ask_what_is_kept_of_their_room(town: Town, alice: Person) -> None:
    room = await town.room(alice, "hello")
    shut = await town.room(alice, "hello", name="Never read", history="joined")
    board = await town.room(alice, "hello", name="Board", alias="board-" + word())
    await town.refresh()
    alias = f"#{(await alice.call('GET', f'/rooms/{board}/aliases'))['aliases'][0][1:]}"
    town.permit({room: ["here"], shut: ["here"], alias: [room, "public"]})
    town.set_bot(contact="the operators")
    async with town.bot_running():
        body = (await town.ask(alice, room, "!search about"))["body"]
        assert "This room is indexed" in body and "the operators" in body
        assert f"here; {alias}; where public rooms are shown" in body
        assert "delete it" in body
        body = (await town.ask(alice, shut, "!search about"))["body"]
        assert "not indexed" in body and "Kept" not in body


async def test_only_listed_people_bring_the_bot_into_a_room_and_it_leaves_where_it_has_no_business(
    town: Town, alice: Person
) -> None:
    eve = await town.people.register("eve")
    idle = await town.room(alice, name="Idle")
    town.set_bot(inviters=(f"@{bare(alice)[:6]}*:hs.test",), leaves=True, direct=True)
    async with town.bot_running():
        await eve.create_room("Trap", invite=[town.bot])
        wanted = await alice.create_room("Welcome", invite=[town.bot])

        async def is_settled() -> bool:
            return set(await town.bot.joined_rooms()) == {wanted}

        await town.until(is_settled)
        assert idle not in await town.bot.joined_rooms()


async def test_what_was_said_before_the_bot_came_is_not_for_it(town: Town, alice: Person) -> None:
    room = await alice.create_room("Later")
    town.permit({room: ["here"]})
    town.set_bot(inviters=(alice.user,))
    async with town.bot_running():
        early = await alice.say(room, "!search help")
        await alice.invite(room, town.bot)

        async def is_in() -> bool:
            return room in await town.bot.joined_rooms()

        await town.until(is_in)
        await town.ask(alice, room, "!search help")
    assert await town.answers_to(room, early) == []


async def test_without_an_index_the_bot_says_so_and_finds_it_once_it_is_there(town: Town, alice: Person) -> None:
    needle = word()
    room = await town.room(alice, needle)
    town.permit({room: ["here"]})
    async with town.bot_running():
        assert "index cannot be used" in (await town.ask(alice, room, f"!search {needle}"))["body"]
        await town.refresh()
        assert needle in (await town.ask(alice, room, f"!search {needle}"))["body"]
        town.config.index_file.unlink()
        assert "index cannot be used" in (await town.ask(alice, room, f"!search {needle}"))["body"]
        await town.refresh()
        assert needle in (await town.ask(alice, room, f"!search {needle}"))["body"]


async def test_a_room_is_told_what_of_its_own_was_not_read_yet_and_nothing_of_others(
    town: Town, alice: Person, tmp_path: Path
) -> None:
    needle = word()
    room, other = await town.room(alice, "hello"), await town.room(alice, "hello", name="Other")
    later = "Ask again after the next refresh."
    town.permit({room: ["here"], other: ["here", "notes:handbook"]})
    handbook = tmp_path / "handbook"
    handbook.mkdir()
    (handbook / "start.md").write_text("# Start\n\nread this\n")
    notes = (Notes(name="handbook", root=handbook, paths=(".",)),)
    config = town.config

    async def nothing(asking: str) -> str:
        body = str((await town.ask(alice, asking, f"!search {needle}"))["body"])
        head, _, note = body.partition("\n")
        assert head == "Nothing found."
        return note

    # The very first refresh has begun, and read nothing so far.
    async with open_store(config.index_file, is_writer=True) as store, town.bot_running():
        for asking in (room, other):
            assert (await nothing(asking)).startswith("Nothing that may be shown here was read yet. !search about")
        # Rooms were looked at, the first of them is being read; nobody else's room hears of that.
        async with store.transaction():
            await save_room(store.connection, RoomRecord(RoomId(room), outcome=ADMITTED, phase=READING))
        assert await nothing(room) == f"This room was not read to its end yet. {later}"
        assert (await nothing(other)).startswith("Nothing that may be shown here was read yet.")
    config.index_file.unlink()
    await town.refresh()
    async with town.bot_running():
        assert [await nothing(room), await nothing(other)] == ["", ""]
    # A source of the other room that never worked is its own affair.
    town.config = replace(config, notes=notes)
    await town.refresh()
    async with open_store(config.index_file, is_writer=True) as store, town.bot_running():
        async with store.transaction():
            await store.connection.execute("UPDATE source SET succeeded_ms = NULL WHERE id = 'notes:handbook'")
        assert await nothing(other) == f"Not everything that may be shown here was read yet. {later}"
        assert await nothing(room) == ""
