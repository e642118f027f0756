"""What Qdrant's own storage engine needs for a collection of ours, beside the same with its defaults.

    python -m bench.qdrant_engine [--text docs] [--chunks 20000] [--dimension 1024] [--runs 3] [--questions 100]
                                  [--only ours]

Passages made from the Markdown of a folder are written by the program's own writer, with vectors near a few random
ones, and told to the engine as a cluster is told. Those requests are kept, and repeated to it in processes of their
own that hold nothing else but Python: as they are (`ours`), with nothing but vectors and texts (`vectors`), and without
the settings of `index.engines.qdrant.layout` (`defaults`), so with floats and all in memory that Qdrant would have
there. The optimiser runs where the writer waits for it. What was written is flushed after that and every five seconds,
as a server does: until then the engine holds on to the segments that it replaced. A point is made only when the engine
takes it, so that of the peak nearly nothing is Python's.

Megabytes (10^6 bytes), without what Python held before: `peak` until all is in order, `settled` then, `asked` after the
questions, as the kernel counts them; `own` are those of `settled` that are not pages of files, which it can take back,
and `own_peak` the most of them, looked at from outside fifty times a second, since the engine lets no thread of Python
run while it optimises. glibc, which this build of the engine allocates with, is told to
keep one arena and to give back what is free; a server has an allocator that does so by itself. `vector_ms` and
`words_ms` are one ranking in the engine, `recall` the share of the ten nearest of a whole scan of the unrounded vectors
that is among the first ten. Everything is the median of the runs.

It is the engine of a server (https://qdrant.tech/edge), not a server: no network, replicas or task that optimises.
"""

import argparse
import asyncio
import ctypes
import json
import math
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final, TextIO

from tests.qdrant.edge import Body, Edge

