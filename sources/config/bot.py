"""From `[bot]` to what it is run with."""

from typing import Final

from bot.audience import read_sees
from bot.settings import BotSettings, PermittedRoom
from index.model import UserId
from sources.config.chat_tables import Bot

BOT_TOKEN: Final = "matrix-bot-token"


def bot_settings(bot: Bot) -> BotSettings:
    return BotSettings(
        user=UserId(bot.user),
        rooms=tuple(PermittedRoom(room.room, read_sees(room.sees)) for room in bot.room),
        direct=read_sees(bot.direct_sees) if bot.direct else None,
        prefix=bot.prefix,
        names=bot.names,
        inviters=bot.inviters,
        ignored=frozenset(map(UserId, bot.ignore)),
        leaves=bot.leaves,
        per_user=bot.per_user,
        per_room=bot.per_room,
        hits=bot.hits,
        beat_s=bot.beat_ms / 1000,
        stale_after_ms=bot.stale_after_ms,
        withdraw=bot.withdraw,
        answers_kept_ms=bot.remember_ms,
        contact=bot.contact or "",
    )
