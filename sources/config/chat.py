"""From `[chat]` to what reads it."""

from collections.abc import Callable
from typing import Final

from index.model import RoomId, UserId
from ingest.chat.facts import Visibility
from ingest.chat.gates import Override
from ingest.chat.settings import ChatSettings
from ingest.chat.windows import Bounds
from sources.config.chat_tables import Bot, Chat
from sources.credentials import Credentials

READER_TOKEN: Final = "matrix-reader-token"

_OVERRIDES: Final = {
    "not-dm": frozenset({Override.DIRECT}),
    "not-bridged": frozenset({Override.BRIDGED}),
    "was-bridged": frozenset({Override.WAS_BRIDGED}),
}


def chat_settings(chat: Chat, bot: Bot | None = None) -> ChatSettings:
    """Neither the bot's own messages are read nor the commands to it: it would find its answers, and its questions."""
    own = () if bot is None else (bot.user,)
    return ChatSettings(
        homeserver=chat.homeserver,
        user=UserId(chat.user),
        excluded=chat.exclude,
        overrides={RoomId(room): _OVERRIDES[verdict] for room, verdict in chat.overrides.items()},
        visibilities=frozenset(map(Visibility, chat.history)),
        refuses_encrypted=chat.encrypted_rooms == "refuse",
        keeps_notices=chat.notices,
        command="" if bot is None else bot.prefix,
        service_users=frozenset(map(UserId, (*chat.service_accounts, *own))),
        puppets=chat.puppets,
        erased_users=tuple(map(UserId, chat.erased_users)),
        grace_ms=chat.grace_ms,
        bounds=Bounds(gap_ms=chat.gap_ms, max_bytes=chat.max_window_bytes),
        concurrency=chat.concurrency,
        request_timeout_s=chat.timeout_ms / 1000,
    )


def reader_token(credentials: Credentials) -> Callable[[], str]:
    """Read from its file when a session begins, and kept nowhere."""
    return lambda: credentials.read(READER_TOKEN).reveal()