SETTINGS: Final = ("ours", "vectors", "defaults")
COLLECTION: Final = "sources"
OPTIMIZE: Final = "optimize"
"""In the place of a request: the writer waits for the optimiser."""
UPSERT: Final = "PUT points"
"""A line with the number of points, and then one for each of them."""
FLUSH_S: Final = 5.0
"""Qdrant's `flush_interval_sec`."""
FRUGAL: Final = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "131072"}
STARTING: Final = 3
"""Questions that do not count."""
COLUMNS: Final = (
    "peak", "own_peak", "settled", "own", "asked", "disk", "segments", "indexed", "processor_s", "vector_ms", "words_ms"
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--text", type=Path, default=Path("docs"), help="a folder of Markdown to make passages from")
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--dimension", type=int, default=1_024)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=SETTINGS, help="leave the other settings away")
    parser.add_argument("--repeat", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--settings", choices=SETTINGS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.repeat is not None:
        sys.stdout.write(json.dumps(repeat(options.repeat, options.settings)))
        return
    from bench.qdrant_requests import record

    with tempfile.TemporaryDirectory() as folder:
        exact = asyncio.run(record(options, Path(folder)))
        _report(options, Path(folder), exact)


def _report(options: argparse.Namespace, folder: Path, exact: list[list[int]]) -> None:
    from bench.output import load, say

    say(f"{options.chunks} chunks of {options.dimension} dimensions, median of {options.runs}; {load()}")
    say("".join(f"{name:<13}" for name in ("settings", *COLUMNS, "recall")).rstrip())
    program = [sys.executable, "-m", "bench.qdrant_engine", "--repeat", str(folder)]
    for settings in options.only:
        runs = [_run([*program, "--settings", settings]) for _ in range(options.runs)]
        hits = [len({*near} & {*wanted}) for run in runs for near, wanted in zip(run["nearest"], exact, strict=True)]
        recall = sum(hits) / (10 * len(exact) * len(runs))
        medians = [f"{median(run[name] for run in runs):.1f}" for name in COLUMNS]
        say("".join(f"{value:<13}" for value in (settings, *medians, f"{recall:.3f}")))


def _run(command: list[str]) -> dict[str, Any]:
    """What the process told, and the most that it held for itself."""
    from bench.processes import run_alone

    own = [0]
    found = run_alone(
        command, environment=os.environ | FRUGAL, watch=lambda process: own.append(memory(process)["RssAnon"])
    )
    told: dict[str, Any] = json.loads(found.output)
    return told | {"own_peak": max(own) / 1e6 - told["before"]}


def repeat(folder: Path, settings: str) -> dict[str, Any]:
    """What the requests in the folder cost this process, in the units of the table, and the ids that it gave."""
    before, trim, flushed = memory(), ctypes.CDLL(None).malloc_trim, time.monotonic()
    with tempfile.TemporaryDirectory() as shards, closing(Edge(Path(shards))) as edge:
        for verb, name, body in requests(folder / "told"):
            if verb == OPTIMIZE:
                edge.optimize(name)
            elif (told := _told(settings, verb, name, body)) is not None:
                edge.answer(verb, name, told)
            if verb == OPTIMIZE or time.monotonic() > flushed + FLUSH_S:
                for collection in edge.collections.values():
                    collection.shard.flush()
                trim(0)
                flushed = time.monotonic()
        collection = edge.collections[COLLECTION]
        collection.shard.flush()
        trim(0)
        settled, shard, processor_s = memory(), collection.shard.info(), time.process_time()
        times, nearest = _asked(edge, folder / "asked", only="dense" if settings == "vectors" else None)
        return {
            "peak": (settled["VmHWM"] - before["VmRSS"]) / 1e6,
            "before": before["RssAnon"] / 1e6,
            "settled": (settled["VmRSS"] - before["VmRSS"]) / 1e6,
            "own": (settled["RssAnon"] - before["RssAnon"]) / 1e6,
            "asked": (memory()["VmRSS"] - before["VmRSS"]) / 1e6,
            "disk": sum(file.stat().st_blocks * 512 for file in collection.folder.rglob("*")) / 1e6,
            "segments": shard.segments_count,
            "indexed": shard.indexed_vectors_count,
            "processor_s": processor_s,
            "vector_ms": median(times["dense"][STARTING:]),
            "words_ms": median(times["words"][STARTING:] or [math.nan]),
            "nearest": nearest,
        }


def _told(settings: str, verb: str, name: str, body: Body) -> Body | None:
    """None: left away."""
    if settings == "defaults":
        return plain(body)
    if settings == "ours" or name != COLLECTION or verb not in ("PUT index", UPSERT):
        return body
    if verb == "PUT index":
        return None
    return {"points": (_bare(one) for one in body["points"])}


def _bare(point: Body) -> Body:
    """Its vectors and its text."""
    return {
        "id": point["id"],
        "vector": {"dense": point["vector"]["dense"]},
        "payload": {"text": point["payload"]["text"]},
    }


def _asked(edge: Edge, file: Path, *, only: str | None) -> tuple[dict[str, list[float]], list[list[int]]]:
    """Milliseconds by the name of the vector, and the ten nearest of each question."""
    times: dict[str, list[float]] = {"dense": [], "words": []}
    nearest = []
    for verb, name, body in requests(file):
        if only is not None and body.get("using") != only:
            continue
        start = time.perf_counter()
        found = edge.answer(verb, name, body)
        if verb == "POST points/query":
            times[body["using"]].append((time.perf_counter() - start) * 1e3)
            if body["using"] == "dense":
                nearest.append([one["id"] for one in found["points"][:10]])
    return times, nearest


def requests(file: Path) -> Iterator[tuple[str, str, Body]]:
    """The points of a request are read when they are taken, which has to be before the next request."""
    with file.open() as lines:
        for line in lines:
            verb, name, body = json.loads(line)
            yield verb, name, {"points": _points(lines, body)} if verb == UPSERT else body


def _points(lines: Iterator[str], count: int) -> Iterator[Body]:
    return (json.loads(line) for line in islice(lines, count))


def write(file: TextIO, verb: str, name: str, body: Body) -> None:
    """As `requests` reads it."""
    points = body["points"] if verb == UPSERT else []
    for line in ([verb, name, len(points) if verb == UPSERT else body], *points):
        file.write(json.dumps(line) + "\n")


def plain(body: Body) -> Body:
    """The same without a setting of ours: only what must be said to keep such points and to ask for them."""
    kept = {name: value for name, value in body.items() if name not in _SETTINGS}
    return {
        name: plain(value) if isinstance(value, dict) and name in _PARAMS else value for name, value in kept.items()
    }


_SETTINGS: Final = frozenset({"hnsw_config", "optimizers_config", "on_disk_payload", "on_disk", "datatype", "index"})
_PARAMS: Final = frozenset({"vectors", "sparse_vectors", "field_schema", "dense", "words"})


def memory(process: int | None = None) -> defaultdict[str, int]:
    """Bytes, as the kernel counts them; of this process, or of one that may be gone, which has none."""
    found: defaultdict[str, int] = defaultdict(int)
    with suppress(OSError):
        for line in Path(f"/proc/{'self' if process is None else process}/status").read_text().splitlines():
            words = line.split()
            if words[-1] == "kB":
                found[words[0].rstrip(":")] = int(words[1]) * 1024
    return found


if __name__ == "__main__":
    main()
