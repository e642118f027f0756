"""Side by side in one run: this program, and what somebody would take instead, on the same Markdown at three sizes.

    python -m bench.beside --markdown DIR [--sizes 200 1000 5000] [--qmd PATH] [--check FILE | --keep FILE]

Plain FTS5 and plain sqlite-vec are floors: the least that words and vectors cost, without languages, operators,
filters or what must be forgotten. ripgrep finds exact words, or GNU grep where it is not there; qmd (npm `@tobilu/qmd`)
is asked for words alone. What is not installed is said and left out; rooms are for `bench.beside_rooms`. All are asked
the same questions in turn. Ratios are of processor time, since a busy machine makes what crosses threads wait longer
than what does not.

`--keep` writes the ratios to the floors; `--check` compares with kept ones and ends with 1 when a ratio has grown by
more than half: ratios of one run stay where seconds do not.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import numpy
import sqlite_vec
from msgspec.structs import replace
from pysqlite3 import dbapi2 as sqlite

from bench.output import load, say
from bench.writing import texts_of
from index.embed.hashing import HashingEmbedder
from index.engines.sqlite.engine import SqliteEngine
from index.model import EVERYTHING, Filters, Query, Vector
from index.search import Mode, Searcher, SearchSettings
from index.store.store import open_store
from index.text.words import Keys
from ingest.refresh import Plan, refresh
from sources.app import fingerprint
from sources.config.model import Config
from sources.measuring.corpus import SyntheticWorker
from sources.measuring.neighbours import Neighbours
from sources.measuring.texts import Texts

_DIMENSION = 384
_GROWTH = 1.5
_WORD = re.compile(r"\w+")
_GREPS: Final = (("ripgrep", "rg", ("-w", "-c")), ("grep", "grep", ("-r", "-E", "-w", "-c")))
Ask = Callable[[str], object]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, required=True, help="a folder of Markdown to make the corpora from")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 1_000, 5_000])
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--qmd", type=Path, help="its program; default: the one on the PATH")
    parser.add_argument("--keep", type=Path, help="write the ratios here")
    parser.add_argument("--check", type=Path, help="compare with the ratios that were kept here")
    asked = parser.parse_args()
    texts = texts_of(asked.markdown)
    say(load())
    ratios: dict[str, float] = {}
    for size in asked.sizes:
        with tempfile.TemporaryDirectory() as name:
            ratios |= asyncio.run(_one_size(Path(name), texts, size, asked))
    if asked.keep:
        asked.keep.write_text(json.dumps(ratios, indent=1, sort_keys=True) + "\n")
    return _check(ratios, json.loads(asked.check.read_text())) if asked.check else 0


async def _one_size(folder: Path, texts: Texts, size: int, asked: argparse.Namespace) -> dict[str, float]:
    pages = [texts.passage(number) for number in range(size)]
    questions = [texts.question(number, size) for number in range(asked.questions)]
    markdown = folder / "pages"
    markdown.mkdir()
    for number, page in enumerate(pages):
        (markdown / f"{number}.md").write_text(f"# {number}\n\n{page}\n")
    hashing = HashingEmbedder(_DIMENSION)
    draw = numpy.random.default_rng(2).standard_normal((256, _DIMENSION)).astype("<f4")
    sample = [Vector((row / numpy.linalg.norm(row)).astype("<f4").tobytes()) for row in draw]
    embedder = Neighbours(hashing.identity, sample)
    config = Config(state_dir=folder / "state")
    keys = Keys(config.index.languages)
    with _timed() as ours:
        async with open_store(config.index_file, is_writer=True) as store:
            made_with = replace(fingerprint(config, None), embedder=hashing.identity.name, dimension=_DIMENSION)
            await refresh(
                store,
                Plan([SyntheticWorker(texts, size)], parallel=1),
                fingerprint=made_with,
                document_keys=keys.document_keys,
                embedder=embedder,
            )
    plain = sqlite.connect(folder / "plain.sqlite")
    plain.enable_load_extension(True)  # noqa: FBT003
    sqlite_vec.load(plain)
    with _timed() as fts:
        plain.execute("CREATE VIRTUAL TABLE words USING fts5(body)")
        plain.executemany("INSERT INTO words(body) VALUES (?)", [(page,) for page in pages])
        plain.commit()
    with _timed() as vec:
        plain.execute(f"CREATE VIRTUAL TABLE near USING vec0(v float[{_DIMENSION}])")
        rows = embedder.vectors(pages)
        plain.executemany(
            "INSERT INTO near(rowid, v) VALUES (?, ?)", [(n, row.tobytes()) for n, row in enumerate(rows)]
        )
        plain.commit()
    vectors = {question: row.tobytes() for question, row in zip(questions, embedder.vectors(questions), strict=True)}

    def ask_fts(question: str) -> object:
        match = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        return plain.execute(
            "SELECT rowid, snippet(words, 0, '', '', '', 12) FROM words WHERE words MATCH ?"
            " ORDER BY bm25(words) LIMIT 10",
            (match,),
        ).fetchall()

    def ask_vec(question: str) -> object:
        return plain.execute(
            "SELECT rowid, distance FROM near WHERE v MATCH ? AND k = 10", (vectors[question],)
        ).fetchall()

    others: dict[str, Ask] = {"FTS5": ask_fts, "sqlite-vec": ask_vec, **_programs(folder, markdown, asked.qmd)}
    times: dict[str, list[list[float]]] = {name: [] for name in ("words", "vectors", "hybrid", *others)}
    async with open_store(config.index_file, is_writer=False) as store:
        engine = SqliteEngine(store, keys)
        searcher = Searcher(engine, keys, embedder, SearchSettings())
        for question in questions:
            for name, ask in others.items():
                with _timed() as took:
                    ask(question)
                times[name].append(took)
            for name, mode in (("words", Mode.LEXICAL), ("hybrid", Mode.HYBRID)):
                with _timed() as took:
                    await searcher.search([question], mode=mode)
                times[name].append(took)
            with _timed() as took:
                async with engine.view(EVERYTHING, Filters()) as view:
                    await view.nearest(Vector(vectors[question]), Query("", ()), limit=100)
            times["vectors"].append(took)
    plain.close()
    medians = {
        name: [statistics.median(one) for one in zip(*(taken[1:] or taken), strict=True)]
        for name, taken in times.items()
    }
    say(f"\n{size} chunks; built in: ours {ours[0]:.2f} s, FTS5 {fts[0]:.2f} s, sqlite-vec {vec[0]:.2f} s")
    for name, (seconds, work) in medians.items():
        is_here = name not in ("ripgrep", "grep", "qmd")
        say(f"  {name:<12} {seconds * 1_000:8.1f} ms" + (f", {work * 1_000:.1f} ms of work" if is_here else ""))
    found = {
        "words to FTS5": _paired(times["words"], times["FTS5"]),
        "vectors to sqlite-vec": _paired(times["vectors"], times["sqlite-vec"]),
        "building to both floors": ours[1] / (fts[1] + vec[1]),
    }
    for name, ratio in found.items():
        say(f"  {name}: {ratio:.2f}")
    return {f"{size}: {name}": round(ratio, 3) for name, ratio in found.items()}


def _programs(folder: Path, markdown: Path, chosen: Path | None) -> dict[str, Ask]:
    """Other programs, each asked in a process of its own, as somebody at a shell would."""
    found: dict[str, Ask] = {}
    for name, program, options in _GREPS:
        if path := shutil.which(program):
            found[name] = partial(_grep, [path, *options], str(markdown))
            break
        say(f"{name}: not installed, left out")
    qmd = str(chosen) if chosen else shutil.which("qmd")
    if qmd is None:
        say("qmd: not installed, left out")
        return found
    environment = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    adding = [qmd, "collection", "add", str(markdown), "--name", "pages"]
    with _timed() as built:
        added = subprocess.run(adding, capture_output=True, env=environment, text=True, check=False)
    if added.returncode:
        say(f"qmd: cannot be used, left out: {(added.stderr or added.stdout).strip().splitlines()[-1:]}")
        return found
    say(f"qmd: built in {built[0]:.2f} s, words alone")

    def ask_qmd(question: str) -> object:
        return subprocess.run([qmd, "search", question, "--json"], capture_output=True, env=environment, check=True)

    found["qmd"] = ask_qmd
    return found


def _grep(command: Sequence[str], place: str, question: str) -> object:
    """Any of the words, in how many lines of each page."""
    pattern = "|".join(map(re.escape, _WORD.findall(question)))
    return subprocess.run([*command, pattern, place], capture_output=True, check=False)


def _paired(ours: list[list[float]], floor: list[list[float]]) -> float:
    """The median of what one question costs here against there, in work; the first warms up."""
    pairs = zip(ours[1:] or ours, floor[1:] or floor, strict=True)
    return statistics.median(one[1] / other[1] for one, other in pairs)


def _check(found: dict[str, float], kept: dict[str, float]) -> int:
    worse = [name for name, ratio in found.items() if name in kept and ratio > kept[name] * _GROWTH]
    for name in worse:
        say(f"worse: {name}: {found[name]:.2f}, was {kept[name]:.2f}")
    if not found.keys() & kept.keys():
        say("nothing to compare: other sizes were kept")
        return 1
    return 1 if worse else 0


@contextmanager
def _timed() -> Iterator[list[float]]:
    """Of the block, known after it: seconds, then seconds of this process's own work."""
    took: list[float] = []
    start, work = time.perf_counter(), time.process_time()
    yield took
    took += [time.perf_counter() - start, time.process_time() - work]


if __name__ == "__main__":
    sys.exit(main())
