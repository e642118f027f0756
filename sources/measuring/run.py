"""`sources measure`: what the configured engine costs at several sizes, on this machine.

Everything happens in a folder of its own (and, in a cluster, in a collection of its own), which is emptied before and
removed after: the index in use is read for its texts and nothing else. A refresh takes away what a killed run left.
"""

import asyncio
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from index.embed.base import EmbedderIdentity, Refusal, Role
from index.errors import ConfigError, EmbedderError, StoreError
from index.model import Vector
from index.store.samples import bodies
from index.store.store import open_store
from index.wording import counted
from sources.app import embedder_of
from sources.config.model import Config
from sources.config.settings import embed_settings
from sources.credentials import Credentials
from sources.measuring.corpus import embedded
from sources.measuring.memory import Memory, memory_of
from sources.measuring.neighbours import SAMPLE
from sources.measuring.scratch import scratch
from sources.measuring.texts import Texts, passages
from sources.measuring.trial import Setting, Trial, run_trial

_MOST_PASSAGES: Final = 20_000
_SUFFIXES: Final = frozenset({".md", ".markdown", ".txt", ".rst"})
_MOST_FILE_BYTES: Final = 2_000_000
_SPARE_BYTES: Final = 200_000_000


class Machine(Struct, frozen=True):
    system: str
    processor: str
    cores: int
    memory_bytes: int
    load: float  # average of the last minute, before anything was measured


class Measured(Struct, frozen=True):
    """`note` says why there are no vectors. `server` is the memory of the process that was named as the engine's."""

    engine: str
    embedder: str
    machine: Machine
    passages: int
    mean_bytes: float
    trials: tuple[Trial, ...]
    note: str = ""
    server: Memory | None = None


class Order(Struct, frozen=True):
    """What to measure. `texts` None takes the texts of the index."""

    sizes: tuple[int, ...]
    questions: int
    scratch: Path
    texts: Path | None = None
    server: int | None = None


def measure(
    config: Config, credentials: Credentials, order: Order, *, progress: Callable[[str], None] = lambda line: None
) -> Measured:
    """Raises ConfigError without texts, StoreError when the disk is too small, BusyError when one is running."""
    found = list(_of_folder(order.texts)) if order.texts is not None else asyncio.run(_of_index(config))
    try:
        texts = Texts(found)
    except ValueError:
        where = "the index is empty" if order.texts is None else f"{order.texts}: holds no Markdown and no text"
        raise ConfigError(
            f"{where}: nothing to measure with (run `sources refresh`, or name a folder of texts with --text)"
        ) from None
    machine = _machine()
    with scratch(order.scratch) as folder:
        progress("embedding a sample")
        identity, sample, note = asyncio.run(_sample(config, credentials, texts))
        trials = []
        for size in order.sizes:
            free_bytes = shutil.disk_usage(folder).free
            check_disk(free_bytes, size, mean_bytes=texts.mean_bytes, dimension=identity.dimension if identity else 0)
            progress(counted(size, "chunk"))
            there = _apart(config, folder / str(size))
            setting = Setting(there, credentials, tuple(found), identity, sample, order.questions)
            try:
                asyncio.run(_drop(there, credentials))
                trials.append(run_trial(setting, size))
            finally:
                asyncio.run(_drop(there, credentials))
                shutil.rmtree(folder / str(size), ignore_errors=True)
        server = None if order.server is None else memory_of(order.server)
    return Measured(
        engine=config.index.engine,
        embedder=identity.name if identity else "off",
        machine=machine,
        passages=len(texts),
        mean_bytes=texts.mean_bytes,
        trials=tuple(trials),
        note=note,
        server=server,
    )


async def _of_index(config: Config) -> list[str]:
    if not config.index_file.exists():
        return []
    async with open_store(config.index_file, is_writer=False) as store:
        return await bodies(store.connection, limit=_MOST_PASSAGES)


def _of_folder(folder: Path) -> Iterator[str]:
    if not folder.is_dir():
        raise ConfigError(f"--text {folder}: is no folder (name one that holds Markdown or plain text)")
    count = 0
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() not in _SUFFIXES or not file.is_file() or file.stat().st_size > _MOST_FILE_BYTES:
            continue
        for passage in passages(file.read_text("utf-8", "replace")):
            if count == _MOST_PASSAGES:
                return
            count += 1
            yield passage


def _apart(config: Config, folder: Path) -> Config:
    """The same engine with nothing of the index in use: its own file, its own collection."""
    folder.mkdir()
    table = config.index.qdrant
    return replace(
        config,
        state_dir=folder,
        index=replace(config.index, qdrant=replace(table, collection=f"{table.collection}-measure")),
    )


async def _drop(config: Config, credentials: Credentials) -> None:
    """The collections of a measurement, this one's or a killed one's."""
    if config.index.engine != "qdrant":
        return
    from index.engines.qdrant.label import drop
    from sources.engines import open_cluster

    async with open_cluster(config, credentials) as cluster:
        await drop(cluster)


async def _sample(
    config: Config, credentials: Credentials, texts: Texts
) -> tuple[EmbedderIdentity | None, tuple[Vector, ...], str]:
    """A few vectors of the model itself; without them words alone are measured, and the note says why."""
    try:
        async with embedder_of(embed_settings(config, credentials)) as embedder:
            if embedder is None:
                return None, (), "words alone: embed.kind is off"
            wanted = [text for _, text in zip(range(SAMPLE), (one for _, one in embedded(texts, SAMPLE)), strict=False)]
            results = await embedder.embed(wanted[: len(texts)], Role.DOCUMENT)
            made = tuple(result for result in results if not isinstance(result, Refusal))
            if not made:
                return None, (), "words alone: the model embeds none of the texts"
            return embedder.identity, made, ""
    except EmbedderError as error:
        return None, (), f"words alone: {error}"


def check_disk(free_bytes: int, size: int, *, mean_bytes: float, dimension: int) -> None:
    """Raises StoreError when a corpus of `size` chunks would hardly fit: text, keys, postings, vectors, and a journal.

    An upper estimate; docs/measure.md has what was found.
    """
    need = int(size * (2_000 + 12 * mean_bytes + 3 * dimension)) + _SPARE_BYTES
    if free_bytes < need:
        raise StoreError(
            f"measure: {size} chunks need about {need / 1e9:.1f} GB of disk, {free_bytes / 1e9:.1f} GB are free"
            " (give smaller --sizes, or another place with --scratch)"
        )


def _machine() -> Machine:
    return Machine(
        system=f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        load=os.getloadavg()[0],
    )


def _processor() -> str:
    """As the kernel names it, where it does."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named: Sequence[str] = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
