"""What erasing costs on a large index: one message withdrawn, then a purge of many windows while readers ask.

    python -m bench.erase build FOLDER [--chunks 100000]     synthetic windows of chat, with random vectors
    python -m bench.erase run FOLDER [--purge 10000]

Texts are drawn from a vocabulary with the frequencies of a language, so that postings are as long as real ones.
"""

import argparse
import asyncio
import random
import sys
import time
from array import array
from asyncio.subprocess import PIPE, Process
from bisect import bisect
from itertools import accumulate
from pathlib import Path

from bench.output import say
from index.model import (
    Chunk,
    Corpus,
    Document,
    DocumentId,
    EventId,
    Kind,
    Message,
    RoomId,
    SourceId,
    Span,
    UserId,
    chunk_id,
)
from index.store import documents, vectors
from index.store.store import Store, open_store
from index.text.searchable import searchable

ROOM = RoomId("!bench:example.org")
SOURCE = SourceId(f"chat:{ROOM}")
VOCABULARY = 60_000
DIMENSION = 384
MESSAGES = 8


def words_of(seed: int) -> tuple[list[str], list[float]]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 11))) for _ in range(VOCABULARY)]
    return words, list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))


def window(number: int, draw: random.Random, words: list[str], weights: list[float]) -> Document:
    identity = DocumentId(f"{SOURCE} ${number}")
    lines, messages, at = [], [], 0
    for message in range(MESSAGES):
        text = " ".join(words[bisect(weights, draw.random() * weights[-1])] for _ in range(24))
        line = f"user{draw.randint(0, 300)}: {text}"
        user = UserId(f"@{line.partition(':')[0]}:example.org")
        messages.append(Message(EventId(f"${number}.{message}"), user, number * 1000, Span(at, at + len(line))))
        lines.append(line)
        at += len(line) + 1
    text = "\n".join(lines)
    chunk = Chunk(id=chunk_id(identity, "window"), ordinal=0, text=text, messages=tuple(messages))
    return Document(
        id=identity, source=SOURCE, corpus=Corpus.CHAT, kind=Kind.WINDOW, title="bench", revision=str(number),
        chunks=(chunk,), room=ROOM, first_ms=number * 1000, last_ms=number * 1000,
    )  # fmt: skip


async def put(store: Store, made: list[Document]) -> None:
    async with store.transaction():
        key = await store.register(SOURCE, label="bench", is_public=True)
        for document in made:
            await documents.put(store.connection, key, document, searchable(document, str), salt="s")


async def embed(store: Store, draw: random.Random) -> None:
    """Quantised noise: what a vector says makes no difference here, where its bytes lie does."""
    cells = await vectors.cells(store.connection)
    while waiting := await vectors.pending(store.connection, after=0, limit=2_000):
        made = []
        for part in waiting:
            noise = array("b", draw.randbytes(DIMENSION))
            made.append((part, vectors.Vector(array("f", [value / 1_400 for value in noise]).tobytes())))
        async with store.transaction():
            await vectors.save(store.connection, made, cells)


async def build(folder: Path, chunks: int) -> None:
    words, weights = words_of(1)
    draw = random.Random(2)
    async with open_store(folder / "index.sqlite", is_writer=True) as store:
        for start in range(0, chunks, 1_000):
            await put(store, [window(number, draw, words, weights) for number in range(start, start + 1_000)])
            await embed(store, draw)
            say(f"{start + 1_000:,} of {chunks:,}")
        start_s = time.perf_counter()
        async with store.transaction():
            await vectors.divide(store.connection)
        say(f"cells: {time.perf_counter() - start_s:.1f} s")
        start_s = time.perf_counter()
        wiped = await store.wipe()
        say(f"first wipe, of the whole file: {time.perf_counter() - start_s:.2f} s {wiped}")


async def run(folder: Path, purge: int) -> None:
    file = folder / "index.sqlite"
    words, weights = words_of(1)
    draw = random.Random(int(time.time()))
    async with open_store(file, is_writer=True) as store:
        await store.wipe()
        say(f"size before: {file.stat().st_size / 2**20:,.0f} MiB")
        rows = await store.connection.execute_fetchall("SELECT id FROM document ORDER BY document_key")
        names = [DocumentId(row[0]) for row in rows]
        for _ in range(10):
            number = int(draw.choice(names).rpartition("$")[2])
            start_s = time.perf_counter()
            await put(store, [window(number, draw, words, weights)])  # rendered again without a message
            await embed(store, draw)
            written_s = time.perf_counter() - start_s
            start_s = time.perf_counter()
            wiped = await store.wipe()
            wiped_s = time.perf_counter() - start_s
            say(f"one redaction: {written_s * 1000:.0f} ms to write, {wiped_s * 1000:.0f} ms to wipe"
                f" ({wiped.separators} separators, {wiped.pages} pages)")  # fmt: skip
        say("without a purge:")
        await stop(await begin_asking(folder), after_s=20)
        asking = await begin_asking(folder)
        await asyncio.sleep(5)
        gone = draw.sample(names, min(purge, len(names)))
        start_s = time.perf_counter()
        for at in range(0, len(gone), 200):
            async with store.transaction():
                for first in range(at, at + 200, 50):
                    await documents.remove(store.connection, gone[first : min(first + 50, at + 200)])
                    await store.ease_deleting()
        removed_s = time.perf_counter() - start_s
        start_s = time.perf_counter()
        wiped = await store.wipe()
        wiped_s = time.perf_counter() - start_s
        say(f"purge of {len(gone):,} windows: {removed_s:.1f} s to delete, {wiped_s:.2f} s to wipe"
            f" ({wiped.separators} separators, {wiped.pages} pages, done: {wiped.is_done})")  # fmt: skip
        await stop(asking)
        say(f"size after: {file.stat().st_size / 2**20:,.0f} MiB")


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

    words, weights = words_of(1)
    draw = random.Random(3)
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    taken = []
    async with open_store(folder / "index.sqlite", is_writer=False) as store:
        keys = Keys(("en",))
        searcher = Searcher(SqliteEngine(store, keys), keys, None, SearchSettings(), scrub=str)
        while not ended.done():
            question = " ".join(words[bisect(weights, draw.random() * weights[-1])] for _ in range(4))
            start_s = time.perf_counter()
            await searcher.search([question], limit=10, mode=Mode.LEXICAL)
            taken.append(time.perf_counter() - start_s)
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
