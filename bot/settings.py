"""How one bot behaves, as its host wants it. The program makes it from `[bot]`; nothing here reads a file."""

from dataclasses import dataclass, field
from typing import Final, Literal

from bot.audience import Sees
from index.model import UserId

OLDEST_COMMAND_MS: Final = 2 * 60_000
"""An older command is not answered: whoever asked has gone on, and after an outage nobody wants a flood."""
ANSWER_TIMEOUT_S: Final = 20.0
"""For one answer; then the asker is told so."""


@dataclass(frozen=True, slots=True)
class PermittedRoom:
    """`name` is an id or an alias."""

    name: str
    sees: Sees


@dataclass(frozen=True, slots=True)
class BotSettings:
    user: UserId
    rooms: tuple[PermittedRoom, ...] = ()
    direct: Sees | None = None  # None: no direct chats
    prefix: str = "!search"
    names: tuple[str, ...] = ()  # besides the display name and the localpart
    inviters: tuple[str, ...] = ()  # globs of user ids whose invitations are accepted
    ignored: frozenset[UserId] = field(default_factory=frozenset)  # other bots
    leaves: bool = False  # rooms that are neither permitted nor a direct chat
    per_user: int = 6  # commands in a minute
    per_room: int = 20
    hits: int = 5
    beat_s: float = 0.5  # answers leave at multiples of it after the question
    stale_after_ms: int = 26 * 3_600_000
    withdraw: Literal["redact", "edit"] = "redact"
    answers_kept_ms: int = 90 * 86_400_000
    contact: str = ""  # who runs it
