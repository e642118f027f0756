"""The commands about chat, as a host types them, against a real homeserver."""

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sources.cli.main import group
from tests.matrix.people import People, Person


@dataclass(frozen=True, slots=True)
class Desk:
    """A configuration with chat alone, and the credential that belongs to it."""

    folder: Path

    async def sources(self, *arguments: str) -> Result:
        """Commands run their own event loop, so they get a thread."""
        common = ["--config", str(self.folder / "sources.toml"), "--credentials-dir", str(self.folder / "credentials")]
        return await asyncio.to_thread(
            CliRunner().invoke, group, [*common, *arguments], standalone_mode=False, catch_exceptions=False
        )

    def configure(self, people: People, reader: Person, more: str = "") -> None:
        (self.folder / "sources.toml").write_text(
            f'state_dir = "{self.folder}/state"\n[index]\nlanguages = ["en"]\n[embed]\nkind = "off"\n[chat]\n'
            f'homeserver = "{people.homeserver.url}"\nuser = "{reader.user}"\n{more}'
        )


@pytest.fixture
def desk(tmp_path: Path, people: People, reader: Person) -> Desk:
    credentials = tmp_path / "credentials"
    credentials.mkdir(mode=0o700)
    (credentials / "matrix-reader-token").touch(mode=0o600)
    (credentials / "matrix-reader-token").write_text(reader.token)
    desk = Desk(tmp_path)
    desk.configure(people, reader)
    return desk


async def test_a_refresh_search_and_get_of_chat_by_hand(
    desk: Desk, people: People, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    said = [await alice.say(room, text) for text in ("the kettle is on", "milk is out", "regretted")]
    assert (await desk.sources("refresh")).return_value == 0
    found = json.loads((await desk.sources("search", "--json", "kettle")).stdout)
    reference = str(found["hits"][0]["ref"])
    await alice.edit(room, said[1], "milk is back")
    await alice.redact(room, said[2])
    shown = json.loads((await desk.sources("get", "--json", reference)).stdout)
    assert [message["text"] for message in shown["messages"]] == ["the kettle is on", "milk is back", None]
    told = (await desk.sources("get", f"https://matrix.to/#/{room}/{said[0]}?via=hs.test")).stdout
    assert f"{alice.user}: the kettle is on" in told
    assert "(withdrawn)" in told
    await reader.leave(room)
    gone = await desk.sources("refresh")
    assert gone.return_value == 0
    assert (await desk.sources("search", "kettle")).return_value == 1


async def test_rooms_shows_verdicts_reasons_and_counts(
    desk: Desk, people: People, alice: Person, reader: Person
) -> None:
    fine = await alice.create_room("Kitchen")
    space = await alice.create_room("Everything", room_type="m.space")
    direct = await alice.create_room("Two", preset="private_chat", invite=[reader], is_direct=True)
    for room in (fine, space, direct):
        await reader.join(room)
    await alice.say(fine, "hello")
    desk.configure(people, reader, f'[chat.overrides]\n"{direct}" = "not-dm"\n')
    assert (await desk.sources("refresh")).return_value == 0
    rooms = {one["room"]: one for one in json.loads((await desk.sources("rooms", "--json")).stdout)["rooms"]}
    assert (rooms[fine]["state"], rooms[fine]["messages"], rooms[fine]["public"]) == ("read", 1, True)
    assert [reason["reason"] for reason in rooms[space]["reasons"]] == ["space"]
    assert (rooms[direct]["state"], rooms[direct]["override"]) == ("read", "not-dm")
    assert rooms[direct]["lifted"][0]["reason"] == "direct"
    status = json.loads((await desk.sources("status", "--json")).stdout)
    assert [(one["room"], one["reason"]) for one in status["unread"]] == [(space, "space")]
    told = (await desk.sources("-v", "status")).stdout
    assert "refused: Everything: a space holds no talk" in told and "chat Kitchen" in told
    told = (await desk.sources("rooms")).stdout
    assert "Kitchen" in told and "a space holds no talk" in told and "set aside by your override" in told


async def test_without_the_table_nothing_of_rooms_is_found_and_status_says_until_when_it_is_kept(
    desk: Desk, alice: Person, reader: Person
) -> None:
    room = await alice.create_room("Kitchen")
    await reader.join(room)
    await alice.say(room, "the kettle is on")
    assert (await desk.sources("refresh")).return_value == 0
    config = desk.folder / "sources.toml"
    config.write_text(config.read_text().partition("[chat]")[0])
    assert (await desk.sources("refresh")).return_value == 0
    assert (await desk.sources("search", "kettle")).return_value == 1
    status = json.loads((await desk.sources("status", "--json")).stdout)
    assert (status["rooms"], status["unread"], status["absent_rooms"]) == ({}, [], 1)
    assert status["absent_until_ms"] > time.time_ns() // 1_000_000
    assert all(one["hidden"] for one in status["sources"])
    assert (await desk.sources("verify")).return_value == 0


async def test_what_is_kept_without_the_table_can_be_purged_at_once(desk: Desk, alice: Person, reader: Person) -> None:
    room = await alice.create_room("Kitchen", alias="closed-kitchen")
    await reader.join(room)
    said = await alice.say(room, "the kettle is on")
    await alice.say(room, "tea is ready")
    assert (await desk.sources("refresh")).return_value == 0
    config = desk.folder / "sources.toml"
    table = config.read_text()
    config.write_text(table.partition("[chat]")[0])
    purge = (
        "chat-purge",
        "--room",
        f"#closed-kitchen:{alice.user.partition(':')[2]}",
        "--event",
        said,
        "--yes",
        "--json",
    )
    done = json.loads((await desk.sources(*purge)).stdout)
    assert (done["applied"], done["erased"], done["order"]["removed"]) == (True, True, 1)
    assert b"kettle" not in b"".join(file.read_bytes() for file in (desk.folder / "state").glob("index.sqlite*"))
    assert (await desk.sources("refresh")).return_value == 0
    config.write_text(table)
    assert (await desk.sources("refresh")).return_value == 0
    assert (await desk.sources("search", "tea")).return_value == 0
    assert (await desk.sources("search", "kettle")).return_value == 1


async def test_the_roster_shows_first_and_moves_only_when_told(
    desk: Desk, alice: Person, reader: Person, tmp_path: Path
) -> None:
    wanted = await alice.create_room("Wanted")
    other = await alice.create_room("Other")
    await reader.join(other)
    roster = tmp_path / "roster"
    roster.write_text(f"// rooms of the community\n{wanted}\n")
    shown = await desk.sources("roster", str(roster))
    assert shown.return_value == 1
    assert shown.stdout.splitlines()[:2] == [f"would join {wanted}", f"would leave {other}"]
    assert await reader.joined_rooms() == [other]
    assert (await desk.sources("roster", str(roster), "--apply")).return_value == 0
    assert await reader.joined_rooms() == [wanted]
    roster.write_text("#nowhere:hs.test\n")
    refused = await desk.sources("roster", str(roster), "--apply")
    assert refused.return_value == 1 and "leads to no room" in refused.stdout
    assert await reader.joined_rooms() == [wanted]


async def test_check_tells_whose_token_it_is(desk: Desk, people: People, alice: Person, reader: Person) -> None:
    result = await desk.sources("check", "--json")
    assert "is in no room" in result.stdout
    desk.configure(people, alice)
    assert f"the token belongs to {reader.user}" in (await desk.sources("check", "--json")).stdout


async def test_a_refused_token_has_its_own_exit_code(desk: Desk, reader: Person) -> None:
    await reader.sign_out()
    result = await desk.sources("refresh")
    assert result.return_value == 4
