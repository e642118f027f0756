"""A refresh of chat that is disturbed, by the network, by the homeserver, by the disk or by a kill: the next one ends
where an undisturbed one would have, and no token stands for what is not there."""

import itertools
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from index.model import UserId
from index.store.store import open_store
from ingest.chat.following import SINCE
from tests.chat.host import Host, host_for, own_report, report_of
from tests.chat.refresh_once import runner
from tests.matrix.people import People, Person
from tests.matrix.proxy import (
    Fault,
    Forward,
    Proxy,
    Reply,
    Request,
    Rule,
    answer,
    answer_json,
    cut_json,
    dead_token,
    dropped,
    failing,
    html,
    limited,
    lost_answer,
    poisoned,
    refuse,
    reset_in_body,
    rewrite,
)

PAGE = 6


@dataclass(slots=True)
class Talk:
    """Two rooms in which enough happens, in two halves."""

    alice: Person
    rooms: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    async def first_half(self, reader: Person) -> None:
        for name in ("Kitchen", "Garden"):
            room = await self.alice.create_room(name)
            await reader.join(room)
            self.rooms.append(room)
        kitchen, garden = self.rooms
        self.events = [await self.alice.say(kitchen, f"kitchen{number} word") for number in range(14)]
        await self.alice.edit(kitchen, self.events[2], "edited2 word")
        await self.alice.redact(kitchen, self.events[3])
        await self.alice.thread(kitchen, self.events[4], "threaded word")
        for number in range(8):
            await self.alice.say(garden, f"garden{number} word")

    async def second_half(self) -> None:
        kitchen, garden = self.rooms
        for number in range(14):
            await self.alice.say(kitchen, f"later{number} word")
        await self.alice.edit(kitchen, self.events[0], "edited0 word")
        await self.alice.redact(kitchen, self.events[5])
        for number in range(4):
            await self.alice.say(kitchen, f"latest{number} word")
        await self.alice.say(garden, "garden again")


@pytest.fixture
def talk(alice: Person) -> Talk:
    return Talk(alice)


def disturbed(folder: Path, url: str, reader: Person) -> Host:
    return host_for(folder, url, reader, page_limit=PAGE, timeline_limit=PAGE)


async def holds_what_one_undisturbed_holds(host: Host, undisturbed: Host, talk: Talk) -> None:
    await undisturbed.refresh()
    for room in talk.rooms:
        assert await host.texts(room) == await undisturbed.texts(room)


