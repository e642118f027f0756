"""One size measured: written in one process, asked in another, so that each one's memory is its own.

Both functions that the processes run take and give plain records, since they travel between them.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from heapq import nlargest
from itertools import islice
from math import ceil
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar

import numpy
from msgspec import Struct

from index.embed.base import EmbedderIdentity
from index.errors import StoreError
from index.model import EVERYTHING, ChunkId, Filters, Query, Vector
from index.search import Mode, Searcher
from index.store.store import open_store
from index.text.words import Keys
from ingest.refresh import Plan, refresh
from ingest.report import Outcome
from sources.app import fingerprint, search_settings
from sources.config.model import Config
from sources.copying import open_copy
from sources.credentials import Credentials
from sources.engines import open_engine
from sources.leash import end_with_parent
from sources.measuring.corpus import SyntheticWorker, embedded
from sources.measuring.memory import Memory, memory_of
from sources.measuring.neighbours import Floats, Neighbours
from sources.measuring.texts import Texts

_NEAREST = 10
_AT_ONCE = 2_000
Result = TypeVar("Result")


class Setting(Struct, frozen=True):
    """What a trial runs in. `sample` are vectors of the model; empty: there is none, and words alone are measured."""

    config: Config
    credentials: Credentials
    passages: tuple[str, ...]
    identity: EmbedderIdentity | None
    sample: tuple[Vector, ...]
    questions: int

    @property
    def embedder(self) -> Neighbours | None:
        return Neighbours(self.identity, self.sample) if self.identity is not None and self.sample else None


class Written(Struct, frozen=True):
    """Of the process that wrote. `vectors_s` is the part of `seconds` in which vectors were stored."""

    seconds: float
    vectors_s: float
    file_bytes: int
    memory: Memory | None


class Times(Struct, frozen=True):
    """Milliseconds of one kind of search, embedding excluded."""

    p50_ms: float
    p95_ms: float


class Asked(Struct, frozen=True):
    """Of the process that asked. None: there are no vectors."""

    lexical: Times
    vector: Times | None
    hybrid: Times | None
    recall: float | None
    memory: Memory | None


class Trial(Struct, frozen=True):
    chunks: int
    written: Written
    asked: Asked

    @property
    def bytes_per_chunk(self) -> float:
        return self.written.file_bytes / self.chunks


def run_trial(setting: Setting, chunks: int) -> Trial:
    """Raises StoreError when something could not be written."""
    return Trial(chunks, in_a_process(_write, setting, chunks), in_a_process(_ask, setting, chunks))


def in_a_process(work: Callable[[Setting, int], Result], setting: Setting, chunks: int) -> Result:
    """A fresh one: what was loaded here does not count there. It ends when this one does, or is interrupted.

    Raises StoreError when somebody else ended it.
    """
    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    with (
        watched,
        held,
        ProcessPoolExecutor(1, mp_context=context, initializer=_leash, initargs=(watched,)) as pool,
    ):
        try:
            return pool.submit(work, setting, chunks).result()
        except BrokenProcessPool as error:
            remedy = "give smaller --sizes; the kernel ends what takes more memory than there is"
            raise StoreError(f"measure: the process for {chunks} chunks was ended from outside ({remedy})") from error
        except BaseException:
            held.close()
            raise


def _leash(watched: Connection) -> None:
    end_with_parent(os.dup(watched.fileno()))


def _write(setting: Setting, chunks: int) -> Written:
    return asyncio.run(_written(setting, chunks))


async def _written(setting: Setting, chunks: int) -> Written:
    config, embedder = setting.config, setting.embedder
    start = time.perf_counter()
    async with (
        open_store(config.index_file, is_writer=True) as store,
        open_copy(config, setting.credentials) as copy,
    ):
        report = await refresh(
            store,
            Plan([SyntheticWorker(Texts(setting.passages), chunks)], parallel=1),
            fingerprint=fingerprint(config, None if embedder is None else embedder.identity),
            document_keys=Keys(config.index.languages).document_keys,
            embedder=embedder,
            copy=copy,
        )
    faults = [one.fault for one in report.sources if one.outcome is Outcome.FAILED]
    faults += [report.vectors.fault, None if report.copy is None else report.copy.fault]
    for fault in faults:
        if fault is not None:
            raise StoreError(f"{chunks} chunks could not be written: {fault}")
    return Written(
        seconds=time.perf_counter() - start,
        vectors_s=report.vectors.seconds,
        file_bytes=sum(file.stat().st_size for file in config.state_dir.glob("index.sqlite*")),
        memory=memory_of(),
    )


def _ask(setting: Setting, chunks: int) -> Asked:
    return asyncio.run(_asked(setting, chunks))


async def _asked(setting: Setting, chunks: int) -> Asked:
    config, embedder = setting.config, setting.embedder
    texts = Texts(setting.passages)
    questions = [texts.question(number, chunks) for number in range(setting.questions)]
    keys = Keys(config.index.languages)
    async with open_engine(config, setting.credentials, keys) as opened:
        searcher = Searcher(opened.engine, keys, embedder, search_settings(config, embedder))
        lexical = await _times(searcher, questions, Mode.LEXICAL)
        vector = hybrid = recall = None
        if embedder is not None:
            vector = await _times(searcher, questions, Mode.VECTOR)
            hybrid = await _times(searcher, questions, Mode.HYBRID)
        memory = memory_of()
        if embedder is not None:
            vectors = embedder.vectors(questions)
            found = []
            for row in vectors:
                async with opened.engine.view(EVERYTHING, Filters()) as view:
                    ranked = await view.nearest(Vector(row.tobytes()), Query("", ()), limit=config.search.candidates)
                found.append([one.chunk for one in ranked[:_NEAREST]])
            recall = _recall(found, exact_nearest(embedder, texts, chunks, vectors))
    return Asked(lexical, vector, hybrid, recall, memory)


async def _times(searcher: Searcher, questions: Sequence[str], mode: Mode) -> Times:
    """The first question warms up and does not count, unless it is the only one."""
    taken = []
    for question in questions:
        start = time.perf_counter()
        await searcher.search([question], mode=mode)
        taken.append((time.perf_counter() - start) * 1_000)
    return times_of(taken[1:] or taken)


def times_of(taken_ms: Sequence[float]) -> Times:
    """Of at least one; a percentile is the smallest time that so many were not above."""
    ordered = sorted(taken_ms)

    def percentile(share: float) -> float:
        return ordered[max(0, ceil(share * len(ordered)) - 1)]

    return Times(percentile(0.5), percentile(0.95))


def exact_nearest(embedder: Neighbours, texts: Texts, chunks: int, questions: Floats) -> list[list[ChunkId]]:
    """For each row of `questions` the ten nearest chunks of all, by the vectors as the model gives them."""
    best: list[list[tuple[float, ChunkId]]] = [[] for _ in questions]
    every = embedded(texts, chunks)
    while block := list(islice(every, _AT_ONCE)):
        cosines = questions @ embedder.vectors([text for _, text in block]).T
        for number, row in enumerate(cosines):
            places = numpy.argsort(-row, kind="stable")[:_NEAREST]
            fresh = [(float(row[place]), block[place][0]) for place in places]
            best[number] = nlargest(_NEAREST, best[number] + fresh)
    return [[chunk for _, chunk in row] for row in best]


def _recall(found: Sequence[Sequence[ChunkId]], exact: Sequence[Sequence[ChunkId]]) -> float:
    shares = [len(set(one) & set(truth)) / len(truth) for one, truth in zip(found, exact, strict=True) if truth]
    return sum(shares) / len(shares)
