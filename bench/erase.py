"""What erasing costs on a large index: one message withdrawn, then a purge of many windows while readers ask.

    python -m bench.erase build FOLDER [--chunks 100000]     synthetic windows of one room, with random vectors
    python -m bench.erase run FOLDER [--purge 10000]         as a refresh and `chat-purge` do it, without a homeserver

Texts are drawn from a vocabulary with the frequencies of a language, so that postings are as long as real ones. Every
message is in the ledger; every tenth answers the one before it.
"""

import argparse
import asyncio
import random
import sys
import time
from array import array
from asyncio.subprocess import PIPE, Process
from bisect import bisect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Final

from bench.output import load, say
from index.model import EventId, Fingerprint, RoomId, UserId, Vector
from index.store import ledger, purges, vectors
from index.store.ledger import MessageRecord, WindowRecord
from index.store.purges import PurgeRecord
from index.store.rooms import ADMITTED, DONE, RoomRecord, save_room
from index.store.schema import STEPS
from index.store.store import Store, open_store
from index.text.fold import words
from index.text.tally import tally_of
from index.text.vocabulary import Keyed
from ingest.chat.ledger import NO_REPLY
from ingest.chat.purging import Burial, apply_purges, remove
from ingest.chat.rendering import Utterance, source_id, window_document
from ingest.chat.rules import Why
from ingest.chat.settings import ChatSettings
from ingest.writing import Writer

ROOM: Final = RoomId("!bench:example.org")
VOCABULARY: Final = 60_000
DIMENSION: Final = 384
MESSAGES: Final = 8
REDACTIONS: Final = 20
SECOND_MS: Final = 1_000
SETTINGS: Final = ChatSettings("https://hs.example.org", UserId("@reader:example.org"))
NOW_MS: Final = 10**12


class Talk:
    """Windows by number, the same ones each time."""

    def __init__(self) -> None:
        draw = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(draw.choices(letters, k=draw.randint(2, 11))) for _ in range(VOCABULARY)]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))

    def text(self, draw: random.Random, words: int) -> str:
        return " ".join(self.words[bisect(self._weights, draw.random() * self._weights[-1])] for _ in range(words))

    def window(self, number: int) -> list[Utterance]:
        draw = random.Random(number)
        return [
            Utterance(
                EventId(f"${number}.{place}" if place else f"${number}"),
                UserId(f"@user{draw.randint(0, 300)}:example.org"),
                number * SECOND_MS,
                self.text(draw, 24),
            )
            for place in range(MESSAGES)
        ]


def records(number: int, said: list[Utterance]) -> list[MessageRecord]:
    return [
        MessageRecord(
            event=message.event, sender=message.sender, type="m.room.message", position=number * MESSAGES + place,
            claimed_ms=message.sent_ms, sent_ms=message.sent_ms, text=message.text, flags=0,
            reply_to=said[place - 1].event if place and (number + place) % 10 == 0 else NO_REPLY,
            window=said[0].event,
        )
        for place, message in enumerate(said)
    ]  # fmt: skip


@asynccontextmanager
async def writing(folder: Path) -> AsyncIterator[Writer]:
    made_with = Fingerprint(len(STEPS), 1, 1, 1, ("en",), "noise", DIMENSION, "", "")
    async with open_store(folder / "index.sqlite", is_writer=True) as store:
        yield Writer(store, made_with, _as_written)


def _as_written(title: str, text: str) -> Keyed:
    return Keyed(len(words(text)), text, tally_of("", text, text))


async def put(writer: Writer, talk: Talk, first: int, past: int) -> None:
    async with writer.batch(source_id(ROOM), label="bench", is_public=True) as batch:
        connection = batch.store.connection
        record = RoomRecord(ROOM, title="bench", outcome=ADMITTED, phase=DONE, last_order=past * MESSAGES)
        key = await save_room(connection, record)
        spoken = {number: talk.window(number) for number in range(first, past)}
        windows = [WindowRecord(said[0].event, "", said[0].sent_ms, 1_300, is_open=False) for said in spoken.values()]
        await ledger.put_windows(connection, key, windows)
        for number, said in spoken.items():
            await ledger.put(connection, key, records(number, said))
            document = window_document(ROOM, "bench", said[0].event, said, max_bytes=10**6)
            if document is not None:
                await batch.put(document)


async def embed(store: Store, draw: random.Random) -> None:
    """Quantised noise: what a vector says makes no difference here, where its bytes lie does."""
    while waiting := await vectors.pending(store.connection, after=0, limit=2_000):
        made = []
        for part in waiting:
            noise = array("b", draw.randbytes(DIMENSION))
            made.append((part, Vector(array("f", [value / 1_400 for value in noise]).tobytes())))
        async with store.transaction():
            await vectors.save(store.connection, made)


@dataclass(slots=True)
class Clock:
    """Time that passed, and what this process computed in it, in seconds."""

    begun_s: float
    computed_s: float

    @classmethod
    def started(cls) -> "Clock":
        return cls(time.perf_counter(), time.process_time())

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self.begun_s, time.process_time() - self.computed_s

    def __str__(self) -> str:
        passed_s, computed_s = self.read()
        return f"{passed_s:.1f} s ({computed_s:.1f} s of processor time)"


