"""Killed, cut off, limited or refused: each command is answered once, or not at all when it has grown old."""

import asyncio
import random
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from index.errors import CredentialError
from sources.cli.exits import Exit
from tests.bot.town import ANSWER_S, Town, word
from tests.matrix.people import People, Person
from tests.matrix.proxy import Fault, Forward, Proxy, Reply, Request, Rule, failing, limited, poisoned

MOST_QUESTIONS = 20
PROGRAM = (sys.executable, "-c", "from sources.cli.main import main; main()")


async def start(town: Town, **environment: str) -> asyncio.subprocess.Process:
    """The program itself, in a process of its own."""
    file = town.folder / "sources.toml"
    file.write_text(town.written())
    with (town.folder / "bot.log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            *PROGRAM,
            *("--config", str(file), "--credentials-dir", str(town.folder / "credentials"), "bot"),
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=log,
        )


@asynccontextmanager
async def running(town: Town) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await start(town)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def answered(town: Town, room: str) -> Counter[str]:
    """How often each command was answered."""
    said = await town.said(room)
    return Counter(event["content"]["m.relates_to"]["m.in_reply_to"]["event_id"] for event in said)


async def all_answered_once(town: Town, room: str, asked: list[str]) -> None:
    async def is_done() -> bool:
        return set(asked) <= set(await answered(town, room))

    await town.until(is_done)
    assert await answered(town, room) == Counter(asked)


@pytest.fixture
async def place(town: Town, alice: Person, proxy: Proxy) -> tuple[str, str]:
    """A permitted room, and a word that is found in it; the bot is behind the proxy."""
    needle = word()
    room = await town.room(alice, f"here is {needle}")
    await town.refresh()
    town.permit({room: ["here"]})
    town.set_bot(homeserver=proxy.url)
    return room, needle


async def test_killed_at_any_step_of_an_answer_it_is_given_once(
    town: Town, alice: Person, proxy: Proxy, place: tuple[str, str]
) -> None:
    room, needle = place
    process: list[asyncio.subprocess.Process] = []

    def killing(*, after: bool) -> Fault:
        """Kills the bot before the homeserver hears of a request, or when it has done what was asked."""

        async def fault(request: Request, forward: Forward) -> Reply:
            if after:
                await forward()
            process[-1].kill()
            return Reply(abort=True)

        return fault

    def has_command(request: Request) -> bool:
        return bool(asked) and "since" in request.query

    steps = [
        Rule(killing(after=True), path="/sync", times=1, when=has_command),
        Rule(killing(after=True), path="/event/", times=1),
        Rule(killing(after=False), path="/send/m.room.message/", times=1),
        Rule(killing(after=True), path="/send/m.room.message/", times=1),
    ]
    asked: list[str] = []
    for rule in steps:
        async with running(town) as one:
            process.append(one)
            if not asked:  # so that the first one has a place in the sync before anything is asked
                await town.until(lambda: _has_synced(proxy))
            proxy.add(rule)
            asked.append(await alice.say(room, f"!search {needle}"))
            async with asyncio.timeout(ANSWER_S):
                await one.wait()
    async with running(town):
        await all_answered_once(town, room, asked)
    assert needle not in (town.folder / "bot.log").read_text()
    assert needle.encode() not in (town.config.state_dir / "bot.sqlite").read_bytes()


async def _has_synced(proxy: Proxy) -> bool:
    return any("since" in request.query for request in proxy.requests)


