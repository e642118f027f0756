"""Probe of the bot: whose token it is, and whether it can answer where it shall. Nothing is said and nothing joined."""

from collections.abc import Iterator, Mapping, Sequence, Set

from index.errors import SourcesError
from index.model import RoomId, UserId
from index.wording import counted
from sources.checks.base import Finding, Verdict, failure, in_the_clear
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
    clear = list(in_the_clear("bot", bot.homeserver))
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
            encrypted = {
                room
                for room in joined.intersection(filter(None, rooms.values()))
                if await reader.state_content(room, "m.room.encryption", "") is not None
            }
    except SourcesError as error:
        return [failure("bot", error), *clear]
    return [*_findings(bot, joined, rooms, encrypted), *clear]


def _findings(
    bot: Bot, joined: Set[RoomId], rooms: Mapping[str, RoomId | None], encrypted: Set[RoomId]
) -> Iterator[Finding]:
    if not bot.room and not bot.direct:
        yield Finding("bot", Verdict.WARN, f"{bot.user} answers nowhere", "add [[bot.room]], or direct = true")
    else:
        answers = sum(room in joined and room not in encrypted for room in rooms.values())
        yield Finding("bot", Verdict.OK, f"{bot.user} answers in {counted(answers, 'room')}")
    for name, room in rooms.items():
        if room is None:
            yield Finding(f"bot {name}", Verdict.WARN, "leads to no room now", "correct it, or write the room's id")
        elif room not in joined:
            yield Finding(f"bot {name}", Verdict.WARN, "the bot is not in that room", _REMEDY)
        elif room in encrypted:
            detail = "is encrypted, so the bot keeps silent there"
            yield Finding(f"bot {name}", Verdict.WARN, detail, "list a room without encryption instead")
