"""What a search costs: a cold process by words alone, and warm rankings, at three sizes.

    python -m bench.search --state DIR [--sizes 1000 10000 100000] [--runs 5]

Builds an index of synthetic chunks (words by Zipf's law, vectors in clusters) with the program's own writer. Cold times
are whole processes of `sources search --json` with `kind = "off"`, beside a bare interpreter; warm ones are medians of
one open searcher over many questions. `recall` compares the probed cells with an exact scan. Seconds of a shared
machine mean little; the ratios in one run do.
"""

import argparse
import asyncio
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy

from index.engines.sqlite.engine import SqliteEngine
from index.model import (
    EVERYTHING,
    Chunk,
    Corpus,
    Document,
    DocumentId,
    Filters,
    Kind,
    Query,
    SourceId,
    Vector,
    chunk_id,
)
from index.store import vectors
from index.store.store import Store, open_store
from index.text.query import parse
from index.text.words import Keys
from ingest.writing import Writer
from sources.app import fingerprint
from sources.config.model import Config

DIMENSION = 384
VOCABULARY = 30_000
SOURCE = SourceId("repo:bench")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    sys.stdout.write(
        "chunks    build_s  MB     bare_ms cold_ms   words_ms p95   common_ms  vectors_ms p95  recall@10\n"
    )
    for size in options.sizes:
        config = Config(state_dir=options.state / str(size))
        built = asyncio.run(build(config, size)) if not config.index_file.exists() else 0.0
        bare = _process([sys.executable, "-c", "pass"], options.runs)
        cold = _process(_search(config), options.runs)
        warm = asyncio.run(measure(config))
        megabytes = config.index_file.stat().st_size / 1e6
        sys.stdout.write(f"{size:<9} {built:<8.1f} {megabytes:<6.0f} {bare:<7.0f} {cold:<9.0f} {warm}\n")
        sys.stdout.flush()


async def build(config: Config, size: int) -> float:
    """Index `size` chunks of about 80 words, 10 to a document, each with one vector; returns seconds."""
    start = time.perf_counter()
    words = [f"{_syllables(number)}" for number in range(VOCABULARY)]
    weights = [1 / (rank + 10) for rank in range(VOCABULARY)]
    draw = random.Random(1)
    keys = Keys(config.index.languages)
    async with open_store(config.index_file, is_writer=True) as store:
        made_with = fingerprint(config, None)
        async with store.transaction():
            await store.save_fingerprint(made_with)
        writer = Writer(store, made_with, keys.document_keys)
        for first in range(0, size // 10, 500):
            async with writer.batch(SOURCE, label="bench", is_public=True) as batch:
                for number in range(first, min(first + 500, size // 10)):
                    texts = [" ".join(draw.choices(words, weights, k=80)) for _ in range(10)]
                    await batch.put(_document(number, texts))
        await _embed(writer)
    return time.perf_counter() - start


def _syllables(number: int) -> str:
    parts = ("ka", "lo", "mi", "ten", "ru", "sa", "vor", "ni", "pel", "du")
    return "".join(parts[int(digit)] for digit in str(number))


def _document(number: int, texts: Sequence[str]) -> Document:
    identity = DocumentId(f"{SOURCE} page{number}.md")
    chunks = tuple(Chunk(id=chunk_id(identity, str(n)), ordinal=n, text=text) for n, text in enumerate(texts))
    return Document(
        id=identity, source=SOURCE, corpus=Corpus.FORGE, kind=Kind.DOC, title=f"Page {number}", revision="1",
        chunks=chunks, path=f"page{number}.md",
    )  # fmt: skip


async def _embed(writer: Writer) -> None:
    """Vectors in clusters, as those of texts are; questions are drawn near them."""
    draw = numpy.random.default_rng(1)
    centres = draw.standard_normal((200, DIMENSION))
    connection = writer.store.connection
    cells = await vectors.cells(connection)
    after = 0
    while waiting := await vectors.pending(connection, after=after, limit=5_000):
        after = waiting[-1].part
        made = centres[draw.integers(0, 200, len(waiting))] + draw.standard_normal((len(waiting), DIMENSION))
        async with writer.transaction():
            pairs = zip(waiting, made, strict=True)
            await vectors.save(connection, [(part, _unit(vector)) for part, vector in pairs], cells)
    async with writer.transaction():
        await vectors.divide(connection)


def _unit(vector: "numpy.ndarray") -> Vector:
    return Vector((vector / numpy.linalg.norm(vector)).astype("<f4").tobytes())


def _search(config: Config) -> list[str]:
    file = config.state_dir / "sources.toml"
    file.write_text(f'state_dir = "{config.state_dir}"\n[embed]\nkind = "off"\n')
    program = [sys.executable, "-c", "from sources.cli.main import main; main()"]
    return [
        *program,
        "--config",
        str(file),
        "search",
        "--json",
        f"{_syllables(321)} {_syllables(4567)} {_syllables(29)}",
    ]


def _process(command: list[str], runs: int) -> float:
    """Median milliseconds of whole processes."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


async def measure(config: Config, questions: int = 60) -> str:
    keys = Keys(config.index.languages)
    draw = random.Random(2)
    noise = numpy.random.default_rng(3)
    centres = numpy.random.default_rng(1).standard_normal((200, DIMENSION))
    async with open_store(config.index_file, is_writer=False) as store:
        engine = SqliteEngine(store, keys)
        usual = [" ".join(_syllables(draw.randrange(50, VOCABULARY)) for _ in range(4)) for _ in range(questions)]
        common = [" ".join(_syllables(draw.randrange(0, 12)) for _ in range(4)) for _ in range(questions // 4)]
        near = [_unit(centres[noise.integers(0, 200)] + noise.standard_normal(DIMENSION)) for _ in range(questions)]
        lexical = [await _ranked(engine, text) for text in usual]
        often = [await _ranked(engine, text) for text in common]
        times, shares = [], []
        for vector in near:
            start = time.perf_counter()
            async with engine.view(EVERYTHING, Filters()) as view:
                found = await view.nearest(vector, Query("", ()), limit=100)
            times.append((time.perf_counter() - start) * 1000)
            shares.append(await _recall(store, vector, [place.chunk for place in found[:10]]))
    return (
        f"{statistics.median(lexical):<8.1f} {_p95(lexical):<6.1f} {statistics.median(often):<10.1f}"
        f" {statistics.median(times):<9.1f} {_p95(times):<6.1f} {statistics.mean(shares):.3f}"
    )


async def _ranked(engine: SqliteEngine, text: str) -> float:
    query = parse(text, now_ms=0)
    start = time.perf_counter()
    async with engine.view(EVERYTHING, Filters()) as view:
        await view.lexical(query, limit=100)
    return (time.perf_counter() - start) * 1000


async def _recall(store: Store, vector: Vector, found: Sequence[int]) -> float:
    """The share of the ten nearest of a whole scan that is among the ten found."""
    rows = await store.connection.execute_fetchall(
        "SELECT chunk.id FROM vector JOIN chunk USING (chunk_key)"
        " ORDER BY vec_distance_l2(vec_int8(data), vec_int8(?)), chunk.id LIMIT 10",
        (vectors.quantise(vector),),
    )
    exact = {int(row[0]) for row in rows}
    return len(exact & set(found)) / max(len(exact), 1)


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    main()
