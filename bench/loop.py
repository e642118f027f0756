"""How long does a search keep the event loop of a bot or an MCP server from everything else?

    python -m bench.loop --state DIR [--text docs] [--chunks 100000] [--questions 40]

Fills an index in DIR once, by words alone, and asks it one question after the other, as a bot does, while something
else on the same loop wants to run every millisecond. A gap is how much later than that it ran; beside it stands the
most processor time that the loop's own thread spent at a stretch, which does not grow when others use the machine. The
same is looked at with nobody asking: what then is late, the machine is.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.output import load, say
from bench.writing import texts_of
from index.engines.sqlite.engine import SqliteEngine
from index.search import Mode, Searcher, SearchSettings
from index.store.store import open_store
from index.text.words import Keys
from ingest.refresh import Plan, refresh
from sources.app import fingerprint
from sources.config.model import Config
from sources.config.settings import models_folder
from sources.measuring.corpus import SyntheticWorker
from sources.measuring.texts import Texts

_TICK_S: Final = 0.001


@dataclass(slots=True)
class Gaps:
    """Milliseconds, one for each time that the loop came round."""

    late_ms: list[float] = field(default_factory=list)
    busy_ms: list[float] = field(default_factory=list)

    def told(self) -> str:
        late, busy = sorted(self.late_ms), sorted(self.busy_ms)
        at = int(len(late) * 0.99)
        return (
            f"late by {late[-1]:.1f} ms at most, 99 of 100 times by less than {late[at]:.1f};"
            f" its own work {busy[-1]:.1f} ms at a stretch, 99 of 100 times less than {busy[at]:.1f}"
        )


@asynccontextmanager
async def watched() -> AsyncIterator[Gaps]:
    """The gaps of this loop while the block runs."""
    gaps = Gaps()

    async def tick() -> None:
        while True:
            start_s, work_s = time.perf_counter(), time.thread_time()
            await asyncio.sleep(_TICK_S)
            gaps.late_ms.append((time.perf_counter() - start_s - _TICK_S) * 1_000)
            gaps.busy_ms.append((time.thread_time() - work_s) * 1_000)

    ticking = asyncio.create_task(tick())
    try:
        yield gaps
    finally:
        ticking.cancel()


async def fill(config: Config, texts: Texts, chunks: int) -> None:
    keys = Keys(config.index.languages, forms_dir=models_folder(config))
    async with open_store(config.index_file, is_writer=True) as store:
        await refresh(
            store,
            Plan([SyntheticWorker(texts, chunks)], parallel=1),
            fingerprint=fingerprint(config, None),
            document_keys=keys.document_keys,
            embedder=None,
        )


async def ask(config: Config, questions: Sequence[str]) -> None:
    keys = Keys(config.index.languages)
    async with open_store(config.index_file, is_writer=False) as store:
        searcher = Searcher(SqliteEngine(store, keys), keys, None, SearchSettings())
        await searcher.search(questions[:1], mode=Mode.LEXICAL)
        taken_s = []
        async with watched() as gaps:
            for question in questions:
                start_s = time.perf_counter()
                await searcher.search([question], mode=Mode.LEXICAL)
                taken_s.append(time.perf_counter() - start_s)
        async with watched() as idle:
            await asyncio.sleep(sum(taken_s))
    say(f"a search: {statistics.median(taken_s) * 1_000:.0f} ms")
    say(f"the loop meanwhile: {gaps.told()}")
    say(f"with nobody asking: {idle.told()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--text", type=Path, default=Path("docs"), help="a folder of Markdown to make the corpus from")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=40)
    options = parser.parse_args()
    config = Config(state_dir=options.state)
    texts = texts_of(options.text)
    if not config.index_file.exists():
        asyncio.run(fill(config, texts, options.chunks))
    say(load())
    asyncio.run(ask(config, [texts.question(number, options.chunks) for number in range(options.questions)]))


if __name__ == "__main__":
    main()
