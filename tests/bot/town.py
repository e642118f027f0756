"""A community with a reader, an index and a bot, on a real homeserver; everything the bot says is kept for a look.

async with town.bot_running():
    answer = await town.ask(alice, room, "!search lost update")
    assert "lost" in answer["body"]
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from bot.client import Bot
from index.model import RoomId
from sources.answering import open_bot
from sources.app import run_refresh
from sources.config.chat_tables import Bot as BotTable
from sources.config.chat_tables import BotRoom, Chat
from sources.config.model import Config, Embed, Index
from sources.credentials import Credentials
from tests.matrix.people import People, Person

Json = dict[str, Any]
ANSWER_S = 30.0


def word() -> str:
    """A word that stands nowhere else."""
    return "w" + "".join(secrets.choice("abcdefghijklmnoprstuvy") for _ in range(12))


class Town:
    def __init__(self, folder: Path, people: People, reader: Person, bot: Person) -> None:
        self.people = people
        self.reader = reader
        self.bot = bot
        self.folder = folder
        self.life: asyncio.Task[None] | None = None  # of the bot that was started last
        url = people.homeserver.url
        self.config = Config(
            state_dir=folder / "state",
            index=Index(languages=("en",)),
            embed=Embed(kind="off"),
            chat=Chat(homeserver=url, user=reader.user, service_accounts=(bot.user,)),
            bot=BotTable(homeserver=url, user=bot.user, looks_with="reader", beat_ms=0, per_user=1000, per_room=1000),
        )
        self.credentials = Credentials(folder / "credentials")
        (folder / "credentials").mkdir(mode=0o700)
        self.give_token("matrix-reader-token", reader.token)
        self.give_token("matrix-bot-token", bot.token)

    def give_token(self, name: str, token: str) -> None:
        file = self.folder / "credentials" / name
        file.write_text(token)
        file.chmod(0o600)

    def set_bot(self, **changes: Any) -> None:
        assert self.config.bot is not None
        self.config = replace(self.config, bot=replace(self.config.bot, **changes))

    def set_chat(self, **changes: Any) -> None:
        assert self.config.chat is not None
        self.config = replace(self.config, chat=replace(self.config.chat, **changes))

    def permit(self, rooms: Mapping[str, Sequence[str]]) -> None:
        """Room to what it sees, instead of what was permitted before."""
        self.set_bot(room=tuple(BotRoom(room=room, sees=tuple(sees)) for room, sees in rooms.items()))

    def written(self) -> str:
        """The configuration as a file says it, as far as the bot is concerned."""
        chat, bot = self.config.chat, self.config.bot
        assert chat is not None and bot is not None
        lines = [
            f"state_dir = {json.dumps(str(self.config.state_dir))}",
            'embed = { kind = "off" }',
            'index = { languages = ["en"] }',
            f'chat = {{ homeserver = "{chat.homeserver}", user = "{chat.user}" }}',
            "[bot]",
            f'homeserver = "{bot.homeserver}"\nuser = "{bot.user}"\nlooks_with = "{bot.looks_with}"\nbeat = "0s"',
            f"per_user = {bot.per_user}\nper_room = {bot.per_room}",
        ]
        for room in bot.room:
            lines += ["[[bot.room]]", f'room = "{room.room}"', f"sees = {json.dumps(list(room.sees))}"]
        return "\n".join(lines)

    async def room(self, owner: Person, *texts: str, name: str = "Asking", **creation: Any) -> str:
        """A room with bot and reader in it, where the owner has said these texts."""
        creation.setdefault("invite", [self.reader, self.bot])
        room = await owner.create_room(name, **creation)
        await self.reader.join(room)
        await self.bot.join(room)
        for text in texts:
            await owner.say(room, text)
        return room

    async def refresh(self) -> None:
        report = await run_refresh(self.config, self.credentials)
        assert not report.failed, report.failed

    @asynccontextmanager
    async def bot_running(self, config_file: Path | None = None) -> AsyncIterator[Bot]:
        """Until the block ends; an error that ends the bot before is raised there."""
        async with open_bot(self.config, self.credentials, config_file) as bot:
            self.life = task = asyncio.create_task(bot.run())
            try:
                await self._until_ready(bot, task)
                yield bot
            finally:
                bot.stop()
                await task

    async def _until_ready(self, bot: Bot, task: "asyncio.Task[None]") -> None:
        ready = asyncio.create_task(bot.ready.wait())
        await asyncio.wait((ready, task), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if task.done():
            await task

    @staticmethod
    def room_id(room: str) -> RoomId:
        return RoomId(room)

    async def said(self, room: str) -> list[Json]:
        """Every message event of the bot in a room, oldest first, with what was redacted."""
        return self._own(await self.bot.messages(room))

    def _own(self, events: Sequence[Json]) -> list[Json]:
        return [event for event in events if event["sender"] == self.bot.user and event["type"] == "m.room.message"]

    async def answers_to(self, room: str, command: str) -> list[Json]:
        return _answers_in(await self.said(room), command)

    async def answer(self, room: str, command: str) -> Json:
        """The answer to a command, waited for."""
        found: list[Json] = []

        async def is_there() -> bool:
            page = await self.bot.call("GET", f"/rooms/{quote(room)}/messages", dir="b", limit=10)
            found[:] = _answers_in(self._own(page["chunk"]), command)
            return bool(found)

        await self.until(is_there)
        return found[0]

    async def ask(self, who: Person, room: str, text: str) -> Json:
        """The content of the answer."""
        content: Json = (await self.answer(room, await who.say(room, text)))["content"]
        return content

    async def silence(self, who: Person, room: str, witness: str) -> None:
        """Wait until the bot has seen all that was said before: it answers something that was said after, elsewhere."""
        await self.ask(who, witness, "!search help")

    async def until(self, claim: Callable[[], Awaitable[bool]]) -> None:
        """Wait for a claim about the homeserver to become true."""
        async with asyncio.timeout(ANSWER_S):
            for pause_s in chain((0.05, 0.05, 0.1), repeat(0.2)):
                if await claim():
                    return
                await asyncio.sleep(pause_s)


def _answers_in(events: Sequence[Json], command: str) -> list[Json]:
    def is_answer(event: Json) -> bool:
        related = event["content"].get("m.relates_to", {})
        return bool(related.get("m.in_reply_to", {}).get("event_id") == command)

    return [event for event in events if is_answer(event)]
