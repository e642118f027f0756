"""What the demo plays: people, rooms, what was said there, notes, questions. Data alone; nothing here does anything.

`{word}` in a text becomes a word that is made up at run time and stands nowhere else: of each it is looked up
afterwards where it can be found, and where it cannot. `{token}` becomes a token of the same kind.
"""

from typing import Final

from msgspec import Struct

SERVER: Final = "community.example"
PEOPLE: Final = {"mira": "Mira", "jonas": "Jonas", "ada": "Ada", "tomas": "Tomáš"}
READER: Final = "reader"
BOT: Final = "sources"
PUPPET: Final = "telegram_4711"


class Said(Struct, frozen=True):
    """One message. `mark` names it where something is done with it or its word; `edit` is what it was changed to."""

    who: str
    text: str
    mark: str = ""
    edit: str = ""


class Talk(Struct, frozen=True):
    """Messages that follow each other within minutes. `clock` is when it began, UTC."""

    days_ago: int
    clock: str
    said: tuple[Said, ...]


class Room(Struct, frozen=True):
    """`owner` makes it; everybody is in it unless it is private, then `members` are. The reader is in all of them."""

    key: str
    name: str
    owner: str
    shows: str
    talks: tuple[Talk, ...]
    members: tuple[str, ...] = tuple(PEOPLE)
    is_private: bool = False
    is_direct: bool = False
    is_encrypted: bool = False
    is_bridged: bool = False
    is_excluded: bool = False
    sees: tuple[str, ...] = ()  # of the bot; empty: the bot is not there


ROOMS: Final = (
    Room(
        "general",
        "General",
        "mira",
        "anyone may join and read back",
        (
            Talk(
                6,
                "18:40",
                (
                    Said("mira", "I wrote down how we restore a backup; it is in the notes as well."),
                    Said(
                        "mira", "In short: newest snapshot into a scratch folder, compare, then swap. Never in place."
                    ),
                    Said("jonas", "And if the newest snapshot is broken?"),
                    Said("mira", "Then the one before. borg check says within a minute which ones are good."),
                    Said(
                        "tomas",
                        "The last drill took 22 minutes until the server answered. Its log is called {word}.",
                        "kept",
                    ),
                ),
            ),
            Talk(
                3,
                "09:05",
                (
                    Said("ada", "The wiki is slow again. Did somebody change the search box?"),
                    Said("jonas", "Me. It asks the database at every letter. I make it wait."),
                    Said(
                        "jonas",
                        "Done, it waits a second now. The switch for it is named {word}.",
                        "edited",
                        edit="Done, it waits 300 ms after the last letter.",
                    ),
                    Said("ada", "Much better, thank you!"),
                ),
            ),
            Talk(
                1,
                "20:15",
                (
                    Said("tomas", "Kdo má v neděli klíč od skladu?"),
                    Said("mira", "Já. Přijdu v deset."),
                    Said(
                        "jonas",
                        "The spare key of the storage hangs behind the meter, the box opens with {word}.",
                        "redacted",
                    ),
                    Said("mira", "Jonas, everybody can read along here. Please delete that."),
                ),
            ),
        ),
        sees=("here", "public", "forge:public", "notes:public"),
    ),
    Room(
        "ops",
        "Operations",
        "tomas",
        "by invitation; the bot may quote it here alone",
        (
            Talk(
                2,
                "21:30",
                (
                    Said("tomas", "The disk of the mail host is full, 4,000 mails wait in the queue."),
                    Said("ada", "Old journals. journalctl --vacuum-size=500M gave 31 GB back."),
                    Said("tomas", "The queue drains. The alarm comes at 80 percent from now on."),
                    Said("mira", "We look back at it on Thursday, in the page {word}.", "private"),
                    Said("ada", "Here is the deploy token for the runner: {token}", "token"),
                    Said("tomas", "Never into a room, Ada. I have revoked it."),
                ),
            ),
        ),
        members=("tomas", "ada", "mira"),
        is_private=True,
        sees=("here", "public", "forge:public", "notes:public"),
    ),
    Room(
        "direct",
        "",
        "ada",
        "a direct chat with the reader account",
        (Talk(2, "08:12", (Said("ada", "Hi! Are you a person? My new number is under {word}.", "direct"),)),),
        members=("ada",),
        is_private=True,
        is_direct=True,
    ),
    Room(
        "vault",
        "Vault",
        "tomas",
        "encrypted",
        (Talk(4, "10:00", (Said("tomas", "{word}", "encrypted"),)),),
        members=("tomas", "ada"),
        is_private=True,
        is_encrypted=True,
    ),
    Room(
        "lobby",
        "Lobby",
        "mira",
        "bridged to Telegram, whose people were never asked",
        (
            Talk(
                5,
                "12:00",
                (
                    Said(PUPPET, "Greetings from Telegram! On Saturday we meet at the {word}.", "bridged"),
                    Said("mira", "See you there!"),
                ),
            ),
        ),
        is_bridged=True,
    ),
    Room(
        "board",
        "Board",
        "mira",
        "excluded by the host",
        (
            Talk(
                5,
                "19:20",
                (
                    Said(
                        "mira",
                        "The landlord wants twelve percent more. Our answer lies in the folder {word}.",
                        "excluded",
                    ),
                    Said("jonas", "Agreed. Not a word outside of this room."),
                ),
            ),
        ),
        members=("mira", "jonas"),
        is_private=True,
        is_excluded=True,
    ),
)

