"""What `sources.toml` can say of rooms and of the bot. Written as in `sources.config.model`."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Struct, field

from sources.config.forms import (
    COMMAND,
    DURATION,
    HTTP_URL,
    ROOM,
    SEEN,
    SIZE,
    USER,
    USERS,
    Each,
    whole,
)
from sources.config.units import HOUR_MS, SECOND_MS

Override = Literal["not-dm", "not-bridged", "was-bridged"]


class Chat(Struct, frozen=True, kw_only=True):
    """`[chat]`: the rooms that the reader account is joined to. Without it no chat is read; see docs/chat.md.

    When the table is taken out, the next refresh erases all that was read of rooms.
    """

    homeserver: Annotated[str, HTTP_URL, "Base URL of the reader's homeserver."]
    user: Annotated[str, USER, "The reader account; a token of another account is refused."]
    exclude: Annotated[
        tuple[str, ...], Each(ROOM), "Rooms that are never read, by id (`!hash` of room version 12 too) or alias."
    ] = ()
    encrypted_rooms: Annotated[
        Literal["skip", "refuse"], "Skip encrypted messages and count them, or refuse the whole room."
    ] = "skip"
    history: Annotated[
        tuple[Literal["world_readable", "shared", "invited", "joined"], ...],
        "Rooms are read only while their history visibility is one of these.",
    ] = ("world_readable", "shared")
    notices: Annotated[bool, "Whether notices of bots are indexed."] = False
    service_accounts: Annotated[
        tuple[str, ...],
        Each(USER),
        "Accounts that make no room a conversation of two, and whose messages are not read.",
    ] = ()
    puppets: Annotated[
        tuple[str, ...],
        "Globs of user ids that bridges use, like `@_irc_*:example.org`, beside those the program knows.",
    ] = ()
    overrides: Annotated[
        Mapping[str, Override],
        "Room id to a verdict that you know better: `not-dm`, `not-bridged`, or `was-bridged` (the bridge is gone: "
        "what is said from now on is read).",
    ] = field(default_factory=dict)
    erased_users: Annotated[
        tuple[str, ...], Each(USER), "Users whose messages are erased and stay out, here since servers do not tell."
    ] = ()
    grace_ms: Annotated[
        int,
        DURATION,
        "How long a room that the reader left is kept, hidden, before it is erased; `0s`: not at all. So are all rooms "
        "when this table is taken out.",
    ] = 24 * HOUR_MS
    gap_ms: Annotated[int, DURATION, "A silence this long ends a window of messages."] = HOUR_MS
    max_window_bytes: Annotated[int, SIZE, "A window of messages is not larger than this."] = 1_400
    concurrency: Annotated[int, whole(1, 32), "Rooms that are read at the same time."] = 4
    timeout_ms: Annotated[int, DURATION, "For one request to the homeserver."] = 30 * SECOND_MS


class BotRoom(Struct, frozen=True, kw_only=True):
    """`[[bot.room]]`: a room in which the bot answers. Everywhere else it keeps silent.

    What an answer quotes is read by everyone in that room, and by those who join it later.
    """

    room: Annotated[str, ROOM, "By id or alias. The bot has to be in it."]
    sees: Annotated[
        tuple[str, ...],
        Each(SEEN),
        "What may be quoted there. `here`: the room itself, unless newcomers may not read back in it; `public`: rooms "
        "that anyone may join and read; a room by id or alias, whatever it is; `forge:public` and `notes:public`: "
        "repositories and notes that are marked public; `repo:name`, `notes:name` or `forge:name/owner/repository`: "
        "that one, also a private one.",
    ]


class Bot(Struct, frozen=True, kw_only=True):
    """`[bot]`: the account that answers `!search` in rooms. docs/bot.md says how to set it up."""

    homeserver: Annotated[str, HTTP_URL, "Base URL of the bot's homeserver."]
    user: Annotated[str, USER, "The bot's account, an own one; a token of another account is refused."]
    prefix: Annotated[str, COMMAND, "What a command begins with. The bot's name with a colon works too."] = "!search"
    names: Annotated[tuple[str, ...], "Further names that it answers to, beside its display name and its id."] = ()
    looks_with: Annotated[
        Literal["bot", "reader"],
        "Whose eyes check each quoted message before it is shown: the bot's, which then has to be in each room that it "
        "quotes, or also those of the reader in [chat], whose credential the bot then needs.",
    ] = "bot"
    direct: Annotated[bool, "Whether it answers in direct chats, which may not be encrypted."] = False
    direct_sees: Annotated[
        tuple[str, ...],
        Each(SEEN),
        "What may be quoted there. `joined`: rooms that the asker is in at that moment; the rest as for rooms.",
    ] = ("joined",)
    inviters: Annotated[
        tuple[str, ...], Each(USERS), "Whose invitations it accepts: ids, or globs like `@*:example.org`."
    ] = ()
    leaves: Annotated[
        bool, "Whether it leaves rooms that are neither listed nor a direct chat, and declines other invitations."
    ] = False
    ignore: Annotated[tuple[str, ...], Each(USER), "Other bots, whose messages are never answered."] = ()
    per_user: Annotated[int, whole(1, 1000), "Commands of one person that are answered in a minute."] = 6
    per_room: Annotated[int, whole(1, 1000), "Commands in one room that are answered in a minute."] = 20
    hits: Annotated[int, whole(1, 10), "Hits on one page of an answer."] = 5
    beat_ms: Annotated[
        int,
        DURATION,
        "Answers leave at multiples of this after the question, so that their time tells nothing of hidden rooms.",
    ] = 500
    stale_after_ms: Annotated[int, DURATION, "An answer says so when its sources were last read longer ago."] = (
        26 * HOUR_MS
    )
    withdraw: Annotated[
        Literal["redact", "edit"],
        "What happens to an answer when something that it quotes goes: it is redacted, or the hit is edited out of it, "
        "which leaves the old text in the room's history.",
    ] = "redact"
    remember_ms: Annotated[int, DURATION, "How long an answer is withdrawn when something that it quotes goes."] = (
        90 * 24 * HOUR_MS
    )
    contact: Annotated[str | None, "Who runs it, for `about`: a name, an address."] = None
    room: Annotated[tuple[BotRoom, ...], ""] = ()
