"""What an audit says of rooms, from the index of a real homeserver's."""

from pathlib import Path

from msgspec.structs import replace

from index.audit import Upgrade
from index.model import RoomId
from sources.auditing import gather
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
    assert (await gather(town.config, town.credentials)).upgrades == []
    heir = await alice.upgrade(room, "12")
    await town.refresh()
    assert (await gather(town.config, town.credentials)).upgrades == [Upgrade("Kitchen", RoomId(heir))]
    excluding = town.config
    assert excluding.chat is not None
    excluding = replace(excluding, chat=replace(excluding.chat, exclude=(heir,)))
    assert (await gather(excluding, town.credentials)).upgrades == []
    await reader.join(heir)
    await town.refresh()
    assert (await gather(town.config, town.credentials)).upgrades == []
