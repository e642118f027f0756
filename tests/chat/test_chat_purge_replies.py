"""What answers a purged message, on a real homeserver: gone with it or without its words, whenever it comes."""

import pytest

from index.store.store import open_store
from tests.chat.desk import Desk
from tests.chat.host import Host, report_of
from tests.matrix.people import People, Person

SECRET = "xylophonic"
FRAGMENTS = (SECRET, "xyloph", "phonic")


@pytest.fixture
def desk(host: Host) -> Desk:
    return Desk(host)


@pytest.fixture
async def bob(people: People) -> Person:
    return await people.register("bob")


async def kitchen(alice: Person, *others: Person) -> str:
    room = await alice.create_room("Kitchen")
    for person in others:
        await person.join(room)
    return room


def fallback(of: Person, words: str = f"{SECRET} regret") -> str:
    return f"> <{of.user}> {words}\n\n"


def is_in(words: str, texts: list[str]) -> bool:
    return any(words in text for text in texts)


def nothing_is_left(host: Host) -> bool:
    return not any(host.holds(fragment) for fragment in FRAGMENTS)


async def test_what_a_client_quotes_on_top_of_an_answer_is_never_kept(
    host: Host, alice: Person, bob: Person, reader: Person
) -> None:
    room = await kitchen(alice, bob, reader)
    said = await alice.say(room, "their own words")
    top = fallback(alice)
    answer = await bob.reply(room, said, f"{top}first answer")
    await bob.edit(room, answer, f"{top}first answer, mended")
    html = f"<mx-reply><blockquote>{SECRET}</blockquote></mx-reply>second answer"
    await bob.reply(room, said, f"> {SECRET}\n\nsecond answer", formatted_body=html)
    await bob.thread(room, said, f"{top}third answer")
    threaded = {"rel_type": "m.thread", "event_id": said, "m.in_reply_to": {"event_id": said}}
    await bob.say(room, f"{top}fourth answer", {"m.relates_to": threaded})
    await host.refresh()
    texts = await host.texts(room)
    for number in ("first", "second", "third", "fourth"):
        assert is_in(f"{number} answer", texts)
    assert nothing_is_left(host)


async def test_a_purge_takes_direct_replies_along_with_their_edits_and_those_to_come(
    desk: Desk, alice: Person, bob: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, bob, reader)
    said = await alice.say(room, f"{SECRET} regret")
    answer = await bob.reply(room, said, f"> {SECRET} regret\n\nanswer")
    await bob.edit(room, answer, f"{SECRET} answer, mended")
    further = await alice.reply(room, answer, f"> {SECRET} answer\n\nfurther")
    real = {"rel_type": "m.thread", "event_id": said, "is_falling_back": False, "m.in_reply_to": {"event_id": said}}
    await bob.say(room, f"{SECRET} in the thread", {"m.relates_to": real})
    await bob.thread(room, said, "only in the thread")
    await host.refresh()
    expected = await desk.purge("--room", room, "--event", said, "--dry-run")
    assert [expected["matched"][name] for name in ("events", "replies")] == [1, 3]
    done = await desk.purge("--room", room, "--event", said, "--yes")
    assert (done["erased"], done["order"]["removed"], done["order"]["takes_replies"]) == (True, 4, True)
    assert nothing_is_left(host)
    await bob.edit(room, answer, f"{SECRET} answer, mended again")
    late = await bob.reply(room, said, f"late {SECRET} answer")
    await bob.edit(room, late, f"late {SECRET} answer, mended")
    await bob.reply(room, further, "answer to what stands")
    await bob.reply(room, late, f"> late {SECRET} answer\n\nanswer to what came late")
    for is_full in (False, True):
        await host.refresh(is_full=is_full)
        assert sorted(filter(None, await host.texts(room))) == [
            "answer to what came late", "answer to what stands", "further", "only in the thread",
        ]  # fmt: skip
        assert nothing_is_left(host)
    for file in host.folder.glob("index.sqlite*"):
        file.unlink()
    host.set(timeline_limit=host.settings.timeline_limit - 1)  # another filter: see `test_chat_purge`
    await host.refresh()
    assert is_in("further", await host.texts(room))
    assert nothing_is_left(host)
    assert await desk.faults() == []


