"""What a first ingest costs where vectors are given: the program's own writer, each size in a process of its own.

    python -m bench.writing [--text docs] [--sizes 5000 20000 80000] [--languages en cs de]

Pages of ten passages each, made from the Markdown of a folder, go through a whole refresh into an empty index: keys of
words, rows, both full-text indexes, vectors, their codes, and the wipe at its end. Vectors are drawn near a few random
ones, so that nothing is embedded. Processor seconds and the peak are the process's own, without its start; keys of
words, of which each new one is looked up in the dictionaries, are a large part of them and are told apart;
`--languages` without any leaves them away. The dictionaries are packed before, as they are from the second refresh on.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy
from msgspec.structs import replace

from bench.output import load, say
from bench.processes import run_alone
from index.embed.hashing import HashingEmbedder
from index.model import Vector
from index.store.store import open_store
from index.text.languages import KNOWN
from index.text.lemmas import paradigms
from index.text.vocabulary import Keyed
from index.text.words import Keys
from ingest.refresh import Plan, refresh
from sources.app import fingerprint
from sources.config.model import Config, Index
from sources.measuring.corpus import SyntheticWorker
from sources.measuring.memory import memory_of
from sources.measuring.neighbours import Neighbours
from sources.measuring.texts import Texts, passages

_DIMENSION = 384
_SAMPLE = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--text", type=Path, default=Path("docs"), help="a folder of Markdown to make the corpora from")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 20_000, 80_000])
    parser.add_argument("--languages", nargs="*", default=list(Index().languages))
    parser.add_argument("--forms", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        sys.stdout.write(
            json.dumps(asyncio.run(ingest(texts_of(options.text), options.one, options.languages, options.forms)))
        )
        return
    texts = texts_of(options.text)
    say(f"passages of {texts.mean_bytes:.0f} bytes, {len(texts)} of them real; {_DIMENSION} dimensions; {load()}")
    say("chunks   seconds  of them vectors  processor_s  of them keys  chunks/s  peak_MB  file_bytes/chunk")
    with tempfile.TemporaryDirectory() as forms:
        for code in options.languages:
            if KNOWN[code].has_paradigms:
                paradigms(code, Path(forms))
        for size in options.sizes:
            _measure(options, Path(forms), size)


def _measure(options: argparse.Namespace, forms_dir: Path, size: int) -> None:
    program = [sys.executable, "-m", "bench.writing", "--text", str(options.text), "--forms", str(forms_dir)]
    found = json.loads(run_alone([*program, "--one", str(size), "--languages", *options.languages]).output)
    times = (found["seconds"], found["vectors_s"], found["processor_s"], found["keys_s"])
    say(
        f"{size:<8} {times[0]:<8.1f} {times[1]:<16.1f} {times[2]:<12.1f} {times[3]:<13.1f}"
        f" {size / times[0]:<9.0f} {found['peak'] / 1e6:<8.0f} {found['file_bytes'] / size:.0f}"
    )


def texts_of(folder: Path) -> Texts:
    files = sorted(folder.rglob("*.md"))
    return Texts(passage for file in files for passage in passages(file.read_text("utf-8", "replace")))


class Recorded:
    """The first `size` passages, kept in a file and given once, one after the other."""

    def __init__(self, texts: Texts, size: int, file: Path) -> None:
        with file.open("w") as lines:
            lines.writelines(json.dumps(texts.passage(number)) + "\n" for number in range(size))
        self._read = enumerate(_lines(file))

    def passage(self, number: int) -> str:
        place, line = next(self._read)
        if place != number:
            raise ValueError(f"passage {number} was asked for, {place} is next")
        return str(json.loads(line))


def _lines(file: Path) -> Iterator[str]:
    with file.open() as lines:
        yield from lines


async def ingest(texts: Texts, size: int, languages: Sequence[str], forms_dir: Path) -> dict[str, float]:
    identity = HashingEmbedder(_DIMENSION).identity
    draw = numpy.random.default_rng(2).standard_normal((_SAMPLE, _DIMENSION)).astype("<f4")
    near = Neighbours(identity, [Vector((row / numpy.linalg.norm(row)).astype("<f4").tobytes()) for row in draw])
    with tempfile.TemporaryDirectory() as folder:
        config = Config(state_dir=Path(folder), index=Index(languages=tuple(languages)))
        made_with = replace(fingerprint(config, None), embedder=identity.name, dimension=_DIMENSION)
        keys = Keys(config.index.languages, forms_dir=forms_dir)
        recorded = Recorded(texts, size, Path(folder) / "passages.jsonl")
        keys_s = 0.0

        def document_keys(title: str, text: str) -> Keyed:
            nonlocal keys_s
            before = time.thread_time()
            made = keys.document_keys(title, text)
            keys_s += time.thread_time() - before
            return made

        start, work = time.perf_counter(), time.process_time()
        async with open_store(config.index_file, is_writer=True) as store:
            report = await refresh(
                store,
                Plan([SyntheticWorker(recorded, size)], parallel=1),
                fingerprint=made_with,
                document_keys=document_keys,
                embedder=near,
            )
        seconds, processor_s = time.perf_counter() - start, time.process_time() - work
        if report.vectors.embedded != size or not report.is_erased:
            raise SystemExit(f"not all was written: {report}")
        memory = memory_of()
        return {
            "seconds": seconds,
            "vectors_s": report.vectors.seconds,
            "processor_s": processor_s,
            "keys_s": keys_s,
            "peak": memory.peak if memory else 0,
            "file_bytes": config.index_file.stat().st_size,
        }


if __name__ == "__main__":
    main()