async def test_a_homeserver_that_goes_away_at_any_request_leaves_a_state_that_ends_like_any_other(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    host = disturbed(tmp_path / "disturbed", proxy.url, reader)
    for half in (talk.first_half(reader), talk.second_half()):
        await half
        await undisturbed.refresh()
        allowed, is_done = 0, False
        while not is_done:
            proxy.clear()
            proxy.add(Rule(dropped(), skip=allowed))
            is_done = not (await host.refresh()).failed
            allowed += 6
        proxy.clear()
        assert await host.dump() == await undisturbed.dump()
    assert not (await host.refresh()).has_changed


async def test_a_run_that_is_killed_at_any_moment_is_made_good_by_the_next(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk
) -> None:
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    host = disturbed(tmp_path / "killed", homeserver_url, reader)
    chance, kills = random.Random(11), 0
    async with runner() as process:
        for half in (talk.first_half(reader), talk.second_half()):
            await half
            start_s = time.monotonic()
            await undisturbed.refresh()
            whole_s = time.monotonic() - start_s
            for _ in range(6):
                kills += await process.refresh(host, kill_after_s=chance.uniform(0.1, 0.8) * whole_s)
            await host.refresh()
            assert await host.dump() == await undisturbed.dump()
    assert kills > 2


FAULTS: tuple[Fault, ...] = (
    limited(retry_after="1"), failing(), html(), dropped(), lost_answer(), reset_in_body(), cut_json()
)  # fmt: skip


async def test_faults_between_reader_and_homeserver_are_waited_out(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    turns = itertools.cycle(FAULTS)

    async def one_after_the_other(request: Request, forward: Forward) -> Reply:
        return await next(turns)(request, forward)

    host = disturbed(tmp_path / "state", proxy.url, reader)
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    rule = Rule(one_after_the_other, every=2)
    proxy.add(rule)
    for half in (talk.first_half(reader), talk.second_half()):
        await half
        assert (await host.refresh()).failed == ()
        await undisturbed.refresh()
        assert await host.dump() == await undisturbed.dump()
    assert rule.spoilt > 2 * len(FAULTS)


async def test_a_dead_token_ends_the_run_after_one_request(host: Host, alice: Person, reader: Person) -> None:
    # https://github.com/NousResearch/hermes-agent/issues/3280
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "hello")
    await host.refresh()
    before = await host.dump()
    await reader.sign_out()
    async with Proxy(host.settings.homeserver) as proxy:
        host.set(homeserver=proxy.url)
        report = await host.refresh()
        assert len(proxy.requests) == 1
    assert own_report(report).is_credential_fault
    assert await host.dump() == before


async def test_a_token_that_dies_midway_ends_the_run_and_keeps_what_was_read(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    await talk.first_half(reader)
    proxy.add(Rule(dead_token(), path="/messages", skip=2))
    report = await host.refresh()
    assert own_report(report).is_credential_fault
    assert [one for one in report.failed if not one.is_credential_fault] == []
    assert len([path for path in proxy.paths() if path.endswith("/messages")]) <= 4
    proxy.clear()
    await host.refresh()
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    await undisturbed.refresh()
    assert await host.dump() == await undisturbed.dump()


async def test_one_room_that_fails_stops_no_other_and_loses_nothing(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    await talk.first_half(reader)
    await host.refresh()
    kitchen, garden = talk.rooms
    await talk.second_half()
    proxy.add(Rule(failing(), path=f"{kitchen}/state"))
    report = await host.refresh()
    assert [(one.source, one.label) for one in report.failed] == [(f"chat:{kitchen}", (await host.room(kitchen)).label)]
    assert (await host.texts(garden))[-1] == "garden again"
    proxy.clear()
    assert (await host.refresh()).failed == ()
    async with host.opened() as store:
        assert [source.fault for source in await store.sources()] == [None, None, None]
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    await undisturbed.refresh()
    assert sorted(await host.texts(kitchen)) == sorted(await undisturbed.texts(kitchen))


async def test_an_index_that_cannot_be_written_leaves_every_token_where_it_was(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk
) -> None:
    # https://github.com/mindroom-ai/mindroom/issues/1679
    host = disturbed(tmp_path / "state", homeserver_url, reader)
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    await talk.first_half(reader)
    for one in (host, undisturbed):
        await one.refresh()
    await talk.second_half()
    await undisturbed.refresh()
    since = await _since(host)
    async with open_store(host.file, is_writer=True) as store:
        await store.connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON ledger WHEN new.body LIKE 'garden again%' OR new.body LIKE 'later9%'"
            " BEGIN SELECT raise(ABORT, 'database or disk is full'); END"
        )
    report = await host.refresh()
    assert report.failed
    assert await _since(host) == since
    async with open_store(host.file, is_writer=True) as store:
        await store.connection.execute("DROP TRIGGER full")
    assert (await host.refresh()).failed == ()
    assert await host.dump() == await undisturbed.dump()


async def _since(host: Host) -> str | None:
    async with host.opened() as store:
        return await store.value("chat.since")


async def test_what_cannot_be_served_is_stepped_around_and_told(
    tmp_path: Path, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    await talk.first_half(reader)
    proxy.add(Rule(poisoned("kitchen9")))
    report = await host.refresh()
    assert report.failed == ()
    kitchen = talk.rooms[0]
    texts = await host.texts(kitchen)
    assert "kitchen8 word" in texts and "kitchen10 word" in texts and "kitchen9 word" not in texts
    assert len((await host.dump())["unknown"]) == 1


async def test_a_sync_that_cannot_be_answered_costs_no_message(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    await talk.first_half(reader)
    await host.refresh()
    await talk.second_half()
    proxy.add(Rule(failing(), path="/sync", when=lambda sent: not sent.query["filter"].startswith("{")))
    report = await host.refresh()
    assert report.failed == ()
    kitchen = talk.rooms[0]
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    await undisturbed.refresh()
    assert await host.texts(kitchen) == await undisturbed.texts(kitchen)


async def test_a_sync_token_that_is_lost_costs_no_message(
    tmp_path: Path, people: People, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    host.set(known_run=3)
    await talk.first_half(reader)
    await host.refresh()
    await talk.second_half()
    # To the same device Synapse would give the token that it gave two minutes ago, from before all this was said.
    host.token = (await people.sign_in_again(reader)).token
    proxy.add(Rule(answer(refuse(400, "M_UNKNOWN_POS")), path="/sync", times=2))
    report = await host.refresh()
    assert report.failed == ()
    assert any("sync token" in note for note in own_report(report).notes)
    await holds_what_one_undisturbed_holds(host, disturbed(tmp_path / "undisturbed", homeserver_url, reader), talk)


async def test_another_account_takes_a_place_of_its_own_and_costs_no_message(
    tmp_path: Path, people: People, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    await talk.first_half(reader)
    await host.refresh()
    async with host.opened() as store:
        former = await store.value(SINCE)
    second = await people.register("second")
    for room in talk.rooms:
        await second.join(room)
    await talk.second_half()
    proxy.requests.clear()
    host.set(user=UserId(second.user))
    host.token = second.token
    report = await host.refresh()
    assert report.failed == ()
    assert former and not [sent for sent in proxy.requests if former in sent.query.values()]
    assert report_of(report, talk.rooms[0]).notes == ("another account reads now: its end is read again",)
    await holds_what_one_undisturbed_holds(host, disturbed(tmp_path / "undisturbed", homeserver_url, second), talk)


async def test_a_cut_timeline_that_names_no_place_before_it_is_filled_past_what_it_told(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    """The walk begins at its end then, and what it meets first was just skipped: that is not the end of the gap."""

    def without_places(batch: Any) -> Any:
        for room in batch.get("rooms", {}).get("join", {}).values():
            room["timeline"].pop("prev_batch", None)
        return batch

    host = disturbed(tmp_path / "state", proxy.url, reader)
    host.set(known_run=3)
    await talk.first_half(reader)
    await host.refresh()
    await talk.second_half()
    for room in talk.rooms:
        for _ in range(PAGE - 1):
            await talk.alice.send(room, {"algorithm": "m.megolm.v1.aes-sha2"}, "m.room.encrypted")
    proxy.add(Rule(rewrite(without_places), path="/sync"))
    assert (await host.refresh()).failed == ()
    await holds_what_one_undisturbed_holds(host, disturbed(tmp_path / "undisturbed", homeserver_url, reader), talk)


async def test_a_place_in_history_that_is_lost_is_found_again(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    await talk.first_half(reader)
    proxy.add(Rule(answer(refuse(400, "M_UNKNOWN")), path="/messages", skip=2, times=1))
    report = await host.refresh()
    assert report.failed == ()
    assert any("found again by" in note for one in report.sources for note in one.notes)
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    await undisturbed.refresh()
    assert await host.dump() == await undisturbed.dump()


async def test_a_homeserver_that_was_set_back_has_its_rooms_read_again_and_what_it_lost_is_forgotten(
    tmp_path: Path, people: People, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    host.set(state_rotation=0)  # nothing is sampled
    await talk.first_half(reader)
    await host.refresh()
    await talk.second_half()
    kitchen, _ = talk.rooms
    had = await host.texts(kitchen)
    admin = await people.register("root", is_admin=True)
    await admin.purge_history(kitchen, up_to_event=talk.events[4])
    # What it answers then: nothing new, and a token from before ours.
    behind = {"next_batch": "s1_0_0_0_0_0_0_0_0_0_0_0_0_0"}
    proxy.add(Rule(answer_json(behind), path="/sync", times=1))
    assert (await host.refresh()).failed == ()
    await holds_what_one_undisturbed_holds(host, disturbed(tmp_path / "undisturbed", homeserver_url, reader), talk)
    lost = set(had) - set(await host.texts(kitchen))
    assert {"kitchen0 word", "kitchen1 word", "edited2 word"} <= lost
    assert not any(map(host.holds, ("kitchen0 word", "kitchen1 word")))


async def test_in_a_federated_room_history_is_fetched_first_and_gaps_end_at_what_is_known(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    """What other servers have is not among the events that a sync token counts, so no token may bound the walk."""
    far = {
        "type": "m.room.member", "state_key": "@far:elsewhere.test", "sender": "@far:elsewhere.test",
        "event_id": "$far", "origin_server_ts": 1, "content": {"membership": "join"},
    }  # fmt: skip
    host = disturbed(tmp_path / "state", proxy.url, reader)
    host.set(known_run=5)
    proxy.add(Rule(rewrite(lambda state: [*state, far]), path="/state$"))
    await talk.first_half(reader)
    await host.refresh()
    directions = [sent.query["dir"] for sent in proxy.requests if f"{talk.rooms[0]}/messages" in sent.path]
    assert directions == sorted(directions)
    assert {"b", "f"} == set(directions)
    await talk.second_half()
    proxy.requests.clear()
    await host.refresh()
    pages = [sent.query for sent in proxy.requests if f"{talk.rooms[0]}/messages" in sent.path]
    assert pages and not [page for page in pages if "to" in page]
    assert len(pages) <= 6
    await holds_what_one_undisturbed_holds(host, disturbed(tmp_path / "undisturbed", homeserver_url, reader), talk)


async def test_a_gap_that_is_refused_for_a_day_holds_nothing_up_any_more(
    tmp_path: Path, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    await talk.first_half(reader)
    await host.refresh()
    await talk.second_half()
    proxy.add(Rule(answer(refuse(403, "M_FORBIDDEN")), path="/messages"))
    assert (await host.refresh()).failed
    kitchen = talk.rooms[0]
    assert "latest3 word" not in await host.texts(kitchen)
    host.now_ms = time.time_ns() // 1_000_000 + 25 * 3_600_000
    assert (await host.refresh()).failed == ()
    assert set(await host.texts(kitchen)) >= {f"latest{number} word" for number in range(4)}
    assert len((await host.dump())["unknown"]) == 1


async def test_a_walk_for_what_answers_what_that_is_refused_for_a_day_is_not_begun_again(
    tmp_path: Path, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    await talk.first_half(reader)
    await host.refresh()
    async with open_store(host.file, is_writer=True) as store, store.transaction():
        await store.connection.execute("UPDATE ledger SET reply_to = NULL")  # as the schema's step leaves them
    proxy.add(Rule(answer(refuse(403, "M_FORBIDDEN")), path="/messages"))
    assert (await host.refresh()).failed
    host.now_ms = time.time_ns() // 1_000_000 + 25 * 3_600_000
    assert (await host.refresh()).failed == ()
    proxy.requests.clear()
    assert (await host.refresh()).failed == ()
    assert not [sent for sent in proxy.requests if "/messages" in sent.path]


async def test_when_the_time_is_over_the_run_says_so_once_and_the_next_goes_on(
    tmp_path: Path, homeserver_url: str, reader: Person, talk: Talk, proxy: Proxy
) -> None:
    host = disturbed(tmp_path / "state", proxy.url, reader)
    await talk.first_half(reader)
    host.set(total_s=30.0)
    proxy.add(Rule(limited(retry_after="20"), path="/messages", skip=2))
    report = await host.refresh()
    assert [one.source for one in report.failed] == [own_report(report).source]
    assert "the next run goes on from here" in (own_report(report).fault or "")
    proxy.clear()
    assert (await host.refresh()).failed == ()
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    await undisturbed.refresh()
    assert await host.dump() == await undisturbed.dump()


@pytest.mark.parametrize("seed", [4, 5])
async def test_whatever_happens_between_disturbed_runs_the_index_says_what_the_homeserver_says(
    tmp_path: Path, homeserver_url: str, alice: Person, reader: Person, proxy: Proxy, seed: int
) -> None:
    chance = random.Random(seed)
    host = disturbed(tmp_path / "state", proxy.url, reader)
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    said: list[str] = []
    others: list[str] = []
    for turn in range(5):
        for number in range(chance.randrange(3, 14)):
            text = f"turn{turn} number{number}"
            match chance.randrange(8):
                case 0 if said:
                    others.append(await alice.edit(room, chance.choice(said), f"edited {text}"))
                case 1 if said:
                    await alice.redact(room, chance.choice(said))
                case 2 if others:
                    await alice.redact(room, chance.choice(others))
                case 3 if said:
                    others.append(await alice.thread(room, chance.choice(said), f"threaded {text}"))
                case 4 if said:
                    others.append(await alice.react(room, chance.choice(said), text))
                case _:
                    said.append(await alice.say(room, text))
        proxy.clear()
        proxy.add(Rule(dropped(), skip=chance.randrange(4, 30)))
        await host.refresh()
    proxy.clear()
    assert (await host.refresh()).failed == ()
    undisturbed = disturbed(tmp_path / "undisturbed", homeserver_url, reader)
    await undisturbed.refresh()
    assert sorted(await host.texts(room)) == sorted(await undisturbed.texts(room))
    ours, theirs = await host.dump(), await undisturbed.dump()
    assert [row[1] for row in ours["ledger"]] == [row[1] for row in theirs["ledger"]]
    assert ours["gaps"] == [] and (await host.counts(room)).waiting == 0
