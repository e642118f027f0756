"""What a search costs, from a thousand windows of chat to a million: a cold process by words, and a reader that stays.

    python -m bench.quality --eval EVAL --state DIR chat                      # once: real windows and their vectors
    python -m bench.search --eval EVAL --quality DIR --state DIR2 [--sizes 10000 100000 1000000] [--questions 40]

Windows, rooms and vectors are made by `bench.windows`; the index of each size stays in `--state`, and one that is there
is used. Questions are those of the chat set as people wrote them (17 words on average), four words of each, and five
of the commonest words; their vectors are the model's. Times leave out the embedding. `hybrid` is a whole search, with
snippets; `room` asks in a room that has a hundredth of all windows. `recall` is the share of the ten nearest of a whole
scan that is among the first ten. Each size is asked in a process of its own, so memory is that reader's; the first
question is shown, and the first three do not count.

Milliseconds are the clock's and the process's own work (`cpu`), medians and 95th percentiles. On a shared machine both
grow with its load: the first as others have their turn, the second because of the caches.
"""

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import numpy

from bench.output import load, say
from bench.processes import run_alone
from bench.windows import Windows, fill, rooms
from index.embed.base import Embedded, EmbedderIdentity, Refusal, Role
from index.embed.e5 import IDENTITY
from index.engines.sqlite.engine import SqliteEngine
from index.model import EVERYTHING, Filters, Query, Vector
from index.search import Searcher, SearchSettings
from index.store import vectors
from index.store.driver import connector
from index.store.store import Store, open_store
from index.text.query import parse
from index.text.words import Keys
from sources.app import embedder_of, fingerprint
from sources.config.model import Config
from sources.config.settings import embed_settings
from sources.credentials import Credentials
from sources.measuring.memory import memory_of
from sources.measuring.trial import times_of

LIMIT: Final = 100
COMMON: Final = (
    "how", "can", "the", "what", "install", "from", "have", "with", "you", "is", "do", "get", "use", "there", "want",
    "need", "just",
)  # fmt: skip
_WORD: Final = re.compile(r"[^\W\d_]+")
_LONG: Final = 4
_AT_ONCE: Final = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--quality", type=Path, required=True, help="the --state of bench.quality")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--runs", type=int, default=5, help="of the cold process")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    questions = asyncio.run(_questions(options)) if options.one is None else []
    if options.one is not None:
        asyncio.run(_ask(options, options.one))
        return
    options.state.mkdir(parents=True, exist_ok=True)
    (options.state / "questions.json").write_text(json.dumps(questions))
    for size in options.sizes:
        config = Config(state_dir=options.state / str(size))
        built = "there already" if config.index_file.exists() else f"built in {_built(options, config, size):.0f} s"
        each = config.index_file.stat().st_size / size
        say(f"\n{size} windows, {built}, {each:.0f} bytes each; {load()}")
        bare = [run_alone([sys.executable, "-c", "pass"]) for _ in range(options.runs)]
        cold = [run_alone(_search(config, questions[0][0])) for _ in range(options.runs)]
        say(
            f"  cold, by words: {median(one.seconds for one in cold) * 1_000:.0f} ms"
            f" ({median(one.cpu_seconds for one in cold) * 1_000:.0f} cpu);"
            f" a bare interpreter {median(one.seconds for one in bare) * 1_000:.0f} ms"
        )
        program = [sys.executable, "-m", "bench.search", "--one", str(size)]
        for name in ("eval", "quality", "state", "questions"):
            program += [f"--{name}", str(getattr(options, name))]
        subprocess.run(program, check=True)


