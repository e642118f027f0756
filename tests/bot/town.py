"""A community with a reader, an index and a bot, on a real homeserver; everything the bot says is kept for a look.

    async with town.bot_running():
        answer = await town.ask(alice, room, "!search lost update")
        assert "lost" in answer["body"]
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.client import Bot
from index.errors import SourcesError
from sources.answering import open_bot
from sources.app import run_refresh
from sources.config.model import Bot as BotTable
from sources.config.model import BotRoom, Chat, Config, Embed, Index
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

    async def refresh(self) -> None:
        report = await run_refresh(self.config, self.credentials)
        assert not report.failed, report.failed

    @asynccontextmanager
    async def bot_running(self, config_file: Path | None = None) -> AsyncIterator[Bot]:
        """Until the block ends; an error that ends the bot before is raised there."""
        async with open_bot(self.config, self.credentials, config_file) as bot:
            task = asyncio.create_task(bot.run())
            try:
                await self._until_ready(bot, task)
                yield bot
            finally:
                bot.stop()
                await task

    async def _until_ready(self, bot: Bot, task: "asyncio.Task[None]") -> None:
        while not bot.is_ready and not task.done():
            await asyncio.sleep(0.01)
        if task.done():
            await task

    async def said(self, room: str) -> list[Json]:
        """Every message event of the bot in a room, as somebody in it sees them, with what was redacted."""
        events = await self.bot.messages(room)
        return [event for event in events if event["sender"] == self.bot.user and event["type"] == "m.room.message"]

    async def answers_to(self, room: str, command: str) -> list[Json]:
        def is_answer(event: Json) -> bool:
            related = event["content"].get("m.relates_to", {})
            return bool(related.get("m.in_reply_to", {}).get("event_id") == command)

        return [event for event in await self.said(room) if is_answer(event)]

    async def answer(self, room: str, command: str) -> Json:
        """The one answer to a command, waited for."""
        async with asyncio.timeout(ANSWER_S):
            while not (found := await self.answers_to(room, command)):
                await asyncio.sleep(0.03)
        assert len(found) == 1
        return found[0]

    async def ask(self, who: Person, room: str, text: str) -> Json:
        """The content of the answer."""
        content: Json = (await self.answer(room, await who.say(room, text)))["content"]
        return content

    async def silence(self, who: Person, room: str, witness: str) -> None:
        """Wait until the bot has seen all that was said before: it answers something that was said after, elsewhere."""
        await self.ask(who, witness, "!search help")

    async def until(self, claim: Any) -> None:
        """Wait for an async claim to become true."""
        async with asyncio.timeout(ANSWER_S):
            while not await claim():
                await asyncio.sleep(0.05)


__all__ = ["SourcesError", "Town", "word"]
