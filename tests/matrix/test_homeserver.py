"""The throw-away homeserver and the people in it, on which the tests of chat and bot stand."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from index.errors import MatrixError
from sources.demo.homeserver import Homeserver
from tests.matrix.people import People, RefusedError

LONG_AGO_MS = 1_500_000_000_000

_PARENT = """
import socket
import sys
from pathlib import Path
from sources.demo.homeserver import Homeserver

taken = socket.create_server(("127.0.0.1", 0))
server = Homeserver(Path(sys.argv[1]))
server.url = first_choice = f"http://127.0.0.1:{taken.getsockname()[1]}"
server.start()
assert server.url != first_choice
print(server.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("version", ["9", "10", "11", "12"])
async def test_rooms_of_the_versions_in_use_hold_a_conversation(people: People, version: str) -> None:
    alice, bob = await people.register("alice"), await people.register("bob")
    room = await alice.create_room("Talk", version=version)
    await bob.join(room)
    said = await alice.say(room, "first")
    answered = await bob.reply(room, said, "second")
    await bob.edit(room, answered, "second, mended")
    in_thread = await alice.thread(room, said, "third")
    await alice.redact(room, in_thread)
    events = [event for event in await bob.messages(room) if event["type"] == "m.room.message"]
    assert [event["content"].get("body") for event in events] == ["first", "second", "* second, mended", None]
    assert (":" in room) == (version != "12")


async def test_puppets_of_the_bridge_can_send_in_the_past(people: People) -> None:
    alice, puppet = await people.register("alice"), await people.puppet("telegram_4711")
    room = await alice.create_room("Bridged")
    await puppet.join(room)
    event = await puppet.say(room, "long ago", ts=LONG_AGO_MS)
    assert (await alice.event(room, event))["origin_server_ts"] == LONG_AGO_MS
    assert (await alice.event(room, event))["sender"] == puppet.user


async def test_an_administrator_can_purge_a_past_delete_a_room_and_lock_an_account(people: People) -> None:
    admin, alice = await people.register("root", is_admin=True), await people.register("alice")
    room = await alice.create_room("Doomed")
    old, new = await alice.say(room, "old"), await alice.say(room, "new")
    await admin.purge_history(room, up_to_event=new)
    with pytest.raises(RefusedError, match="404"):
        await alice.event(room, old)
    await admin.delete_room(room)
    assert room not in await alice.joined_rooms()
    await admin.lock(alice)
    with pytest.raises(RefusedError, match="M_USER_LOCKED"):
        await alice.joined_rooms()


def test_a_homeserver_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match=r"did not start; its last words: .*no/name"):
        Homeserver(tmp_path / "homeserver", extra={"server_name": "no/name"}).start()


def test_a_homeserver_whose_port_is_taken_takes_another_and_it_ends_with_its_killed_parent(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(tmp_path / "homeserver")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    with parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        _wait_until_gone(pid)


def _wait_until_gone(pid: int) -> None:
    """The process is not our child: it can be asked after, not waited for. The test's time limit is the bound."""
    while _is_running(pid):
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # dead, and only waiting for somebody to take note