async def test_killed_at_random_under_load_it_answers_each_command_once(
    town: Town, alice: Person, people: People, place: tuple[str, str]
) -> None:
    room, needle = place
    crowd = [alice, *[await people.register(name) for name in ("bob", "carol")]]
    for person in crowd[1:]:
        await person.join(room)
    town.set_bot(homeserver=people.homeserver.url, per_user=1000, per_room=1000)
    async with running(town):
        asked = [await alice.say(room, f"!search {needle}")]
        # Only the first start has no place in the sync: what is asked from here on must not be lost.
        await town.until(lambda: _is_known(town))
        asked.append(await alice.say(room, f"!search {needle}"))
        await town.answer(room, asked[-1])
    asked = [one for one in asked if one in await answered(town, room)]
    is_over = asyncio.Event()

    async def talk(person: Person) -> None:
        for _ in range(MOST_QUESTIONS):  # so that a slow machine has no more to answer than a quick one
            if is_over.is_set():
                break
            asked.append(await person.say(room, f"!search {needle}"))
            await asyncio.sleep(random.uniform(0.1, 0.5))

    talking = [asyncio.create_task(talk(person)) for person in crowd]
    for number in range(3):
        async with running(town):
            if number:  # else it may be killed while it starts
                await town.until(partial(_has_started, town, number + 1))
            await asyncio.sleep(random.uniform(0.0, 1.5))
    is_over.set()
    await asyncio.gather(*talking)
    async with running(town):
        await all_answered_once(town, room, asked)


async def _has_started(town: Town, times: int) -> bool:
    return (town.folder / "bot.log").read_text().count("bot.started") >= times


async def _is_known(town: Town) -> bool:
    return any(b"sync @" in file.read_bytes() for file in town.config.state_dir.glob("bot.sqlite*"))


async def test_the_service_manager_hears_of_ready_watchdog_and_stopping(
    town: Town, place: tuple[str, str], tmp_path: Path
) -> None:
    heard: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(0)
        process = await start(town, NOTIFY_SOCKET=str(tmp_path / "notify"))
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(ANSWER_S):
            while not {"READY=1", "WATCHDOG=1"} <= set(heard):
                heard.append((await loop.sock_recv(manager, 200)).decode())
            process.send_signal(signal.SIGTERM)
            while heard[-1] != "STOPPING=1":
                heard.append((await loop.sock_recv(manager, 200)).decode())
            assert await process.wait() == Exit.FINE
    # A token that is not valid any more is no reason to try again.
    await town.bot.sign_out()
    async with asyncio.timeout(ANSWER_S):
        assert await (await start(town)).wait() == Exit.CREDENTIAL


