"""What an audit says of rooms, from the index of a real homeserver's."""

import time
from pathlib import Path

from msgspec.structs import replace

from index.audit import DAY_MS, Drift, Upgrade
from index.model import RoomId
from sources.auditing import gather
from sources.status import status
from sources.troubles import troubles
from tests.bot.town import Town
from tests.matrix.people import People


async def test_an_upgraded_room_is_told_until_the_reader_follows_or_its_heir_is_excluded(
    tmp_path: Path, people: People
) -> None:
    alice, reader, bot = [await people.register(name) for name in ("alice", "reader", "sources")]
    town = Town(tmp_path, people, reader, bot)
    town.config = replace(town.config, bot=None)
    room = await town.room(alice, "hello", name="Kitchen", version="11")
    await town.refresh()
    assert (await gather(town.config, town.credentials)).upgrades == ()
    heir = await alice.upgrade(room, "12")
    await town.refresh()
    assert (await gather(town.config, town.credentials)).upgrades == (Upgrade("Kitchen", RoomId(heir)),)
    assert (await status(town.config)).upgrades == (Upgrade("Kitchen", RoomId(heir)),)
    excluding = town.config
    assert excluding.chat is not None
    excluding = replace(excluding, chat=replace(excluding.chat, exclude=(heir,)))
    assert (await gather(excluding, town.credentials)).upgrades == ()
    await reader.join(heir)
    await town.refresh()
    assert (await gather(town.config, town.credentials)).upgrades == ()


async def test_rooms_whose_table_was_taken_out_are_kept_for_a_while_and_everybody_is_told(
    tmp_path: Path, people: People
) -> None:
    alice, reader, bot = [await people.register(name) for name in ("alice", "reader", "sources")]
    town = Town(tmp_path, people, reader, bot)
    config = replace(town.config, bot=None)
    await town.room(alice, "hello", name="Kitchen")
    await town.refresh()
    town.config = replace(config, chat=None)

    async def told() -> tuple[str, str]:
        found = await status(town.config)
        now_ms = time.time_ns() // 1_000_000
        [trouble] = [one for one in troubles(found, overdue_ms=DAY_MS, now_ms=now_ms) if one.subject == "chat"]
        [look] = (await gather(town.config, town.credentials)).looks
        assert (look.source, look.drift, look.detail) == ("chat", Drift.SUSPENDED, "1 room")
        assert "put [chat] back" in trouble.remedy
        return trouble.what, ",".join(str(one.is_hidden) for one in found.sources)

    assert (await told()) == (
        "[chat] is not configured any more: the next refresh takes 1 room out of every search", "False,False"
    )  # fmt: skip
    await town.refresh()
    what, hidden = await told()
    assert what.endswith("1 room is out of every search, and erased in 23 hours") and hidden == "True,True"
    town.config = config
    await town.refresh()
    found = await status(town.config)
    assert not found.absent_rooms and not any(one.is_hidden for one in found.sources)
