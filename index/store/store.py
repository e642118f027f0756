"""The index file: opening it, its fingerprint, its sources and cursors, and the one transaction that writes.

A reader opens the file read-only and sees the last committed state. The writer brings the schema up to date and is the
only one that checkpoints. Rows, vectors and cursors of one `transaction` stand or fall together. What only a writer
needs is imported when something is written.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiosqlite
from msgspec import Struct
from msgspec.structs import asdict

from index.errors import ReindexNeededError, StoreError
from index.model import NO_EMBEDDER, Corpus, Cursor, Fingerprint, SourceId, corpus_of
from index.store import pages
from index.store.driver import DAMAGED, Connection, DatabaseError, File, is_damage, open_file
from index.store.schema import STEPS

if TYPE_CHECKING:
    from index.store.erase import Traces, Wiped

MEANS_OF_REPAIR: Final = "run `sources refresh --full`"


class Source(Struct, frozen=True):
    """What the index knows of one source."""

    key: int
    id: SourceId
    corpus: Corpus
    label: str
    is_public: bool
    is_hidden: bool
    position: str | None
    tried_ms: int | None
    succeeded_ms: int | None
    fault: str | None


class Store:
    """An open index file. Its SQL is spread by subject over the modules of this folder, which take the connection."""

    def __init__(
        self, connection: File, path: Path, identity: object, further: AsyncExitStack, traces: "Traces | None" = None
    ) -> None:
        """`identity` is that of the file where it is known, and in `further` is what is closed before it is."""
        self.connection = connection
        self.name = path.name  # for messages: the file's name, never its path
        self._path = path
        self._identity = identity
        self._further = further
        self._traces = traces  # None: a reader

    async def another(self) -> File:
        """One more connection to the file, which only reads. Raises `StoreError`, also where it was replaced since."""
        async with AsyncExitStack() as opened:
            connection = await opened.enter_async_context(open_file(self._path, is_writer=False))
            try:
                await connection.run(lambda bare: bare.execute("PRAGMA data_version").fetchall())  # opens the log, too
            except DatabaseError as error:
                raise StoreError(f"{self.name}: cannot be opened once more: {error}") from error
            if self._identity is None or _identity(self._path) != self._identity:
                raise StoreError(f"{self.name}: is another file by now (run it again)")
            self._further.push_async_exit(opened.pop_all())
        return connection

    async def fingerprint(self) -> Fingerprint | None:
        """What the index was built with; None for one that was never written to."""
        row = await self.value("fingerprint")
        if row is None:
            return None
        fields = loads(row)
        return Fingerprint(**{**fields, "languages": tuple(fields["languages"])})

    async def value(self, name: str) -> str | None:
        """One entry of the `meta` table."""
        async with self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)) as rows:
            row = await rows.fetchone()
        return None if row is None else str(row[0])

    async def set_value(self, name: str, value: str) -> None:
        """Inside a transaction."""
        await self.connection.execute(
            "INSERT INTO meta(name, value) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
            (name, value),
        )

    async def save_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Inside a transaction."""
        await self.set_value("fingerprint", dumps(asdict(fingerprint)))

    async def check_fingerprint(self, wanted: Fingerprint) -> None:
        """Raise `ReindexNeededError` unless the index is empty or was built with `wanted`.

        A newer scrubber is no mismatch here: the next refresh scrubs again by itself, and until then what is shown
        passes the scrubber once more. Nor is an older schema: its steps brought the rows along.
        """
        stored = await self.fingerprint()
        if stored is None:
            return
        if stored.embedder == NO_EMBEDDER:
            stored = stored.with_embedder_of(wanted)
        differs = [text for text in wanted.differences(stored) if not text.startswith(("scrubber:", "schema:"))]
        if differs:
            raise ReindexNeededError(f"reindex needed: {', '.join(differs)} ({MEANS_OF_REPAIR})")

    async def sources(self) -> list[Source]:
        """All known sources, by key."""
        return await self.connection.run(sources)

    async def source(self, source: SourceId) -> Source | None:
        async with self.connection.execute(f"SELECT {_SOURCE} FROM source WHERE id = ?", (source,)) as rows:
            row = await rows.fetchone()
        return None if row is None else _source(tuple(row))

    async def register(self, source: SourceId, *, label: str, is_public: bool) -> int:
        """The key of a source, new or known; label and visibility become the given ones. Inside a transaction."""
        async with self.connection.execute(
            "INSERT INTO source(id, corpus, label, is_public) VALUES (?, ?, ?, ?) ON CONFLICT(id) DO UPDATE"
            " SET label = excluded.label, is_public = excluded.is_public RETURNING source_key",
            (source, corpus_of(source).value, label, is_public),
        ) as rows:
            row = await rows.fetchone()
        if row is None:
            raise StoreError(f"{self.name}: the source {source} could not be recorded (run `sources verify`)")
        return int(row[0])

    async def save_cursor(self, cursor: Cursor) -> None:
        """Inside the transaction that writes the rows it stands for."""
        await self.connection.execute("UPDATE source SET position = ? WHERE id = ?", (cursor.position, cursor.source))

    async def void_cursors(self) -> None:
        """Make every source be read from its beginning. Inside a transaction."""
        await self.connection.execute("UPDATE source SET position = NULL")

    async def record_outcome(self, source: SourceId, *, now_ms: int, fault: str | None) -> None:
        """When a source was last tried, and with what result: None is success. Inside a transaction."""
        await self.connection.execute(
            "INSERT INTO source(id, corpus, tried_ms, fault, succeeded_ms) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT(id) DO UPDATE SET tried_ms = excluded.tried_ms, fault = excluded.fault,"
            " succeeded_ms = coalesce(excluded.succeeded_ms, succeeded_ms)",
            (source, corpus_of(source).value, now_ms, fault, None if fault else now_ms),
        )

    async def hide(self, source: SourceId, *, is_hidden: bool) -> None:
        """Take a source out of every search at once, or back in. Inside a transaction."""
        await self.connection.execute("UPDATE source SET is_hidden = ? WHERE id = ?", (is_hidden, source))

    async def forget(self, source: SourceId) -> None:
        """Drop the record of a source whose documents are gone. Inside a transaction."""
        from index.store import forges

        await forges.forget(self.connection, source)
        await self.connection.execute(
            "DELETE FROM file_state WHERE source_key = (SELECT source_key FROM source WHERE id = ?)", (source,)
        )
        await self.connection.execute("DELETE FROM source WHERE id = ?", (source,))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Everything inside is written, or nothing of it. A driver's error becomes a `StoreError`."""
        from index.store import codes, erase, fulltext, tallies

        try:
            await self.connection.execute("BEGIN IMMEDIATE")
        except DatabaseError as error:
            raise StoreError(f"{self.name}: cannot be written to: {error}{_remedy(error, self._path)}") from error
        except BaseException:
            await self.connection.end("ROLLBACK")
            raise
        was_bulk = self._traces is not None and self._traces.is_bulk
        is_committed = False

        def commit(connection: Connection) -> None:
            nonlocal is_committed
            connection.execute("COMMIT")
            is_committed = True

        try:
            if self._traces is not None and not self._traces.is_owed:
                await erase.owe(self.connection)
            yield
            await fulltext.take_in(self.connection)
            await codes.take_in(self.connection)
            await tallies.take_in(self.connection)
            await self.connection.run(commit)
        except BaseException as error:
            await self.connection.end("ROLLBACK")
            if self._traces is not None:
                if is_committed:  # a task that is cancelled while it waits for that owes a wipe all the same
                    self._traces.is_owed = True
                else:
                    self._traces.is_bulk = was_bulk
            if isinstance(error, DatabaseError):
                raise StoreError(f"{self.name}: nothing was written: {error}{_remedy(error, self._path)}") from error
            raise
        if self._traces is not None:
            self._traces.is_owed = True
            await erase.keep_short(self.connection, self._traces)

    async def ease_deleting(self) -> None:
        """Inside a transaction, now and then between two documents: makes the deletion of very many cheaper."""
        from index.store import erase

        if self._traces is not None:
            await erase.ease(self.connection, self._traces)

    async def merge(self) -> None:
        """Merge the segments of the full-text indexes where there are many. Not inside a transaction."""
        from index.store import segments

        if self._traces is None or self._traces.is_bulk:  # to be written anew by the wipe
            return
        try:
            tables = await self.connection.run(segments.many)
        except DatabaseError as error:
            message = f"{self.name}: its full-text indexes cannot be read: {error} (run `sources verify`)"
            raise StoreError(message) from error
        for table in tables:
            is_left = True
            while is_left:
                async with self.transaction():
                    is_left = await self.connection.run(partial(segments.merge_some, table=table))

    async def wipe(self) -> "Wiped":
        """Make it true that deleted text is in no byte of the file. Not inside a transaction."""
        from index.store import erase

        if self._traces is None:
            raise AssertionError("a reader has nothing to wipe")
        try:
            return await erase.wipe(self.connection, self._traces)
        except (DatabaseError, OSError) as error:
            raise StoreError(f"{self.name}: deleted text could not be wiped: {error} (run it again)") from error