async def test_replies_that_are_kept_say_nothing_of_what_they_answered(
    desk: Desk, alice: Person, bob: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, bob, reader)
    said = await alice.say(room, f"{SECRET} regret")
    answer = await bob.reply(room, said, f"answer\n\n> {SECRET} regret\n\nmore of it")
    await bob.edit(room, answer, f"> {SECRET} regret\n\nmended answer")
    html = f"<blockquote>{SECRET} regret</blockquote>in markup"
    await bob.reply(room, said, f"{SECRET} regret in markup", formatted_body=html)
    await bob.reply(room, said, f"> {SECRET} regret")
    revision = await alice.edit(room, said, f"{SECRET} regret, mended")
    await bob.reply(room, revision, f"> {SECRET} regret, mended\n\nto the edit")
    await host.refresh()
    done = await desk.purge("--room", room, "--event", said, "--yes", "--keep-replies")
    assert (done["erased"], done["order"]["removed"]) == (True, 2)
    assert sorted(await host.texts(room)) == ["in markup", "mended answer", "to the edit"]
    assert nothing_is_left(host)
    await bob.reply(room, said, f"> {SECRET} regret\n\nlate answer")
    await bob.reply(room, revision, f"> {SECRET} regret, mended\n\nto the edit, late")
    await bob.edit(room, answer, f"> {SECRET} regret\n\nmended twice")
    for is_full in (False, True):
        await host.refresh(is_full=is_full)
        assert sorted(await host.texts(room)) == [
            "in markup", "late answer", "mended twice", "to the edit", "to the edit, late",
        ]  # fmt: skip
        assert nothing_is_left(host)


async def test_erasing_a_person_takes_their_words_out_of_other_peoples_answers_and_leaves_those(
    desk: Desk, alice: Person, bob: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, bob, reader)
    said = await bob.say(room, f"{SECRET} regret")
    own = await alice.say(room, "alice herself")
    await alice.reply(room, said, f"{fallback(bob)}> {SECRET} once more\n\nanswer")
    await bob.reply(room, own, f"bob answers {SECRET}")
    await host.refresh()
    expected = await desk.purge("--sender", bob.user, "--dry-run")
    assert [expected["matched"][name] for name in ("events", "replies")] == [2, 1]
    done = await desk.purge("--sender", bob.user, "--yes")
    assert (done["order"]["removed"], done["order"]["takes_replies"]) == (2, False)
    await alice.reply(room, await bob.say(room, f"{SECRET} again"), f"> {SECRET} again\n\nanswer again")
    for is_full in (False, True):
        await host.refresh(is_full=is_full)
        assert sorted(filter(None, await host.texts(room))) == ["alice herself", "answer", "answer again"]
        assert nothing_is_left(host)


async def test_erasing_a_person_may_take_the_answers_to_them_as_well(
    desk: Desk, alice: Person, bob: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, bob, reader)
    said = await bob.say(room, f"{SECRET} regret")
    await alice.reply(room, said, "bob, that was no good idea")
    await host.refresh()
    await desk.purge("--sender", bob.user, "--with-replies", "--yes")
    await alice.reply(room, said, "bob, I mean it")
    await alice.say(room, "unmoved")
    await host.refresh()
    assert await host.texts(room) == ["unmoved"]
    assert not host.holds("no good idea")


async def test_the_rooms_of_an_old_file_are_walked_through_once_for_what_answers_what(
    desk: Desk, alice: Person, bob: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, bob, reader)
    said = await alice.say(room, f"{SECRET} regret")
    await bob.reply(room, said, f"{SECRET} answer")
    await alice.say(room, "unmoved")
    await host.refresh()
    async with open_store(host.file, is_writer=True) as store:
        async with store.transaction():
            await store.connection.execute("UPDATE ledger SET reply_to = NULL")  # as the schema's step leaves them
        await store.wipe()
    assert await desk.faults() == ["answers_not_known"]
    done = await desk.purge("--room", room, "--event", said, "--yes")
    assert (done["order"]["removed"], done["matched"]["unasked"]) == (1, 3)
    assert is_in("answer", await host.texts(room))
    before = await host.dump()
    report = await host.refresh()
    assert "looked through once more for which messages answer which" in report_of(report, room).notes
    assert await host.texts(room) == ["unmoved"]
    assert nothing_is_left(host)
    assert before["order"][-1] == (await host.dump())["order"][-1]
    await alice.say(room, "and on")
    assert report_of(await host.refresh(), room).notes == ()
    assert await host.texts(room) == ["unmoved", "and on"]
    assert await desk.faults() == []
