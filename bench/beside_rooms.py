"""The same rooms side by side: this program's search of what was said there, and the homeserver's own /search.

    python -m bench.beside_rooms --markdown DIR [--sizes 200 1000] [--questions 30]

Passages of a folder of Markdown are said in four rooms of a throw-away Synapse, with SQLite, and read by a refresh
without vectors. Each question is some words of one passage; both are asked in turn, with the reader's account, and for
ten hits. Synapse wants a message that has all the words. The program is asked in this process, without a process start;
the homeserver over HTTP on loopback. Beside the seconds stands the processor time of the one who answers.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.output import load, say
from bench.writing import texts_of
from index.engines.sqlite.engine import SqliteEngine
from index.search import Mode, Searcher, SearchSettings
from index.store.store import open_store
from index.text.words import Keys
from sources import logs
from sources.app import run_refresh
from sources.config.chat_tables import Chat
from sources.config.model import Config, Embed, Log
from sources.credentials import Credentials
from sources.demo.homeserver import Homeserver
from sources.measuring.texts import Texts
from tests.matrix.people import People, Person

_ROOMS: Final = 4
_HITS: Final = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, required=True, help="a folder of Markdown to make the messages from")
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 1_000])
    parser.add_argument("--questions", type=int, default=30)
    asked = parser.parse_args()
    logs.configure("warning", Log().format)
    say(load())
    with tempfile.TemporaryDirectory() as name, Homeserver(Path(name) / "synapse") as homeserver:
        asyncio.run(_all_sizes(Path(name), homeserver, texts_of(asked.markdown), sorted(asked.sizes), asked.questions))


async def _all_sizes(folder: Path, homeserver: Homeserver, texts: Texts, sizes: Sequence[int], questions: int) -> None:
    async with People(homeserver) as people:
        author, reader = await people.register("author"), await people.register("reader")
        rooms = [await author.create_room(f"Room {number}") for number in range(_ROOMS)]
        for room in rooms:
            await reader.join(room)
        config, credentials = _host(folder, homeserver, reader)
        said = 0
        for size in sizes:
            for number in range(said, size):
                await author.say(rooms[number % _ROOMS], texts.passage(number))
            said = size
            start = time.perf_counter()
            report = await run_refresh(config, credentials)
            if report.failed:
                raise SystemExit(f"the rooms could not be read: {report.failed}")
            say(f"\n{size} messages; read in {time.perf_counter() - start:.1f} s")
            await _ask(config, homeserver, reader, [texts.question(number, size) for number in range(questions)])


def _host(folder: Path, homeserver: Homeserver, reader: Person) -> tuple[Config, Credentials]:
    token = folder / "credentials" / "matrix-reader-token"
    token.parent.mkdir(mode=0o700)
    token.write_text(reader.token)
    token.chmod(0o600)
    chat = Chat(homeserver=homeserver.url, user=reader.user)
    return Config(state_dir=folder / "state", embed=Embed(kind="off"), chat=chat), Credentials(token.parent)


async def _ask(config: Config, homeserver: Homeserver, reader: Person, questions: Sequence[str]) -> None:
    keys = Keys(config.index.languages)
    ours: list[tuple[float, float, bool]] = []
    theirs: list[tuple[float, float, bool]] = []
    async with open_store(config.index_file, is_writer=False) as store:
        searcher = Searcher(SqliteEngine(store, keys), keys, None, SearchSettings())
        for question in questions:
            start, work = time.perf_counter(), time.process_time()
            answer = await searcher.search([question], limit=_HITS, mode=Mode.LEXICAL)
            ours.append((time.perf_counter() - start, time.process_time() - work, bool(answer.hits)))
            start, work = time.perf_counter(), _processor_s(homeserver)
            found = await reader.call("POST", "/search", _wanted(question))
            results = found["search_categories"]["room_events"]["results"]
            theirs.append((time.perf_counter() - start, _processor_s(homeserver) - work, bool(results)))
    for name, taken in (("words", ours), ("Synapse's /search", theirs)):
        seconds, work = (statistics.median(one[at] for one in taken[1:] or taken) for at in (0, 1))
        say(
            f"  {name:<18} {seconds * 1_000:8.1f} ms, {work * 1_000:.1f} ms of work;"
            f" {sum(one[2] for one in taken)} of {len(taken)} questions with a hit"
        )
    pairs = zip(ours[1:] or ours, theirs[1:] or theirs, strict=True)
    say(f"  words to Synapse's /search, in seconds: {statistics.median(one[0] / other[0] for one, other in pairs):.2f}")


def _wanted(question: str) -> dict[str, object]:
    criteria = {"search_term": question, "keys": ["content.body"], "order_by": "rank", "filter": {"limit": _HITS}}
    return {"search_categories": {"room_events": criteria}}


def _processor_s(homeserver: Homeserver) -> float:
    """Of the homeserver's process, since it started; in steps of ten milliseconds."""
    fields = Path(f"/proc/{homeserver.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