_SOURCE: Final = "source_key, id, corpus, label, is_public, is_hidden, position, tried_ms, succeeded_ms, fault"


def sources(connection: Connection) -> list[Source]:
    """As `Store.sources`, where the connection is used anyway."""
    return [_source(row) for row in connection.execute(f"SELECT {_SOURCE} FROM source ORDER BY source_key")]


def _source(row: tuple[Any, ...]) -> Source:
    return Source(row[0], SourceId(row[1]), Corpus(row[2]), row[3], bool(row[4]), bool(row[5]), *row[6:])


def _identity(path: Path) -> object:
    """Of the file that stands there; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


async def _migrate(connection: aiosqlite.Connection, name: str) -> None:
    """Bring the schema to the newest step; two processes that start at once do it once.

    A step moves rows, and pages keep copies of them, so it leaves a wipe to be made that looks at everything.
    """
    from index.store import erase

    if await _version(connection, name) == len(STEPS):
        return
    for number in range(1, len(STEPS) + 1):
        await connection.execute("BEGIN IMMEDIATE")
        try:
            if await _version(connection, name) < number:
                for statement in statements(STEPS[number - 1]):
                    await connection.execute(statement)
                await connection.execute(
                    "UPDATE meta SET value = ? WHERE (name, value) = (?, ?)", (erase.A_LOOK, erase.DEBT, erase.NOTHING)
                )
                await connection.execute(f"PRAGMA user_version = {number}")
            await connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                await connection.execute("ROLLBACK")
            raise


async def _version(connection: aiosqlite.Connection, name: str) -> int:
    async with connection.execute("PRAGMA user_version") as rows:
        row = await rows.fetchone()
    version = int(row[0]) if row else 0
    if version > len(STEPS):
        message = (
            f"{name}: written by a newer version of sources (schema {version}, this one knows {len(STEPS)}: upgrade)"
        )
        raise StoreError(message)
    return version


def statements(script: str) -> list[str]:
    """The statements of a schema step; a trigger's body stays whole. `executescript` would commit in the middle."""
    found: list[str] = []
    lines: list[str] = []
    for raw in script.splitlines():
        line = raw.partition("--")[0].rstrip()
        if not line.strip():
            continue
        lines.append(line)
        is_in_trigger = lines[0].lstrip().startswith("CREATE TRIGGER")
        if line.endswith("END;") if is_in_trigger else line.endswith(";"):
            found.append("\n".join(lines))
            lines = []
    return found


