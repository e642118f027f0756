"""What was edited since the last refresh, of hits that no word of the question leads to."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from bot.checking import Checker
from bot.rooms import Eye, Rooms
from index.model import EventId, Message, RoomId, Span, UserId
from index.text.found import Finder
from index.text.query import parse_many
from index.text.words import Keys
from ingest.scrub import scrub
from sources.hearing import hear
from tests.cli.test_rendering import SAID

ROOM = RoomId("!r:a.example")
ANN = UserId("@ann:a.example")
TEXT = "ann: > old words\n  the pantry is closed"
HIT = replace(
    SAID, text=TEXT, best_message=None, messages=(Message(EventId("$1"), ANN, 1_700_000_000_000, Span(5, len(TEXT))),)
)


class Homeserver:
    """Knows one message, as it reads now."""

    def __init__(self, body: str, edit: str | None = None) -> None:
        content = {"msgtype": "m.text", "body": body, "m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}}
        self.raw: dict[str, Any] = {
            "type": "m.room.message",
            "event_id": "$1",
            "room_id": ROOM,
            "sender": ANN,
            "origin_server_ts": 1_700_000_000_000,
            "content": content,
        }
        if edit is not None:
            new = {"msgtype": "m.text", "body": edit}
            relation = {"rel_type": "m.replace", "event_id": "$1"}
            bundled = {**self.raw, "event_id": "$2", "content": {**new, "m.new_content": new, "m.relates_to": relation}}
            self.raw["unsigned"] = {"m.relations": {"m.replace": bundled}}

    async def event(self, room: RoomId, event: EventId, *, is_patient: bool = True) -> dict[str, Any] | None:
        return self.raw if event == "$1" else None


def shown(homeserver: Homeserver, question: str = "larder") -> str | None:
    finder = Finder(parse_many([question], now_ms=0), Keys(("en",)))
    eye = Eye(UserId("@bot:a.example"), homeserver, frozenset({ROOM}))  # type: ignore[arg-type]
    [found] = asyncio.run(Checker(Rooms([eye]), hear, scrub, home="a.example").check([HIT], finder))
    return None if found is None else found.shown.lines[0].words.text


def test_a_hit_by_meaning_is_shown_while_nobody_edited_it() -> None:
    assert shown(Homeserver("> old words\nthe pantry is closed")) == "the pantry is closed"


@pytest.mark.parametrize("edit", ["the pantry", "the pantry is closed on Sundays"])
def test_once_edited_only_words_lead_to_it_until_it_is_read_anew(edit: str) -> None:
    homeserver = Homeserver("> old words\nthe pantry is closed", edit)
    assert shown(homeserver) is None
    assert shown(homeserver, "pantry") == edit
    assert shown(Homeserver("> old words\nthe pantry is closed", "never mind"), "pantry") is None


@pytest.mark.parametrize(
    ("question", "edit", "is_kept"),
    [
        ("pantry -vault", "the pantry is in the Vault", False),
        ("pantry -vault", "the pantry is in the vaults", True),  # as the index compares it: as typed
        ('pantry -"old vault"', "the pantry is in the vault", True),
        ('pantry -"old vault"', "the pantry is in the old, vault", False),
    ],
)
def test_what_an_edit_brings_in_and_the_question_excludes_is_not_quoted(
    question: str, edit: str, *, is_kept: bool
) -> None:
    assert (shown(Homeserver("> old words\nthe pantry is closed", edit), question) == edit) == is_kept