async def _questions(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Questions of the chat set, each with its vector in hexadecimal digits."""
    lines = (options.eval / "chat" / "queries.jsonl").read_text().splitlines()[: options.questions]
    texts = [json.loads(line)["query"] for line in lines]
    config = Config(state_dir=options.quality / "chat")
    async with embedder_of(embed_settings(config, Credentials.found(None))) as embedder:
        if embedder is None:
            raise SystemExit("there is no model (run bench.quality first)")
        made = await embedder.embed(texts, Role.QUERY)
    return [(text, one.hex()) for text, one in zip(texts, made, strict=True) if not isinstance(one, Refusal)]


def _built(options: argparse.Namespace, config: Config, size: int) -> float:
    """Seconds."""
    start = time.perf_counter()
    asyncio.run(_written(options, config, size))
    return time.perf_counter() - start


async def _written(options: argparse.Namespace, config: Config, size: int) -> None:
    windows = Windows(options.quality / "chat" / "index.sqlite", Keys(("en",)))
    settings = embed_settings(Config(state_dir=options.quality / "chat"), Credentials.found(None))
    async with (
        embedder_of(settings) as embedder,
        open_store(config.index_file, is_writer=True) as store,
        store.transaction(),
    ):
        await store.save_fingerprint(fingerprint(config, embedder.identity if embedder else None))
    connection = connector(config.index_file, is_writer=True)()
    fill(connection, windows, size)
    connection.execute("BEGIN")
    for first in range(0, size, _AT_ONCE):
        made = windows.vectors(first, min(first + _AT_ONCE, size))
        scaled = numpy.clip(numpy.rint(made * vectors.scale(windows.dimension)), -127, 127).astype(numpy.int8)
        connection.executemany(
            "INSERT INTO vector(chunk_key, part_key, data) SELECT chunk_key, part_key, ?2 FROM part"
            " WHERE part_key = ?1",
            [(number, row.tobytes()) for number, row in enumerate(scaled, start=first + 1)],
        )
    connection.execute("UPDATE part SET has_vector = 1")
    connection.execute("COMMIT")
    connection.close()
    async with open_store(config.index_file, is_writer=True) as store:
        async with store.transaction():  # which ends with their codes
            pass
        await store.merge()
        await store.wipe()


def _search(config: Config, question: str) -> list[str]:
    file = config.state_dir / "sources.toml"
    file.write_text(f'state_dir = "{config.state_dir}"\n[embed]\nkind = "off"\n')
    program = [sys.executable, "-c", "from sources.cli.start import main; main()"]
    return [*program, "--config", str(file), "search", "--json", _short(question)]


def _short(question: str) -> str:
    """Four of its longer words."""
    words = [word for word in _WORD.findall(question) if len(word) >= _LONG]
    return " ".join(random.Random(question).sample(words, min(len(words), 4))) or question


@dataclass(slots=True)
class Given:
    """The vectors of the questions, which were embedded before."""

    identity: EmbedderIdentity
    vector: Vector = field(default=Vector(b""))

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        return [self.vector for _ in texts]

    async def close(self) -> None:
        return None


async def _ask(options: argparse.Namespace, size: int) -> None:
    config = Config(state_dir=options.state / str(size))
    keys = Keys(config.index.languages)
    asked = [
        (text, Vector(bytes.fromhex(vector)))
        for text, vector in json.loads((options.state / "questions.json").read_text())
    ]
    draw = random.Random(5)
    short = [(_short(text), vector) for text, vector in asked]
    common = [(" ".join(draw.sample(COMMON, 5)), vector) for _, vector in asked]
    room = Filters(rooms=frozenset([rooms(size)[1].id]))
    given = Given(IDENTITY)
    async with open_store(config.index_file, is_writer=False) as store:
        engine = SqliteEngine(store, keys)
        searcher = Searcher(engine, keys, given, SearchSettings())

        def by_words(filters: Filters) -> Callable[[str, Vector], Awaitable[object]]:
            async def ask(text: str, vector: Vector) -> object:
                async with engine.view(EVERYTHING, filters) as view:
                    return await view.lexical(parse(text, now_ms=0), limit=LIMIT)

            return ask

        def by_vector(filters: Filters) -> Callable[[str, Vector], Awaitable[object]]:
            async def ask(text: str, vector: Vector) -> object:
                async with engine.view(EVERYTHING, filters) as view:
                    return await view.nearest(vector, Query("", ()), limit=LIMIT)

            return ask

        def hybrid(prefix: str) -> Callable[[str, Vector], Awaitable[object]]:
            async def ask(text: str, vector: Vector) -> object:
                given.vector = vector
                return await searcher.search([prefix + text])

            return ask

        inside = f"in:{rooms(size)[1].id} "
        say("                               p50 ms    p95     cpu p50    p95   first")
        await _line("vectors", by_vector(Filters()), asked)
        await _line("words, short", by_words(Filters()), short)
        await _line("words, as written", by_words(Filters()), asked)
        await _line("words, common alone", by_words(Filters()), common)
        await _line("hybrid, short", hybrid(""), short)
        await _line("hybrid, as written", hybrid(""), asked)
        await _line("hybrid, common alone", hybrid(""), common)
        await _line("room: vectors", by_vector(room), asked)
        await _line("room: words, short", by_words(room), short)
        await _line("room: words, as written", by_words(room), asked)
        await _line("room: words, common alone", by_words(room), common)
        await _line("room: hybrid, short", hybrid(inside), short)
        if (memory := memory_of()) is not None:
            say(f"  the reader has {memory.resident / 1e6:.0f} MB, {memory.peak / 1e6:.0f} at most; {load()}")
        say(f"  recall@10 {await _recall(store, engine, [vector for _, vector in asked]):.3f}")


async def _line(
    name: str, ask: Callable[[str, Vector], Awaitable[object]], questions: Sequence[tuple[str, Vector]]
) -> None:
    """The first three warm up."""
    taken, work = [], []
    for text, vector in questions:
        start, before = time.perf_counter(), time.process_time()
        await ask(text, vector)
        taken.append((time.perf_counter() - start) * 1_000)
        work.append((time.process_time() - before) * 1_000)
    clock, cpu = times_of(taken[3:] or taken), times_of(work[3:] or work)
    say(f"  {name:<26} {clock.p50_ms:7.1f} {clock.p95_ms:7.1f}   {cpu.p50_ms:7.1f} {cpu.p95_ms:7.1f} {work[0]:7.1f}")


async def _recall(store: Store, engine: SqliteEngine, questions: Sequence[Vector]) -> float:
    asked = numpy.stack([numpy.frombuffer(vectors.quantise(one), numpy.int8) for one in questions]).astype("<f4")
    nearest: list[list[tuple[float, int]]] = [[] for _ in questions]
    after = (-1, -1)
    while rows := list(
        await store.connection.execute_fetchall(
            "SELECT vector.chunk_key, part_key, chunk.id, data FROM vector JOIN chunk USING (chunk_key)"
            " WHERE (vector.chunk_key, part_key) > (?, ?) ORDER BY vector.chunk_key, part_key LIMIT ?",
            (*after, _AT_ONCE),
        )
    ):
        after = (rows[-1][0], rows[-1][1])
        block = numpy.frombuffer(b"".join(row[3] for row in rows), numpy.int8).reshape(len(rows), -1).astype("<f4")
        far = (block**2).sum(axis=1) - 2 * asked @ block.T
        for number, row in enumerate(far):
            places = numpy.argpartition(row, min(10, len(row) - 1))[:10]
            best = [*nearest[number], *((float(row[place]), int(rows[place][2])) for place in places)]
            nearest[number] = sorted(best)[:10]
    shares = []
    for vector, best in zip(questions, nearest, strict=True):
        async with engine.view(EVERYTHING, Filters()) as view:
            found = await view.nearest(vector, Query("", ()), limit=LIMIT)
        shares.append(len({one.chunk for one in found[:10]} & {chunk for _, chunk in best}) / len(best))
    return sum(shares) / len(shares)


if __name__ == "__main__":
    main()