def _ensure_file(path: Path, *, is_writer: bool) -> None:
    try:
        if is_writer:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o640)
        elif not path.exists():
            raise StoreError(f"{path.name}: there is no index yet (run `sources refresh`)")
    except OSError as error:
        from index.store.remedies import remedy_of_system

        raise StoreError(f"{path.name}: {error.strerror} ({remedy_of_system(error)})") from error


@asynccontextmanager
async def open_store(path: Path, *, is_writer: bool) -> AsyncIterator[Store]:
    """Open the index file; only a writer creates it or brings its schema up to date.

    Raises `StoreError` for a file that is missing (reader), foreign, damaged, or of a newer or (reader) older version.
    """
    _ensure_file(path, is_writer=is_writer)
    with pages.in_use(path):
        before = _identity(path)
        async with open_file(path, is_writer=is_writer) as connection, AsyncExitStack() as further:
            traces = None
            try:
                if is_writer:
                    from index.store import erase, outgoing

                    await _migrate(connection, path.name)
                    traces = await erase.watch(connection, path)
                    await outgoing.watch(connection)
                elif (version := await _version(connection, path.name)) < len(STEPS):
                    message = f"{path.name}: schema {version} is older than {len(STEPS)} (run `sources refresh` once)"
                    raise StoreError(message)
            except DatabaseError as error:
                remedy = _remedy(error, path) or " (delete it; it is built again)"
                raise StoreError(f"{path.name}: cannot be used: {error}{remedy}") from error
            identity = before if before == _identity(path) else None  # after the first read, which opened the log
            try:
                yield Store(connection, path, identity, further, traces)
            except DatabaseError as error:
                if not is_damage(error):
                    raise
                raise StoreError(f"{path.name}: cannot be read: {error} ({DAMAGED})") from error


def _remedy(error: Exception, path: Path) -> str:
    """In brackets behind what SQLite says; empty for what only we can have caused."""
    from index.store.remedies import remedy  # most programs never need it

    found = remedy(error, path)
    return f" ({found})" if found else ""