NOTES: Final = {
    "restore.md": """\
---
title: Restoring a backup
tags: [ops, backup]
---
# Restoring a backup

Restore the newest backup into a scratch folder, never in place. Compare it with what is there, then swap the two.

## Which snapshot

`borg check` reads every snapshot and says which ones are good. Take the newest good one.

## Afterwards

Write down how long it took. A drill every three months keeps that number honest.
""",
    "on-call.md": """\
---
title: On call
tags: [ops]
---
# On call

One of us is on call from Monday to Monday, and hands over in the room.

## What wakes you

A service that does not answer for five minutes. A certificate that ends within a week. Nothing else at night.
""",
    "house.md": """\
---
title: The house
tags: [house]
---
# The house

The storage is open on Sundays from ten. Whoever comes first switches the heating on, whoever leaves last, off.
""",
}


class Asked(Struct, frozen=True):
    """A question to the bot, by somebody in a room, and what it shows."""

    who: str
    room: str
    text: str
    shows: str


ASKED: Final = (
    Asked("jonas", "general", '!search "scratch folder"', "rooms and notes answer, linked and dated"),
    Asked("ada", "ops", '!search "vacuum-size"', "an exact phrase, asked in #ops, where it was said"),
    Asked("jonas", "general", '!search "vacuum-size"', "the same asked in #general, which may not see #ops"),
    Asked("tomas", "general", '!search "one writer" repo:sources kind:readme', "this project's own repository"),
    Asked("mira", "general", "!search about", "what a member can know about the bot"),
)
WITHDRAWN: Final = Asked(
    "tomas", "general", "!search spare key behind the meter", "something that should not stand there"
)


class Claim(Struct, frozen=True):
    """Where the word of a marked message may be found: by the bot in `room`, by a search in the shell, in the bytes."""

    mark: str
    what: str
    why: str  # empty: as `sources rooms` says of the room
    room: str = "ops"
    is_told: bool = False
    is_found: bool = False
    is_kept: bool = False
    question: str = ""  # what is asked instead of the word itself


CLAIMS: Final = (
    Claim("kept", "said in #general", "", is_told=True, is_found=True, is_kept=True),
    Claim(
        "private",
        "said in #ops, asked in #general",
        "#general sees public rooms, and #ops is by invitation",
        room="general",
        is_found=True,
        is_kept=True,
    ),
    Claim("direct", "the direct chat", ""),
    Claim("encrypted", "the encrypted message", ""),
    Claim("bridged", "the bridged room", ""),
    Claim("excluded", "the excluded room", ""),
    Claim("redacted", "the deleted message", "its author deleted it; the refresh after that erased it"),
    Claim(
        "edited",
        "what an edit replaced",
        "the newest edit counts; the text below is kept, since it returns when the edit is deleted",
        is_kept=True,
    ),
    Claim("token", "the leaked token", "a marker stands in its place", question="deploy token for the runner"),
)


class Shown(Struct, frozen=True):
    """A command of the shell, and what it shows."""

    shows: str
    arguments: tuple[str, ...]


SHELL: Final = (
    Shown(
        "in a shell the host sees everything that is indexed",
        ("search", "-n", "2", "mails wait in the queue corpus:chat"),
    ),
    Shown("another language than the text", ("search", "-n", "1", "jak obnovit zálohu corpus:notes")),
)
SHELL_WITHOUT_CHAT: Final = (
    Shown("a question in plain words", ("search", "-n", "2", "how do we restore a backup")),
    SHELL[1],
    Shown("why a hit stands where it stands", ("search", "-n", "2", "--explain", "which rooms are left out")),
    Shown("nothing that is here", ("search", "sourdough starter corpus:notes")),
)
