"""An index brought back from a copy: what was redacted or purged since the copy was made goes again. docs/backup.md."""

import asyncio
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chat.desk import Desk
from tests.chat.host import Host
from tests.chat.test_chat_purge import kitchen
from tests.matrix.people import Person

PAGE = (Path(__file__).parents[2] / "docs" / "backup.md").read_text()


@pytest.fixture
def desk(host: Host) -> Desk:
    return Desk(host)


def copied(source: Path, copy: Path) -> None:
    """The program of the page, word for word, with the files of this test."""
    [program] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    text = program.replace("/var/lib/sources/index.sqlite", str(source)).replace("/backup/index.sqlite", str(copy))
    assert str(source) in text and str(copy) in text
    subprocess.run([sys.executable, "-c", text], check=True, timeout=60)


def restore(copy: Path, file: Path) -> None:
    for old in file.parent.glob("index.sqlite*"):
        old.unlink()
    shutil.copy(copy, file)


async def status(desk: Desk) -> dict[str, object]:
    done = await asyncio.to_thread(desk.sources, "status", "--json")
    told: dict[str, object] = json.loads(done.stdout)
    return told


async def test_what_was_redacted_or_purged_since_the_copy_goes_again(
    desk: Desk, alice: Person, reader: Person, tmp_path: Path
) -> None:
    host, room = desk.host, await kitchen(alice, reader)
    redacted = await alice.say(room, "xylophonic regret")
    purged = await alice.say(room, "quixotry regret")
    await alice.say(room, "standing answer")
    await host.refresh()
    copy = tmp_path / "copy.sqlite"
    await asyncio.to_thread(copied, host.file, copy)
    await alice.redact(room, redacted)
    await desk.purge("--room", room, "--event", purged, "--yes")
    await host.refresh()
    restore(copy, host.file)
    assert await host.found("quixotry"), "the copy is older than the order"
    before = await status(desk)
    assert before["waiting_orders"] == 1
    assert "1 order to forget is not carried out" in str(before["troubles"])
    await host.refresh()
    assert await host.texts(room) == ["standing answer"]
    for fragment in ("xyloph", "phonic", "quixot", "xotry"):
        assert not host.holds(fragment)
    assert (await status(desk))["waiting_orders"] == 0


async def test_orders_that_only_the_index_knows_are_not_lost_with_the_folder(
    desk: Desk, alice: Person, reader: Person
) -> None:
    host, room = desk.host, await kitchen(alice, reader)
    purged = await alice.say(room, "quixotry regret")
    await host.refresh()
    await desk.purge("--room", room, "--event", purged, "--yes")
    shutil.rmtree(host.folder / "purges")
    await host.refresh(is_full=True)
    assert not host.holds("quixot")
    assert len((await desk.purge("--list"))["orders"]) == 1


async def test_a_copy_is_whole_while_the_index_is_written(
    desk: Desk, alice: Person, reader: Person, tmp_path: Path
) -> None:
    host, room = desk.host, await kitchen(alice, reader)
    for number in range(30):
        await alice.say(room, f"message {number}")
    copy = tmp_path / "copy.sqlite"
    await host.refresh()
    await asyncio.gather(host.refresh(is_full=True), asyncio.to_thread(copied, host.file, copy))
    with sqlite3.connect(copy) as connection:
        assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    connection.close()
    restore(copy, host.file)
    await host.refresh()
    assert len(await host.texts(room)) > 0
