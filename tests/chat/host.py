"""A host of chat in a folder of its own: refreshes against a homeserver, and looks at what came of it.

    host = Host(tmp_path, homeserver.url, reader)
    report = await host.refresh()
    assert await host.texts(room) == ["hello"]
    assert await host.found("hello")

`Host.dump` is everything that an index holds of chat in a form that two runs can be compared by.
"""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from index.embed.base import Embedder
from index.engines.sqlite.engine import SqliteEngine
from index.model import Fingerprint, UserId
from index.search import Mode, Searcher, SearchSettings
from index.store import reading, rooms, sweeps
from index.store.rooms import RoomRecord
from index.store.schema import STEPS
from index.store.store import Store, open_store
from index.text.words import WORDS_VERSION, Keys
from ingest.chat.absence import absent_chat
from ingest.chat.content import Scrub
from ingest.chat.reader import open_reader
from ingest.chat.settings import ChatSettings
from ingest.chat.worker import ChatWorker
from ingest.refresh import Plan, Worker, refresh
from ingest.report import Report, SourceReport
from ingest.scrub import SCRUB_VERSION, scrub
from tests.matrix.people import Person
from tests.matrix.timing import FakeTime

LANGUAGES = ("en",)
KEYS = Keys(LANGUAGES)  # one for all: its dictionaries take longer to load than a refresh


def fingerprint(scrubber: int = SCRUB_VERSION, embedder: Embedder | None = None) -> Fingerprint:
    return Fingerprint(
        schema=len(STEPS),
        scrubber=scrubber,
        chunker=1,
        words=WORDS_VERSION,
        languages=LANGUAGES,
        embedder=embedder.identity.name if embedder else "off",
        dimension=embedder.identity.dimension if embedder else 0,
        query_prefix="",
        document_prefix="",
    )


