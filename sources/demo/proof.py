"""Claims of the scenario put to the test: each word is asked for in a room, in the shell, and looked for in the bytes.

What can be found is claimed as well: a look that finds nothing anywhere would prove nothing.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sources.app import open_searcher
from sources.config.model import Config
from sources.credentials import Credentials
from sources.demo.community import Community, Message
from sources.demo.scenario import Claim
from sources.rooms import RoomStatus, room_statuses

PIECE_BYTES: Final = 16 << 20
TAIL_CHARS: Final = 10
"""Of a word: the beginning may stand in the bytes only once for several words of an index, its end stands with it."""


class Finding(Struct, frozen=True):
    """What came of one claim: told by the bot, found by a search, kept in the bytes of some file."""

    claim: Claim
    word: str
    is_told: bool
    is_found: bool
    is_kept: bool
    why: str

    @property
    def holds(self) -> bool:
        claim = self.claim
        return (self.is_told, self.is_found, self.is_kept) == (claim.is_told, claim.is_found, claim.is_kept)


def prove(config: Config, credentials: Credentials, community: Community, claims: Sequence[Claim]) -> Sequence[Finding]:
    """In the order of the claims. Bytes are read first, since to ask for a word in a room is to say it there."""
    messages = {claim.mark: community.marked(claim.mark) for claim in claims}
    kept = words_in(config.state_dir, [message.word for message in messages.values()])
    found, rooms = asyncio.run(_searched(config, credentials, claims, messages))
    told = _told(community, claims, messages)
    return [
        Finding(
            claim,
            messages[claim.mark].word,
            is_told=claim.mark in told,
            is_found=claim.mark in found,
            is_kept=messages[claim.mark].word in kept,
            why=claim.why or _reason(rooms[community.rooms[messages[claim.mark].room]]),
        )
        for claim in claims
    ]


def words_in(folder: Path, words: Iterable[str]) -> set[str]:
    """Those of which some file below the folder holds the whole or the end, in either case of letters."""
    wanted = {word: word[-TAIL_CHARS:].lower().encode() for word in words}
    found: set[str] = set()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        with file.open("rb") as opened:
            before = b""
            while piece := opened.read(PIECE_BYTES):
                text = before + piece.lower()
                found |= {word for word, end in wanted.items() if end in text}
                before = text[-TAIL_CHARS:]
    return found


def question(claim: Claim, word: str) -> str:
    return claim.question or f'"{word}"'


async def _searched(
    config: Config, credentials: Credentials, claims: Sequence[Claim], messages: Mapping[str, Message]
) -> tuple[set[str], dict[str, RoomStatus]]:
    """Marks whose word some hit shows, of everything that is indexed; and what is decided about each room."""
    found = set()
    async with open_searcher(config, credentials) as searcher:
        for claim in claims:
            word = messages[claim.mark].word
            answer = await searcher.search([question(claim, word)], limit=50)
            if any(word in hit.snippet.text for hit in answer.hits):
                found.add(claim.mark)
    return found, {one.record.id: one for one in await room_statuses(config)}


def _told(community: Community, claims: Sequence[Claim], messages: Mapping[str, Message]) -> set[str]:
    """Marks whose word the bot says when it is asked in the room of the claim by somebody who is there."""
    told = set()
    for who, room in (("ada", "ops"), ("jonas", "general")):
        here = [claim for claim in claims if claim.room == room]
        texts = [f"!search {question(claim, messages[claim.mark].word)}" for claim in here]
        for number, answer in community.ask_all(who, room, texts):
            if messages[here[number].mark].word in str(answer["content"]):
                told.add(here[number].mark)
    return told


def _reason(room: RoomStatus) -> str:
    """As `sources rooms` tells it."""
    reasons = "; ".join(finding.text for finding in room.reasons)
    skipped = ", ".join(f"{count} {reason}" for reason, count in room.skipped.items())
    told = [room.state, reasons, f"skipped: {skipped}" if skipped else "", *room.judgement.notes]
    return ": ".join(text for text in told if text)
