"""What the bot remembers across a kill: commands once, answers as long as they can be withdrawn, and no text."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.budget import Verdict
from bot.memory import Given, Memory, News, Quote, Taken, open_memory
from index.errors import StoreError
from index.model import ChunkId, EventId, RoomId, SourceId, UserId
from index.store.driver import open_file

ROOM, ALICE = RoomId("!room"), UserId("@alice:x")
SOURCE = SourceId("chat:!source")


def command(name: str, verdict: Verdict = Verdict.ANSWER) -> Taken:
    return Taken(EventId(name), ROOM, ALICE, 5, verdict)


def given(name: str, *quotes: Quote, is_direct: bool = False) -> Given:
    return Given(EventId(name), ROOM, ALICE, is_direct, None, quotes)


def quote(event: str | None = None, edit: str | None = None, source: SourceId = SOURCE) -> Quote:
    return Quote(source, ChunkId(7), EventId(event) if event else None, EventId(edit) if edit else None)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with open_memory(tmp_path / "bot.sqlite") as opened:
        yield opened


async def learn(memory: Memory, news: News, token: str = "s1") -> list[Taken]:
    return await memory.take("@bot:x", token, news, now_ms=1_000)


async def state_of(memory: Memory, name: str) -> str:
    for state in ("sending", "shown", "doubtful", "going", "gone", "stuck"):
        if any(one.command == name for one in await memory.in_state(state)):
            return state
    return "unknown"


async def test_a_command_is_taken_once_with_the_place_behind_it(memory: Memory) -> None:
    assert await memory.token("@bot:x") is None
    first, over = command("$first"), command("$over", Verdict.SILENCE)
    assert await learn(memory, News([first, over])) == [first, over]
    assert await learn(memory, News([first]), "s2") == []
    assert await memory.token("@bot:x") == "s2" and await memory.token("@reader:x") is None
    assert await memory.pending() == [first]
    await memory.done(first.event)
    assert await memory.pending() == []
    assert [one[3] for one in await memory.recent(0)] == [Verdict.ANSWER, Verdict.SILENCE]


async def test_an_answer_is_written_down_before_it_is_sent_and_done_when_it_comes_back(memory: Memory) -> None:
    await learn(memory, News([command("$one"), command("$two")]))
    for name in ("$one", "$two"):
        await memory.intend(given(name, quote("$said")), now_ms=1)
        assert await state_of(memory, name) == "unknown", "nothing to withdraw that nobody has"
    await memory.sent(EventId("$one"), EventId("$answer"))
    await learn(memory, News(echoes={EventId("$two"): EventId("$other")}))  # its receipt was lost, it came by sync
    assert [await state_of(memory, name) for name in ("$one", "$two")] == ["shown", "doubtful"]
    assert await memory.pending() == []


async def test_what_an_attempt_before_a_kill_may_have_shown_stays_among_the_quotes(memory: Memory) -> None:
    await memory.intend(given("$one", quote("$a")), now_ms=1)
    await memory.intend(given("$one", quote("$a"), quote("$b", "$edit"), quote()), now_ms=2)
    await memory.sent(EventId("$one"), EventId("$answer"))
    [answer] = await memory.in_state("doubtful")
    assert set(answer.quotes) == {quote("$a"), quote("$b", "$edit"), quote()} and len(answer.quotes) == 3


async def test_a_redaction_and_an_edit_reach_the_answers_that_quote_the_message(memory: Memory) -> None:
    quotes = {"$a": quote("$x"), "$b": quote("$y", "$edit of y"), "$c": quote("$z"), "$d": quote("$w")}
    for name, one in quotes.items():
        await memory.intend(given(name, one), now_ms=1)
        await memory.sent(EventId(name), EventId(f"{name} answer"))
    await learn(memory, News(gone=[EventId("$x"), EventId("$edit of y"), EventId("$?")], edited=[EventId("$z")]))
    assert [await state_of(memory, name) for name in quotes] == ["going", "going", "doubtful", "shown"]
    await learn(memory, News(unclear=[SOURCE]))
    assert [await state_of(memory, name) for name in quotes] == ["going", "going", "doubtful", "doubtful"]
    await memory.settle(EventId("$a"), "shown", unless_going=True)
    await memory.settle(EventId("$d"), "shown", unless_going=True)
    assert [await state_of(memory, name) for name in quotes] == ["going", "going", "doubtful", "shown"]
    await memory.settle(EventId("$a"), "gone")
    await memory.keep_only(EventId("$d"), [quote("$v")])
    await learn(memory, News(gone=[EventId("$x"), EventId("$w")]))
    assert [await state_of(memory, name) for name in ("$a", "$d")] == ["gone", "shown"]


async def test_what_was_refused_is_taken_back_once_more_when_it_may_be_allowed(memory: Memory) -> None:
    for name in ("$a", "$b"):
        await memory.intend(given(name, quote("$x")), now_ms=1)
        await memory.sent(EventId(name), EventId(f"{name} answer"))
    await memory.settle(EventId("$a"), "stuck")
    await learn(memory, News(gone=[EventId("$x")], eased=[RoomId("!another")]))
    assert [await state_of(memory, name) for name in ("$a", "$b")] == ["stuck", "going"]
    await learn(memory, News(eased=[ROOM]))
    assert await state_of(memory, "$a") == "going"
    await memory.settle(EventId("$a"), "stuck")
    await memory.free_stuck()
    assert await state_of(memory, "$a") == "going"


async def test_a_message_that_goes_while_its_quote_is_being_sent_takes_the_answer_with_it(memory: Memory) -> None:
    await memory.intend(given("$one", quote("$x")), now_ms=1)
    await learn(memory, News(gone=[EventId("$x")]))
    await memory.sent(EventId("$one"), EventId("$answer"))
    assert await state_of(memory, "$one") == "going"


async def test_what_changed_while_an_answer_was_made_puts_it_in_doubt(memory: Memory) -> None:
    """Looked at, then redacted, then written down: no sync tells of it again."""
    await learn(memory, News(gone=[EventId("$x")], edited=[EventId("$y")], unclear=[SourceId("chat:!z")]))
    quotes = {"$a": quote("$x"), "$b": quote("$y"), "$c": quote("$w", source=SourceId("chat:!z")), "$d": quote("$w")}
    for name, one in quotes.items():
        await memory.intend(given(name, one), now_ms=1)
        await memory.sent(EventId(name), EventId(f"{name} answer"))
    assert [await state_of(memory, name) for name in quotes] == ["doubtful", "doubtful", "doubtful", "shown"]


async def test_only_direct_chats_have_askers_whose_rooms_matter(memory: Memory) -> None:
    await memory.intend(given("$one", quote("$x")), now_ms=1)
    assert await memory.direct_chats() == (frozenset(), frozenset())
    await memory.intend(given("$two", quote("$x"), is_direct=True), now_ms=1)
    assert await memory.direct_chats() == (frozenset({ALICE}), frozenset({ROOM}))


async def test_it_does_not_grow_for_ever(memory: Memory) -> None:
    day_ms = 86_400_000
    await learn(memory, News([command("$old", Verdict.SILENCE), command("$waiting")]))
    for name, sent_ms in (("$old", 0), ("$new", 50 * day_ms)):
        await memory.intend(given(name, quote("$x")), now_ms=sent_ms)
        await memory.sent(EventId(name), EventId(f"{name} answer"))
    await memory.tidy(now_ms=60 * day_ms, answers_kept_ms=30 * day_ms)
    assert [one.command for one in await memory.in_state("shown")] == ["$new"]
    assert await memory.recent(0) == [(ALICE, ROOM, 1_000, Verdict.ANSWER)]
    assert [one.event for one in await memory.pending()] == ["$waiting"]


async def test_an_error_in_the_middle_leaves_nothing_half_done(memory: Memory) -> None:
    with pytest.raises(StoreError, match=r"bot\.sqlite"):
        await learn(memory, News([command("$one")]), None)  # type: ignore[arg-type] # fails after the command
    assert await memory.pending() == [] and await memory.token("@bot:x") is None
    assert await learn(memory, News([command("$one")])) == [command("$one")]


async def test_a_file_that_cannot_be_used_is_named_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "bot.sqlite").write_bytes(b"this is no database" * 100)
    newer = tmp_path / "newer.sqlite"
    async with open_file(newer, is_writer=True) as connection:
        await connection.execute("PRAGMA user_version = 99")
    for path, problem in ((tmp_path / "bot.sqlite", "bot.sqlite: "), (newer, "newer version")):
        with pytest.raises(StoreError, match=problem) as caught:
            async with open_memory(path):
                pass
        assert str(tmp_path) not in str(caught.value)