@dataclass(slots=True)
class Host:
    """`now_ms` None is the real time."""

    folder: Path
    settings: ChatSettings
    token: str
    scrub: Scrub = scrub
    scrubber: int = SCRUB_VERSION
    now_ms: int | None = None
    embedder: Embedder | None = None

    @property
    def file(self) -> Path:
        return self.folder / "index.sqlite"

    def set(self, **changes: Any) -> None:
        """Change settings, as an edited configuration would."""
        self.settings = replace(self.settings, **changes)

    async def refresh(self, *, is_full: bool = False) -> Report:
        timing = FakeTime().timing()
        worker = ChatWorker(
            self.settings,
            partial(open_reader, self.settings, lambda: self.token, timing),
            self.scrub,
            draw=random.Random(7),
            **({} if self.now_ms is None else {"now_ms": lambda: self.now_ms or 0}),
        )
        return await self._run([worker], is_full=is_full)

    async def refresh_without_chat(self) -> Report:
        """As when the configuration has no `[chat]` any more."""
        now = {} if self.now_ms is None else {"now_ms": lambda: self.now_ms or 0}
        async with self.opened() as store:
            workers = await absent_chat(store, orders=self.settings.orders, **now)
        return await self._run(workers, is_full=False)

    async def _run(self, workers: Sequence[Worker], *, is_full: bool) -> Report:
        async with open_store(self.file, is_writer=True) as store:
            return await refresh(
                store,
                Plan(workers, parallel=2, is_full=is_full),
                fingerprint=fingerprint(self.scrubber, self.embedder),
                document_keys=KEYS.document_keys,
                embedder=self.embedder,
            )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        async with open_store(self.file, is_writer=False) as store:
            yield store

    async def found(self, question: str) -> list[str]:
        """Texts of the windows that a search finds by words."""
        async with self.opened() as store:
            searcher = Searcher(SqliteEngine(store, KEYS), KEYS, None, SearchSettings(), scrub=self.scrub)
            answer = await searcher.search([question], limit=50, mode=Mode.LEXICAL)
            chunks = await reading.chunks_by_id(store.connection, [hit.chunk for hit in answer.hits])
            return [chunk.chunk.text for chunk in chunks.values()]

    async def windows(self, room: str) -> list[str]:
        """The texts of a room's documents, in the order of their messages."""
        async with self.opened() as store:
            rows = await store.connection.execute_fetchall(
                "SELECT chunk.body FROM document JOIN chunk USING (document_key) LEFT JOIN chat_window AS w"
                " ON document.id = 'chat:' || ?1 || ' ' || w.id LEFT JOIN ledger AS e ON e.window_key = w.window_key"
                " WHERE document.room = ?1 GROUP BY document.document_key ORDER BY min(e.position)",
                (room,),
            )
            return [str(row[0]) for row in rows]

    async def texts(self, room: str) -> list[str]:
        """What each message says now, in order, without the names: read out of the documents."""
        return [line.partition(": ")[2] for window in await self.windows(room) for line in window.split("\n")]

    async def room(self, room: str) -> RoomRecord:
        async with self.opened() as store:
            return next(record for record in await rooms.rooms(store.connection) if record.id == room)

    async def reason(self, room: str) -> str:
        """The first reason why a room is not read; empty when it is."""
        import json

        findings = json.loads((await self.room(room)).findings)["findings"]
        return str(findings[0]["reason"]) if findings else ""

    async def counts(self, room: str) -> sweeps.RoomCounts:
        async with self.opened() as store:
            return await sweeps.counts(store.connection, (await self.room(room)).id)

    async def dump(self) -> dict[str, list[tuple[object, ...]]]:
        """All tables of chat without numbers of rows, without times of runs, and without sync tokens."""
        statements = {
            "ledger": "SELECT room.id, event, person.id, type, family, claimed_ms, sent_ms, body, links, flags,"
            " thread_root, winner, w.id, is_waiting FROM ledger JOIN room USING (room_key) JOIN person USING"
            " (person_key) LEFT JOIN chat_window AS w USING (window_key) ORDER BY 1, 2",
            "order": "SELECT room.id, event FROM ledger JOIN room USING (room_key) ORDER BY room.id, ledger.position",
            "windows": "SELECT room.id, w.id, lane, w.last_ms, size_bytes, is_open FROM chat_window AS w"
            " JOIN room USING (room_key) ORDER BY 1, 2",
            "skipped": "SELECT room.id, digest, reason, event FROM skipped_event JOIN room USING (room_key)"
            " ORDER BY 1, 2",
            "tombstones": "SELECT room.id, event, why FROM tombstone JOIN room USING (room_key) ORDER BY 1, 2",
            "rooms": "SELECT id, title, alias, is_joined, outcome, phase, is_stale, seen_visibility FROM room"
            " ORDER BY 1",
            "gaps": "SELECT room.id, token FROM room_gap JOIN room USING (room_key) ORDER BY 1",
            "unknown": "SELECT room.id, first_ms, why FROM room_unknown AS u JOIN room USING (room_key) ORDER BY 1",
            "documents": "SELECT document.id, title, revision, first_ms, last_ms, has_link FROM document ORDER BY 1",
            "chunks": "SELECT chunk.id, body, keys, messages FROM chunk ORDER BY 1",
            "senders": "SELECT chunk.id, sender FROM chunk_sender JOIN chunk USING (chunk_key) ORDER BY 1, 2",
            "people": "SELECT id FROM person ORDER BY 1",
            "sources": "SELECT id, label, is_public, is_hidden, chunks, words FROM source ORDER BY 1",
        }
        async with self.opened() as store:
            return {
                name: [tuple(row) for row in await store.connection.execute_fetchall(statement)]
                for name, statement in statements.items()
            }

    def holds(self, word: str) -> bool:
        """Whether any byte that is kept spells the word. Full-text tables cut words up: also ask `found`."""
        return any(word.encode() in path.read_bytes() for path in self.folder.iterdir() if path.is_file())


def host_for(folder: Path, url: str, reader: Person, **settings: Any) -> Host:
    """`folder` is made; settings are those of `ChatSettings`."""
    folder.mkdir(parents=True, exist_ok=True)
    return Host(folder, ChatSettings(url, UserId(reader.user), **settings), reader.token)


def report_of(report: Report, room: str) -> SourceReport:
    return next(one for one in report.sources if one.source == f"chat:{room}")


def own_report(report: Report) -> SourceReport:
    return next(one for one in report.sources if one.source.startswith("chat:@"))
