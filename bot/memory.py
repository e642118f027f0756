"""What the bot must not forget when it is killed: ids and states in one small SQLite file, never a text.

The place in the sync moves in the transaction that stores the commands it brought, and the withdrawals. An answer is
written down with all that it quotes before it is sent: whatever a reader of the room can see can be withdrawn.

    command   taken, then done
    answer    sending (resending: an earlier process may have sent another text under the same transaction id), then
              shown; doubtful while its sources are looked at again; going, then gone, or stuck where the homeserver
              refuses to take it back, until it may be asked again
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from json import dumps
from pathlib import Path
from typing import Any, Final

import aiosqlite

from bot.budget import Verdict
from index.errors import StoreError
from index.model import ChunkId, EventId, RoomId, SourceId, UserId
from index.store.driver import DatabaseError, open_file
from index.store.remedies import remedy, remedy_of_system

_VERSION: Final = 1
_SCHEMA: Final = (
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE command(event TEXT PRIMARY KEY, room TEXT NOT NULL, sender TEXT NOT NULL, sent_ms INTEGER NOT NULL,"
    " taken_ms INTEGER NOT NULL, verdict TEXT NOT NULL, is_done INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX command_taken ON command(taken_ms)",
    "CREATE INDEX command_pending ON command(event) WHERE NOT is_done",
    "CREATE TABLE answer(command TEXT PRIMARY KEY, room TEXT NOT NULL, asker TEXT NOT NULL, is_direct INTEGER NOT NULL,"
    " event TEXT, state TEXT NOT NULL, sent_ms INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX answer_state ON answer(state)",
    "CREATE TABLE quote(command TEXT NOT NULL, source TEXT NOT NULL, chunk INTEGER NOT NULL, event TEXT, edit TEXT)",
    "CREATE UNIQUE INDEX quote_once ON quote(command, source, chunk, coalesce(event, ''), coalesce(edit, ''))",
    "CREATE INDEX quote_event ON quote(event) WHERE event IS NOT NULL",
    "CREATE INDEX quote_edit ON quote(edit) WHERE edit IS NOT NULL",
    "CREATE INDEX quote_source ON quote(source)",
)
_LIVE: Final = "state IN ('sending', 'resending', 'shown', 'doubtful')"
_FREE: Final = "UPDATE answer SET state = 'going' WHERE state = 'stuck'"
_RECENT_MS: Final = 2 * 60_000  # longer than an answer takes
_DAY_MS: Final = 86_400_000
_COMMANDS_KEPT_MS: Final = 2 * _DAY_MS  # far longer than any sync can bring one again
MOST_DOUBTED: Final = 500  # answers that one gap in a timeline puts in doubt


@dataclass(frozen=True, slots=True)
class Taken:
    """A command that has to be answered, or ignored, once."""

    event: EventId
    room: RoomId
    sender: UserId
    sent_ms: int
    verdict: Verdict = Verdict.ANSWER


@dataclass(frozen=True, slots=True)
class Quote:
    """One thing an answer shows: a message in the revision `edit` (None: the original), or a passage of a file."""

    source: SourceId
    chunk: ChunkId
    event: EventId | None = None
    edit: EventId | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """An answer that quotes something. `event` is None until the homeserver has named it."""

    command: EventId
    room: RoomId
    asker: UserId
    is_direct: bool
    event: EventId | None
    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class News:
    """What one sync brought, for one transaction."""

    taken: Sequence[Taken] = ()
    echoes: Mapping[EventId, EventId] = field(default_factory=dict)  # command to the answer that came back
    gone: Collection[EventId] = ()  # redacted, whatever they were
    edited: Collection[EventId] = ()  # originals that have another revision
    unclear: Collection[SourceId] = ()  # rooms of which a part of the timeline was not told
    eased: Collection[RoomId] = ()  # where what was refused may be allowed now


class Memory:
    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._lock = asyncio.Lock()
        self._recent: dict[str, int] = {}  # what changed lately: it may be in an answer that is still being made

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[aiosqlite.Connection]:
        async with self._lock:
            try:
                await self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    if self._connection.in_transaction:
                        await self._connection.execute("ROLLBACK")
                    raise
                await self._connection.execute("COMMIT")
            except DatabaseError as error:
                raise _fault("written to", error, self._path) from error

    async def token(self, account: str) -> str | None:
        """Where the sync of an account goes on; None before its first."""
        rows = await self._rows("SELECT value FROM meta WHERE name = ?", f"sync {account}")
        return str(rows[0][0]) if rows else None

    async def take(self, account: str, token: str, news: News, *, now_ms: int) -> list[Taken]:
        """Store what a sync brought and the place behind it; returns the commands that are new."""
        fresh = []
        async with self._transaction() as connection:
            for taken in news.taken:
                inserted = await connection.execute(
                    "INSERT OR IGNORE INTO command(event, room, sender, sent_ms, taken_ms, verdict, is_done)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(taken.event, taken.room, taken.sender, taken.sent_ms, now_ms, taken.verdict.value),
                        taken.verdict is Verdict.SILENCE,
                    ),
                )
                if inserted.rowcount == 1:
                    fresh.append(taken)
            for command, answer in news.echoes.items():
                await _close(connection, command, answer, "doubtful")
            await _mark(connection, "going", "quote.event IN ({ids}) OR quote.edit IN ({ids})", news.gone)
            await _mark(connection, "doubtful", "quote.event IN ({ids})", news.edited)
            await _mark(connection, "doubtful", "quote.source IN ({ids})", news.unclear)
            await connection.execute(
                f"{_FREE} AND room IN (SELECT value FROM json_each(?))", (dumps(list(news.eased)),)
            )
            await connection.execute(
                "INSERT INTO meta(name, value) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
                (f"sync {account}", token),
            )
        self._recent = {one: at_ms for one, at_ms in self._recent.items() if at_ms > now_ms - _RECENT_MS}
        self._recent |= dict.fromkeys((*news.gone, *news.edited, *news.unclear), now_ms)
        return fresh

    async def pending(self) -> list[Taken]:
        """Commands that were taken and neither answered nor given up, the oldest first."""
        rows = await self._rows(
            "SELECT event, room, sender, sent_ms, verdict FROM command WHERE NOT is_done ORDER BY taken_ms"
        )
        return [
            Taken(EventId(event), RoomId(room), UserId(sender), sent_ms, Verdict(verdict))
            for event, room, sender, sent_ms, verdict in rows
        ]

    async def recent(self, since_ms: int) -> list[tuple[UserId, RoomId, int, Verdict]]:
        """Who asked where and when, and what was decided: for budgets."""
        rows = await self._rows(
            "SELECT sender, room, taken_ms, verdict FROM command WHERE taken_ms >= ? ORDER BY taken_ms", since_ms
        )
        return [(UserId(sender), RoomId(room), taken_ms, Verdict(verdict)) for sender, room, taken_ms, verdict in rows]

    async def done(self, command: EventId) -> None:
        async with self._transaction() as connection:
            await connection.execute("UPDATE command SET is_done = 1 WHERE event = ?", (command,))

    async def intend(self, given: Given, *, now_ms: int) -> None:
        """Before an answer is sent. What an earlier attempt may have sent stays among its quotes."""
        async with self._transaction() as connection:
            await connection.execute(
                "INSERT INTO answer(command, room, asker, is_direct, state, sent_ms) VALUES (?, ?, ?, ?, 'sending', ?)"
                " ON CONFLICT(command) DO UPDATE SET state = 'resending' WHERE state = 'sending'",
                (given.command, given.room, given.asker, given.is_direct, now_ms),
            )
            await _add(connection, given.command, given.quotes)

    async def sent(self, command: EventId, answer: EventId) -> None:
        """The homeserver has it. It is in doubt from the start where something it quotes changed meanwhile."""
        async with self._transaction() as connection:
            rows = await connection.execute_fetchall(
                "SELECT source, event, edit FROM quote WHERE command = ?", (command,)
            )
            has_changed = any(one in self._recent for row in rows for one in row)
            await _close(connection, command, answer, "doubtful" if has_changed else "shown")

    async def settle(self, command: EventId, state: str, *, unless_going: bool = False) -> None:
        """`shown` after a look that found all well, `going`, `gone` or `stuck`."""
        condition = " AND state = 'doubtful'" if unless_going else ""
        async with self._transaction() as connection:
            await connection.execute(f"UPDATE answer SET state = ? WHERE command = ?{condition}", (state, command))

    async def free_stuck(self) -> None:
        """Take back all that was refused before, once more."""
        async with self._transaction() as connection:
            await connection.execute(_FREE)

    async def keep_only(self, command: EventId, quotes: Sequence[Quote]) -> None:
        """After an edit: what the answer still quotes."""
        async with self._transaction() as connection:
            await connection.execute("DELETE FROM quote WHERE command = ?", (command,))
            await _add(connection, command, quotes)

    async def in_state(self, *states: str) -> list[Given]:
        """Answers in any of the states that the homeserver has, the newest first."""
        rows = await self._rows(
            "SELECT command, room, asker, is_direct, event FROM answer"
            " WHERE state IN (SELECT value FROM json_each(?)) AND event IS NOT NULL ORDER BY sent_ms DESC",
            dumps(states),
        )
        quotes: dict[str, list[Quote]] = {}
        for command, source, chunk, event, edit in await self._rows(
            "SELECT command, source, chunk, event, edit FROM quote WHERE command IN (SELECT value FROM json_each(?))",
            dumps([row[0] for row in rows]),
        ):
            quotes.setdefault(command, []).append(Quote(source, chunk, event, edit))
        return [
            Given(command, room, asker, bool(is_direct), event, tuple(quotes.get(command, ())))
            for command, room, asker, is_direct, event in rows
        ]

    async def direct_chats(self) -> tuple[frozenset[UserId], frozenset[RoomId]]:
        """Askers and rooms of direct chats that hold answers which could be withdrawn."""
        rows = await self._rows(f"SELECT DISTINCT asker, room FROM answer WHERE is_direct AND {_LIVE}")
        return frozenset(UserId(row[0]) for row in rows), frozenset(RoomId(row[1]) for row in rows)

    async def tidy(self, *, now_ms: int, answers_kept_ms: int) -> None:
        """Forget what can matter no more."""
        async with self._transaction() as connection:
            await connection.execute(
                "DELETE FROM command WHERE is_done AND taken_ms < ?", (now_ms - _COMMANDS_KEPT_MS,)
            )
            await connection.execute(
                "DELETE FROM answer WHERE state = 'gone' OR sent_ms < ?", (now_ms - answers_kept_ms,)
            )
            await connection.execute("DELETE FROM quote WHERE command NOT IN (SELECT command FROM answer)")

    async def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        async with self._lock:  # not in the middle of somebody's transaction
            try:
                return [tuple(row) for row in await self._connection.execute_fetchall(statement, values)]
            except DatabaseError as error:
                raise _fault("read", error, self._path) from error


async def _add(connection: aiosqlite.Connection, command: EventId, quotes: Iterable[Quote]) -> None:
    await connection.executemany(
        "INSERT OR IGNORE INTO quote(command, source, chunk, event, edit) VALUES (?, ?, ?, ?, ?)",
        [(command, one.source, one.chunk, one.event, one.edit) for one in quotes],
    )


async def _close(connection: aiosqlite.Connection, command: EventId, answer: EventId, state: str) -> None:
    """An answer has got its event. One that is going goes on to do so."""
    await connection.execute("UPDATE answer SET event = ? WHERE command = ?", (answer, command))
    await connection.execute(
        "UPDATE answer SET state = iif(state = 'sending', ?, 'doubtful')"
        " WHERE command = ? AND state IN ('sending', 'resending')",
        (state, command),
    )
    await connection.execute("UPDATE command SET is_done = 1 WHERE event = ?", (command,))


async def _mark(connection: aiosqlite.Connection, state: str, condition: str, ids: Iterable[str]) -> None:
    """Put the answers that quote any of the ids into a state. An answer that is going stays so."""
    wanted = list(ids)
    if not wanted:
        return
    chosen = condition.format(ids="SELECT value FROM json_each(?1)")
    before = _LIVE if state == "going" else "state = 'shown'"
    await connection.execute(
        f"UPDATE answer SET state = ?2 WHERE {before} AND command IN (SELECT answer.command FROM quote"
        f" JOIN answer USING (command) WHERE {chosen} ORDER BY answer.sent_ms DESC LIMIT ?3)",
        (dumps(wanted), state, -1 if state == "going" else MOST_DOUBTED),
    )


@asynccontextmanager
async def open_memory(path: Path) -> AsyncIterator[Memory]:
    """Made where it is missing. StoreError when it cannot be used, or a newer version wrote it."""
    _ensure_file(path)
    async with open_file(path, is_writer=True) as connection:
        try:
            rows = list(await connection.execute_fetchall("PRAGMA user_version"))
            version = int(rows[0][0])
            if version > _VERSION:
                raise StoreError(f"{path.name}: written by a newer version of sources (upgrade, or delete it)")
            if version == 0:
                await connection.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    await connection.execute(statement)
                await connection.execute(f"PRAGMA user_version = {_VERSION}")
                await connection.execute("COMMIT")
        except DatabaseError as error:
            raise _fault("used", error, path, "delete it: answers given lose their tie") from error
        yield Memory(connection, path)


def _fault(what: str, error: DatabaseError, path: Path, otherwise: str = "check state_dir") -> StoreError:
    return StoreError(f"{path.name}: cannot be {what}: {error} ({remedy(error, path) or otherwise})")


def _ensure_file(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise StoreError(f"{path.name}: {error.strerror} ({remedy_of_system(error)})") from error
