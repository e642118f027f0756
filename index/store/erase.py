"""What it takes until deleted text is in no byte of the file. See docs/erasure.md for what was measured.

Deleting rows under `secure_delete` overwrites them where they stand. Three traces are left, each with its remedy here:
words that tell pages of a full-text index apart (`separators`), copies in the unallocated space of pages (`pages`),
and older pages in the write-ahead log, until a checkpoint truncates it, which a reader amid a question prevents.

Deleting securely looks up each term of a chunk in each segment, which costs up to half a second in a large index. From
some number of chunks on it is cheaper to delete plainly and to write the full-text indexes anew in the wipe. The tier
of young chunks (`fulltext`) is always deleted from plainly, and written anew by the wipe if it was.

The first transaction of a run records that a wipe is owed, as does each step of the schema, and only a wipe that went
through takes that back. A run that began with no such debt knows what it deleted and which pages it wrote, from memory
alone, and looks at nothing else; one that did looks at everything.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiosqlite

from index.store import fulltext, pages, separators
from index.store.driver import File

DEBT: Final = "erase.owed"
"""One of the following in `meta`; without it, no wipe was ever made. One digit, so that no other row moves."""
NOTHING: Final = "0"
A_LOOK: Final = "1"  # from the first change on
A_REWRITE: Final = "2"  # the full-text indexes hold what was deleted plainly

LEAST_BULK: Final = 60
BULK_SHARE: Final = 1 / 500
"""Of all chunks: where deleting so many securely takes as long as writing the indexes anew."""

LOG_BYTES: Final = 16 * 2**20
"""From here on the log is copied into the file between two transactions."""
MOST_TEXTS: Final = 4_000
MOST_TEXT_CHARS: Final = 8_000_000
MOST_PAGES: Final = 200_000
"""Beyond these, looking at everything is cheaper than remembering."""

TRIES: Final = 10
TRY_MS: Final = 300


@dataclass(frozen=True, slots=True)
class Wiped:
    """`is_done` False: old pages are still in the log, because of `readers` (process ids; empty: not to be found)."""

    is_done: bool
    readers: tuple[int, ...] = ()
    separators: int = 0  # words that were dropped from the full-text indexes
    pages: int = 0  # that had something in their unallocated space


class Traces:
    """What this connection deleted and wrote since the last wipe. Texts are kept in memory alone."""

    def __init__(self, file: Path, page_bytes: int, debt: str) -> None:
        self.file = file
        self.log = file.with_name(file.name + "-wal")
        self.page_bytes = page_bytes
        self.is_owed = is_owed = debt != NOTHING
        self.is_bulk = debt == A_REWRITE
        self.deleted = 0  # chunks that were taken out of the large tiers, since the last wipe
        self.is_young_stale = is_owed  # something was taken out of the small ones, or may have been
        self._texts: list[str] | None = None if is_owed else []
        self._chars = 0
        self._pages: set[int] | None = None if is_owed else set()
        self._log_seen = self._log_state()
        self._may_begin_anew = True

    @property
    def texts(self) -> list[str] | None:
        """Of deleted chunks of the large tiers; None: any may have been."""
        return self._texts

    @property
    def written(self) -> set[int] | None:
        """Pages; None: any may have been."""
        return self._pages

    def forget_text(self, is_young: int, *columns: str) -> int:
        """Called by a trigger for each chunk that goes or changes."""
        if is_young:
            self.is_young_stale = True
            return 0
        self.deleted += 1
        if self._texts is not None:
            self._texts.append("\n".join(columns))
            self._chars += len(self._texts[-1])
            if len(self._texts) > MOST_TEXTS or self._chars > MOST_TEXT_CHARS:
                self._texts = None
        return 0

    def look_at_log(self) -> None:
        """After every transaction: the log may have begun anew without us, where a program copies it away (Litestream)
        or somebody asks for a checkpoint. Then nobody knows which pages stood in it.
        """
        state = self._log_state()
        if state == self._log_seen:
            return
        if state[0] != self._log_seen[0] and not self._may_begin_anew:
            self._pages = None
        self._log_seen, self._may_begin_anew = state, False  # what was added to it now was not copied by us

    def _log_state(self) -> tuple[bytes, int]:
        return pages.beginning(self.log), pages.current_log_bytes(self.log)

    def note_log(self) -> None:
        """Before every checkpoint: afterwards the log may begin anew."""
        self.look_at_log()
        self._may_begin_anew = True
        if self._pages is not None:
            self._pages |= pages.pages_in(self.log)
            if len(self._pages) > MOST_PAGES:
                self._pages = None

    def settle(self) -> None:
        self.is_owed = self.is_bulk = self.is_young_stale = False
        self.deleted = self._chars = 0
        self._texts, self._pages = [], set()


_FORGET: Final = "SELECT forget_text(old.chunk_key IN (SELECT chunk_key FROM young), old.title, old.body, old.keys)"
_TRIGGERS: Final = (  # before: afterwards nobody knows which tier it was in
    f"CREATE TEMP TRIGGER forget_deleted BEFORE DELETE ON main.chunk BEGIN {_FORGET}; END",
    "CREATE TEMP TRIGGER forget_changed BEFORE UPDATE OF title, body, keys ON main.chunk"
    f" WHEN new.title <> old.title OR new.body <> old.body OR new.keys <> old.keys BEGIN {_FORGET}; END",
)


async def watch(connection: aiosqlite.Connection, file: Path) -> Traces:
    """Begin to note what the writer's connection deletes. From now on its log is emptied by `keep_short` and `wipe`."""
    rows = list(await connection.execute_fetchall("SELECT value FROM meta WHERE name = ?", (DEBT,)))
    page = list(await connection.execute_fetchall("PRAGMA page_size"))
    traces = Traces(file, int(page[0][0]), str(rows[0][0]) if rows else A_LOOK)
    await connection.create_function("forget_text", 4, traces.forget_text)
    for trigger in _TRIGGERS:
        await connection.execute(trigger)
    await connection.execute("PRAGMA wal_autocheckpoint = 0")
    return traces


