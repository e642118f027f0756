"""Probe of the bot: whose token it is, and whether it can answer where it shall. Nothing is said and nothing joined."""

from collections.abc import Iterator, Sequence

from index.errors import SourcesError
from index.model import RoomId, UserId
from sources.checks.base import Finding, Verdict, counted, failure
from sources.config.chat_tables import Bot
from sources.config.model import Config
from sources.credentials import Credentials

_REMEDY = "invite it as somebody in bot.inviters, or correct the name"


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    if config.bot is None:
        return []
    from matrix.budget import CHECK_BUDGET
    from matrix.calls import Mode
    from matrix.reading import HomeserverReader
    from matrix.session import open_session
    from sources.config.bot import BOT_TOKEN

    bot = config.bot
    try:
        token = credentials.read(BOT_TOKEN).reveal()
        async with open_session(bot.homeserver, token, Mode.READER, CHECK_BUDGET) as session:
            reader = HomeserverReader(session, UserId(bot.user))
            await reader.check_account(UserId(bot.user))
            joined = await reader.joined_rooms()
            rooms = {
                room.room: RoomId(room.room) if room.room.startswith("!") else await reader.resolve(room.room)
                for room in bot.room
            }
    except SourcesError as error:
        return [failure("bot", error)]
    return list(_findings(bot, joined, rooms))


def _findings(bot: Bot, joined: frozenset[RoomId], rooms: dict[str, RoomId | None]) -> Iterator[Finding]:
    if not bot.room and not bot.direct:
        yield Finding("bot", Verdict.WARN, f"{bot.user} answers nowhere", "add [[bot.room]], or direct = true")
    else:
        answers = sum(room in joined for room in rooms.values())
        yield Finding("bot", Verdict.OK, f"{bot.user} answers in {counted(answers, 'room')}")
    for name, room in rooms.items():
        if room is None:
            yield Finding(f"bot {name}", Verdict.WARN, "leads to no room now", "correct it, or write the room's id")
        elif room not in joined:
            yield Finding(f"bot {name}", Verdict.WARN, "the bot is not in that room", _REMEDY)
