"""The roster: the rooms that the reader account should be in. The one place that joins and leaves."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from index.errors import ConfigError, MatrixError
from index.model import RoomId, UserId
from matrix.calls import Mode
from matrix.reading import HomeserverReader
from matrix.records import is_id
from matrix.sending import HomeserverSender
from matrix.session import open_session
from sources.config.chat import reader_token
from sources.config.model import Config
from sources.credentials import Credentials


class Move(Struct, frozen=True):
    """`name` is as the list has it, or the id of a room that is not on it. `fault` says why it cannot be done."""

    what: str  # "join" or "leave"
    name: str
    room: RoomId | None = None
    is_done: bool = False
    fault: str | None = None


class Roster(Struct, frozen=True):
    moves: tuple[Move, ...]
    in_place: int  # rooms of the list that the account is in already

    @property
    def is_settled(self) -> bool:
        return all(move.is_done for move in self.moves)


def read_list(path: Path) -> list[str]:
    """Ids and aliases, one a line; blank lines and lines that begin with `//` are for people."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise ConfigError(f"{path}: cannot be read: {reason} (name a list of rooms, one a line)") from error
    found = []
    for number, line in enumerate(lines, 1):
        name = line.strip()
        if not name or name.startswith("//"):
            continue
        if not (is_id(name, "#") and ":" in name) and not is_id(name, "!"):
            raise ConfigError(f"{path}, line {number}: {name[:60]!r} is no room (write #alias:server or a room's id)")
        found.append(name)
    if not found:
        raise ConfigError(f"{path}: names no room (an empty list would leave every room; list at least one)")
    return list(dict.fromkeys(found))


async def settle(
    config: Config, credentials: Credentials, names: Sequence[str], *, applies: bool, keeps_others: bool = False
) -> Roster:
    """Compare the list with where the account is; with `applies` do what is missing.

    Nothing is left while an alias of the list could not be resolved: the room may be the one that it names.
    """
    if config.chat is None:
        raise ConfigError("sources.toml: there is no [chat] (it names the reader account; see docs/chat.md)")
    user = UserId(config.chat.user)
    async with open_session(config.chat.homeserver, reader_token(credentials)(), Mode.ROSTER) as session:
        reader, sender = HomeserverReader(session, user), HomeserverSender(session)
        await reader.check_account(user)
        joined = await reader.joined_rooms()
        wanted = {name: await _resolved(reader, name) for name in names}
        moves = [
            room if isinstance(room, Move) else Move("join", name, room)
            for name, room in wanted.items()
            if isinstance(room, Move) or room not in joined
        ]
        in_place = sum(not isinstance(room, Move) and room in joined for room in wanted.values())
        if not keeps_others and not any(move.fault for move in moves):
            moves += [Move("leave", room, room) for room in sorted(joined - set(wanted.values()))]
        if applies:
            moves = [await _done(sender, move) for move in moves]
    return Roster(tuple(moves), in_place)


async def _resolved(reader: HomeserverReader, name: str) -> RoomId | Move:
    if name.startswith("!"):
        return RoomId(name)
    try:
        room = await reader.resolve(name)
    except MatrixError as error:
        return Move("join", name, fault=str(error))
    return Move("join", name, fault=f"{name}: leads to no room (correct it)") if room is None else room


async def _done(sender: HomeserverSender, move: Move) -> Move:
    if move.fault is not None or move.room is None:
        return move
    try:
        if move.what == "join":
            await sender.join(move.name)
        else:
            await sender.leave(move.room)
    except MatrixError as error:
        return Move(move.what, move.name, move.room, fault=str(error))
    return Move(move.what, move.name, move.room, is_done=True)


def run(config: Config, credentials: Credentials, names: Sequence[str], *, applies: bool, keeps_others: bool) -> Roster:
    return asyncio.run(settle(config, credentials, names, applies=applies, keeps_others=keeps_others))