async def owe(connection: aiosqlite.Connection, debt: str = A_LOOK) -> None:
    """Inside the first transaction, before its first change."""
    await connection.execute(
        "INSERT INTO meta(name, value) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
        (DEBT, debt),
    )


async def ease(connection: aiosqlite.Connection, traces: Traces) -> None:
    """Inside a transaction, between two documents: delete plainly from here on, if so much was deleted already."""
    if traces.is_bulk or traces.deleted < LEAST_BULK:
        return
    rows = list(await connection.execute_fetchall("SELECT coalesce(sum(chunks), 0) FROM source"))
    if traces.deleted < int(rows[0][0]) * BULK_SHARE:
        return
    await owe(connection, A_REWRITE)
    await fulltext.delete_securely(connection, is_wanted=False)
    traces.is_bulk = True


async def _clean_indexes(connection: File, traces: Traces) -> int:
    """Inside a transaction."""
    if not traces.is_bulk:
        if traces.is_young_stale:
            await fulltext.renew_young(connection)
        return await separators.mend(connection, traces.texts)
    await fulltext.delete_securely(connection, is_wanted=True)
    await fulltext.rewrite(connection)
    await owe(connection, A_LOOK)
    return len(fulltext.SETTLED)


async def keep_short(connection: aiosqlite.Connection, traces: Traces) -> None:
    """After a transaction: copy a long log into the file, as far as readers allow."""
    traces.look_at_log()
    if pages.current_log_bytes(traces.log) > LOG_BYTES:
        traces.note_log()
        await connection.execute_fetchall("PRAGMA wal_checkpoint(PASSIVE)")


async def wipe(connection: File, traces: Traces) -> Wiped:
    """Leave no trace of what was deleted. Waits for readers, but not longer than some seconds.

    Not done, it stays owed: the next run looks at the whole file.
    """
    if not traces.is_owed:
        return Wiped(is_done=True)
    async with _writing(connection):
        mended = await _clean_indexes(connection, traces)
        await connection.execute("COMMIT")
    traces.is_bulk = False
    traces.note_log()
    if not await _empty_log(connection):
        return Wiped(is_done=False, readers=await asyncio.to_thread(_readers, traces.file), separators=mended)
    async with _writing(connection):  # nobody else writes a log now, so the file alone is the truth
        if pages.log_bytes(traces.log):
            await connection.execute("ROLLBACK")
            return Wiped(is_done=False, separators=mended)
        dirty = await asyncio.to_thread(pages.zero_gaps, traces.file, traces.written, traces.page_bytes)
        await connection.execute("COMMIT")
    await connection.execute("PRAGMA shrink_memory")  # or the pages in memory would bring back what they hold
    await owe(connection, NOTHING)
    traces.settle()
    return Wiped(is_done=True, separators=mended, pages=dirty)


@asynccontextmanager
async def _writing(connection: File) -> AsyncIterator[None]:
    """A transaction, whose end is up to the block unless that fails."""
    try:
        await connection.execute("BEGIN IMMEDIATE")
        yield
    except BaseException:
        await connection.end("ROLLBACK")
        raise


async def _empty_log(connection: aiosqlite.Connection) -> bool:
    """The log of a reader's question lasts as long as the question: ask again."""
    before = list(await connection.execute_fetchall("PRAGMA busy_timeout"))
    await connection.execute(f"PRAGMA busy_timeout = {TRY_MS}")
    try:
        for _ in range(TRIES):
            rows = list(await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)"))
            if rows and int(rows[0][0]) == 0:
                return True
        return False
    finally:
        await connection.execute(f"PRAGMA busy_timeout = {int(before[0][0])}")


def _readers(file: Path) -> tuple[int, ...]:
    """Other processes of this machine that have the index open, as far as this user may see."""
    shared = f"{file.resolve()}-shm"
    found = set()
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            if any(str(link.readlink()) == shared for link in folder.iterdir()):
                found.add(int(folder.parent.name))
        except OSError:
            continue
    return tuple(sorted(found - {os.getpid()}))
