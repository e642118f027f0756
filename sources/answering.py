"""Where the bot is put together, from a configuration to something that runs. See `sources.app` for the rest."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from bot.answers import Answers
from bot.checking import Checker
from bot.client import Bot
from bot.library import Opened, open_library
from bot.memory import open_memory
from bot.places import Places
from bot.rooms import Eye, Rooms
from bot.settings import BotSettings
from bot.speaking import Speaker
from bot.withdrawal import Withdrawals
from index.errors import ConfigError
from index.model import UserId
from ingest.lock import write_lock
from matrix.budget import BOT_BUDGET, Budget
from matrix.calls import Mode
from matrix.reading import HomeserverReader
from matrix.sending import HomeserverSender
from matrix.session import open_session
from sources.app import open_index
from sources.config.bot import BOT_TOKEN, bot_settings
from sources.config.chat import reader_token
from sources.config.chat_tables import Bot as BotTable
from sources.config.load import load
from sources.config.model import Config
from sources.credentials import Credentials
from sources.hearing import hear
from sources.redact import redact

_LOOKING: Final = Budget(total_s=None, max_attempts=2, retry_after_cap_s=5.0, request_timeout_s=20.0)


async def run_bot(config: Config, credentials: Credentials, config_file: Path | None = None) -> None:
    """Until SIGTERM or SIGINT. SIGHUP, or a change of the file, has its rooms and manners read again.

    Raises `BusyError` while another bot has the same state folder: each would hold the other's answers for its own.
    """
    table_of(config)
    with write_lock(config.state_dir / "bot.lock", who="bot"):
        await _run_alone(config, credentials, config_file)


async def _run_alone(config: Config, credentials: Credentials, config_file: Path | None) -> None:
    async with open_bot(config, credentials, config_file) as bot:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, bot.stop)
        loop.add_signal_handler(signal.SIGHUP, bot.want_reload)
        await bot.run()


@asynccontextmanager
async def open_bot(config: Config, credentials: Credentials, config_file: Path | None = None) -> AsyncIterator[Bot]:
    """Nothing is requested yet."""
    table = table_of(config)
    settings = bot_settings(table)
    async with AsyncExitStack() as opened:
        token = credentials.read(BOT_TOKEN).reveal()
        session = await opened.enter_async_context(open_session(table.homeserver, token, Mode.BOT, BOT_BUDGET))
        me = Eye(settings.user, HomeserverReader(session, settings.user))
        sender = HomeserverSender(session)
        reader = None
        if table.looks_with == "reader" and config.chat is not None:
            looking = await opened.enter_async_context(
                open_session(config.chat.homeserver, reader_token(credentials)(), Mode.READER, _LOOKING)
            )
            user = UserId(config.chat.user)
            reader = Eye(user, HomeserverReader(looking, user))

        @asynccontextmanager
        async def open_both() -> AsyncIterator[Opened]:
            async with open_index(config, credentials) as index:
                yield Opened(index.catalogue, index.searcher, index.keys)

        library = await opened.enter_async_context(open_library(open_both))
        memory = await opened.enter_async_context(open_memory(config.state_dir / "bot.sqlite"))
        rooms = Rooms([me] if reader is None else [me, reader])
        places = Places(settings, me.reader)
        home = settings.user.partition(":")[2]
        checker = Checker(rooms, hear, redact, home=home)
        answers = Answers(places, rooms, library, checker)
        withdrawals = Withdrawals(memory, sender, places, answers, checker, library)
        yield Bot(
            me,
            sender,
            memory=memory,
            library=library,
            rooms=rooms,
            places=places,
            withdrawals=withdrawals,
            speaker=Speaker(memory, sender, places, answers, withdrawals),
            reader=reader,
            reload=None if config_file is None else Reloader(config_file, config),
        )


def table_of(config: Config) -> BotTable:
    if config.bot is None:
        raise ConfigError("bot: there is no such table (add [bot] and [[bot.room]]; docs/bot.md shows how)")
    return config.bot


class Reloader:
    """Reads the file again when it has changed. What a session or the index depend on needs a restart."""

    def __init__(self, file: Path, config: Config) -> None:
        self._file = file
        self._config = config
        self._seen = self._state()

    def _state(self) -> object:
        try:
            status = self._file.stat()
        except OSError:
            return None  # being replaced: the next look finds the new one
        return status.st_mtime_ns, status.st_size, status.st_ino

    async def __call__(self, *, is_forced: bool) -> BotSettings | None:
        state = self._state()
        if state is None or (state == self._seen and not is_forced):
            return None
        self._seen = state
        config = load(self._file)
        table, before = table_of(config), table_of(self._config)
        if (table.homeserver, table.user, table.looks_with) != (before.homeserver, before.user, before.looks_with):
            raise ConfigError(f"{self._file.name}: bot: another account or homeserver (restart the bot for that)")
        return bot_settings(table)