async def build(folder: Path, chunks: int) -> None:
    talk, draw = Talk(), random.Random(2)
    async with writing(folder) as writer:
        for first in range(0, chunks, 1_000):
            await put(writer, talk, first, first + 1_000)
            await embed(writer.store, draw)
            say(f"{first + 1_000:,} of {chunks:,}")
        clock = Clock.started()
        wiped = await writer.store.wipe()
        say(f"first wipe, of the whole file: {clock} {wiped}")


async def run(folder: Path, purge: int) -> None:
    file = folder / "index.sqlite"
    async with writing(folder) as writer:
        store = writer.store
        clock = Clock.started()
        await store.wipe()
        if not await _windows(store):
            raise SystemExit(f"{folder}: nothing is left to purge (build it again)")
        say(f"{await _windows(store):,} windows; {load()}; size before: {file.stat().st_size / 2**20:,.0f} MiB")
        await redact(writer)
        say("without a purge:")
        await stop(await begin_asking(folder), after_s=20)
        asking = await begin_asking(folder)
        await asyncio.sleep(5)
        clock = Clock.started()
        order = PurgeRecord(ROOM, None, None, None, await _end_of_the_first(store, purge), NOW_MS, "bench")
        async with writer.transaction() as opened:
            await purges.add(opened.connection, order)
        ((_, purged),) = await apply_purges(writer, SETTINGS, NOW_MS)
        say(f"purge of {purged.effect.removed:,} windows, {purged.events:,} messages: {clock} to delete; {load()}")
        clock = Clock.started()
        wiped = await store.wipe()
        say(f"wipe after it: {clock} ({wiped.separators} separators, {wiped.pages} pages, done: {wiped.is_done})")
        await stop(asking)
        say(f"size after: {file.stat().st_size / 2**20:,.0f} MiB")


async def redact(writer: Writer) -> None:
    """One message each time, as when a redaction comes in: written, embedded anew, wiped."""
    store, draw = writer.store, random.Random(int(time.time()))
    rows = list(await store.connection.execute_fetchall("SELECT event FROM ledger WHERE event LIKE '%.3'"))
    taken: dict[str, list[tuple[float, float]]] = {"writing": [], "wiping": []}
    for (event,) in draw.sample(rows, REDACTIONS):
        clock = Clock.started()
        await remove(writer, SETTINGS, ROOM, [EventId(event)], Burial(Why.REDACTED), now_ms=NOW_MS)
        await embed(store, draw)
        taken["writing"].append(clock.read())
        clock = Clock.started()
        wiped = await store.wipe()
        taken["wiping"].append(clock.read())
        if not wiped.is_done:
            raise SystemExit(f"somebody reads the index: {wiped.readers}")
    for what, seen in taken.items():
        passed, computed = ([value * 1_000 for value in values] for values in zip(*seen, strict=True))
        say(
            f"one redaction, {what}: median {median(passed):.0f} ms, {min(passed):.0f} to {max(passed):.0f} ms;"
            f" processor time median {median(computed):.0f} ms, at most {max(computed):.0f} ms; {load()}"
        )


async def _windows(store: Store) -> int:
    rows = list(await store.connection.execute_fetchall("SELECT count(*) FROM document"))
    return int(rows[0][0])


async def _end_of_the_first(store: Store, windows: int) -> int:
    """The time of the last message of so many windows, the oldest ones."""
    rows = list(
        await store.connection.execute_fetchall(
            "SELECT max(last_ms) FROM (SELECT last_ms FROM document ORDER BY last_ms LIMIT ?)", (windows,)
        )
    )
    return int(rows[0][0])


async def begin_asking(folder: Path) -> Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.erase", "ask", str(folder), stdin=PIPE)


async def stop(asking: Process, after_s: float = 0) -> None:
    await asyncio.sleep(after_s)
    if asking.stdin is not None:
        asking.stdin.close()
    await asking.wait()


async def ask(folder: Path) -> None:
    """Questions one after another, as a bot gets them, until standard input ends; then what they took."""
    from index.engines.sqlite.engine import SqliteEngine
    from index.search import Mode, Searcher, SearchSettings
    from index.text.words import Keys

    talk, draw = Talk(), random.Random(3)
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    taken = []
    async with open_store(folder / "index.sqlite", is_writer=False) as store:
        keys = Keys(("en",))
        searcher = Searcher(SqliteEngine(store, keys), keys, None, SearchSettings(), scrub=str)
        while not ended.done():
            question = talk.text(draw, 4)
            clock = Clock.started()
            await searcher.search([question], limit=10, mode=Mode.LEXICAL)
            taken.append(clock.read()[0])
            await asyncio.sleep(0.1)
    taken.sort()
    say(f"{len(taken)} questions meanwhile: median {taken[len(taken) // 2] * 1000:.0f} ms,"
        f" p95 {taken[int(len(taken) * 0.95)] * 1000:.0f} ms, worst {taken[-1] * 1000:.0f} ms")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("build", "run", "ask"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--purge", type=int, default=10_000)
    options = parser.parse_args()
    if options.step == "build":
        asyncio.run(build(options.folder, options.chunks))
    elif options.step == "run":
        asyncio.run(run(options.folder, options.purge))
    else:
        asyncio.run(ask(options.folder))


if __name__ == "__main__":
    main()