async def test_a_start_without_the_homeserver_asks_the_service_manager_for_more_time(
    town: Town, place: tuple[str, str], tmp_path: Path
) -> None:
    """Else its unit would be ended for starting too slowly, and after some rounds not be started any more."""
    with socket.socket() as nobody, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        nobody.bind(("127.0.0.1", 0))
        town.set_bot(homeserver=f"http://127.0.0.1:{nobody.getsockname()[1]}", looks_with="bot")
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(0)
        process = await start(town, NOTIFY_SOCKET=str(tmp_path / "notify"))
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(ANSWER_S):
            heard = [(await loop.sock_recv(manager, 200)).decode() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == Exit.FINE
    assert heard == ["EXTEND_TIMEOUT_USEC=60000000"] * 2


async def test_the_watchdog_is_fed_while_syncs_fail(
    town: Town, alice: Person, proxy: Proxy, place: tuple[str, str]
) -> None:
    """An outage of the homeserver is lived through; being started again would not end it."""
    outage = Rule(failing(502), path="/sync")
    async with town.bot_running() as bot:
        proxy.add(outage)
        await alice.say(place[0], "so that the sync that waits comes back")
        await town.until(lambda: _has_spoilt(outage, 3))
        before_s = bot.turned_s
        await town.until(lambda: _has_spoilt(outage, 6))
        assert bot.turned_s > before_s
        proxy.clear()


async def _has_spoilt(rule: Rule, requests: int) -> bool:
    return rule.spoilt >= requests


async def test_a_token_that_dies_ends_the_bot(town: Town, alice: Person, place: tuple[str, str]) -> None:
    with pytest.raises(CredentialError, match="token"):
        async with town.bot_running():
            await town.bot.sign_out()
            await alice.say(place[0], "so that the sync that waits comes back")
            assert town.life is not None
            await asyncio.wait((town.life,), timeout=ANSWER_S)


async def test_an_outage_of_the_homeserver_loses_no_command(
    town: Town, alice: Person, proxy: Proxy, place: tuple[str, str]
) -> None:
    room, needle = place
    async with town.bot_running():
        asked = [await alice.say(room, f"!search {needle}")]
        await town.answer(room, asked[0])
        proxy.add(Rule(failing(502), times=4), Rule(limited(retry_after="0"), path="/send/", times=1))
        asked.append(await alice.say(room, f"!search {needle}"))
        await all_answered_once(town, room, asked)
        # What is limited for long is dropped: nobody wants an answer to what was asked a while ago.
        proxy.add(Rule(limited(retry_after="0"), path="/send/", times=9))
        dropped = await alice.say(room, f"!search {needle}")
        await town.until(lambda: _was_tried(proxy, 9 + len(asked) + 1))
        asked.append(await alice.say(room, f"!search {needle}"))
        await town.answer(room, asked[-1])
    assert await answered(town, room) == Counter(asked)
    assert dropped not in asked


async def _was_tried(proxy: Proxy, times: int) -> bool:
    return sum("/send/" in path for path in proxy.paths("PUT")) >= times


async def test_a_sync_that_the_homeserver_cannot_serve_is_stepped_around(
    town: Town, alice: Person, proxy: Proxy, place: tuple[str, str]
) -> None:
    room, needle = place
    async with town.bot_running():
        bad = word()
        proxy.add(Rule(poisoned(bad), path="/sync"))
        await alice.say(room, f"a poisonous {bad}")
        asked = [await alice.say(room, f"!search {needle}")]
        await all_answered_once(town, room, asked)


async def test_commands_in_a_part_of_the_timeline_that_no_sync_told_are_answered(
    town: Town, alice: Person, place: tuple[str, str]
) -> None:
    room, needle = place
    async with town.bot_running():
        pass
    asked = [await alice.say(room, f"!search {needle}")]
    await asyncio.gather(*(alice.say(room, f"chatter {number}") for number in range(120)))
    asked.append(await alice.say(room, f"!search {needle}"))
    async with town.bot_running():
        await all_answered_once(town, room, asked)


async def test_a_burst_is_answered_up_to_the_budget_with_one_note(
    town: Town, alice: Person, people: People, place: tuple[str, str]
) -> None:
    room, needle = place
    crowd = [alice, *[await people.register(f"user{number}") for number in range(4)]]
    for person in crowd[1:]:
        await person.join(room)
    quiet = await town.room(alice, "hello", name="Quiet")
    town.set_bot(per_user=3, per_room=10)
    town.permit({room: ["here"], quiet: ["here"]})
    async with town.bot_running():
        await asyncio.gather(
            *(person.say(room, f"!search {needle}") for _ in range(40) for person in crowd),
        )
        last = await people.register("last")
        await last.join(quiet)
        await town.ask(last, quiet, "!search help")

        async def is_over() -> bool:
            return len(await answered(town, room)) >= 11

        await town.until(is_over)
        await asyncio.sleep(0.5)
    bodies = [event["content"]["body"] for event in await town.said(room)]
    notes = [body for body in bodies if body.startswith("That was a lot")]
    assert set((await answered(town, room)).values()) == {1}
    assert len(bodies) - len(notes) == 10
    assert 1 <= len(notes) <= len(crowd) + 1


async def test_a_second_bot_on_the_same_state_ends_at_once_and_names_the_first(town: Town, alice: Person) -> None:
    room = await town.room(alice)
    await town.refresh()
    town.permit({room: ["here"]})
    async with running(town) as first:
        await town.until(partial(_is_started, town))
        second = await start(town)
        assert await asyncio.wait_for(second.wait(), ANSWER_S) == Exit.BUSY
        assert f"another bot is running (process {first.pid})" in (town.folder / "bot.log").read_text()
        assert "exact phrase" in (await town.ask(alice, room, "!search help"))["body"]


async def _is_started(town: Town) -> bool:
    return "bot.started" in (town.folder / "bot.log").read_text()
