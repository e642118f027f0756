"""How fast does the bot answer, how does it bear a burst, and does it survive being killed? On a throw-away homeserver.

    python -m bench.bot --state DIR [--messages 2000] [--chunks 100000] [--questions 100] [--kills 30]

Real messages are said on Synapse and read by a refresh; passages of invented notes fill the index up to `--chunks`. The
same words are asked of the bot and of the homeserver's own /search, which knows the messages alone. From command to
answer means: from the moment that the homeserver took the command until a client that syncs has the answer. `beat` is
zero here; with the default, answers leave at multiples of half a second.
"""

import argparse
import asyncio
import random
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.output import say
from index.model import Chunk, Corpus, Document, DocumentId, Kind, SourceId, chunk_id
from index.store.store import open_store
from index.text.words import Keys
from ingest.writing import Writer
from sources.app import fingerprint
from sources.demo.homeserver import Homeserver
from tests.bot.town import Town
from tests.matrix.people import People, Person

Json = dict[str, Any]
NOTES: Final = SourceId("notes:invented")
WORDS: Final = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--kills", type=int, default=30)
    options = parser.parse_args()
    with Homeserver(options.state / "homeserver") as homeserver:
        asyncio.run(measure(homeserver, options))


def sentence(rng: random.Random, length: int = 14) -> str:
    """Words by Zipf's law: few are frequent, most are rare."""
    return " ".join(f"w{int(WORDS ** rng.random())}x" for _ in range(length))


def question(rng: random.Random) -> str:
    """Three words that say something: none of the twenty most frequent ones."""
    return " ".join(f"w{int(20 * (WORDS / 20) ** rng.random())}x" for _ in range(3))


async def measure(homeserver: Homeserver, options: argparse.Namespace) -> None:
    rng = random.Random(5)
    async with People(homeserver) as people:
        town = Town(options.state, people, await people.register("reader"), await people.register("sources"))
        owner = await people.register("owner")
        room = await town.room(owner)
        for start in range(0, options.messages, 20):
            await asyncio.gather(*(owner.say(room, sentence(rng)) for _ in range(start, start + 20)))
        await town.refresh()
        await fill(town, options.chunks, rng)
        town.permit({room: ["here", "notes:invented"]})
        await latency(town, owner, room, [question(rng) for _ in range(options.questions)])
        await burst(town, room)
        await kills(town, owner, room, options.kills)


async def fill(town: Town, chunks: int, rng: random.Random) -> None:
    keys = Keys(town.config.index.languages)
    async with open_store(town.config.index_file, is_writer=True) as store:
        writer = Writer(store, fingerprint(town.config, None), keys.document_keys)
        rows = list(await store.connection.execute_fetchall("SELECT count(*) FROM chunk"))
        missing = chunks - int(rows[0][0])
        for start in range(0, missing, 5_000):
            async with writer.batch(NOTES, label="invented", is_public=True) as batch:
                for number in range(start, min(missing, start + 5_000)):
                    await batch.put(page(number, sentence(rng, 40)))
    say(f"index: {chunks} chunks, {town.config.index_file.stat().st_size >> 20} MiB")


def page(number: int, text: str) -> Document:
    document = DocumentId(f"{NOTES} {number}.md")
    chunk = Chunk(id=chunk_id(document, "page"), ordinal=0, text=text)
    return Document(
        document, NOTES, Corpus.NOTES, Kind.NOTE, f"Page {number}", str(number), (chunk,), path=f"{number}.md"
    )


async def latency(town: Town, owner: Person, room: str, questions: Sequence[str]) -> None:
    bot_ms, server_ms = [], []
    async with town.bot_running():
        await town.ask(owner, room, "!search warm up")
        since = (await owner.call("GET", "/sync", timeout=0))["next_batch"]
        for text in questions:
            began_s = time.perf_counter()
            asked = await owner.say(room, f"!search {text}")
            while True:
                batch = await owner.call("GET", "/sync", since=since, timeout=10_000)
                since = batch["next_batch"]
                if is_answered(batch, room, asked):
                    break
            bot_ms.append((time.perf_counter() - began_s) * 1000)
            began_s = time.perf_counter()
            await owner.call("POST", "/search", {"search_categories": {"room_events": {"search_term": text}}})
            server_ms.append((time.perf_counter() - began_s) * 1000)
    for name, times in (("bot", bot_ms), ("homeserver's /search", server_ms)):
        times.sort()
        say(f"{name}: p50 {statistics.median(times):.0f} ms, p95 {times[int(len(times) * 0.95) - 1]:.0f} ms")


def is_answered(batch: Json, room: str, asked: str) -> bool:
    events = batch.get("rooms", {}).get("join", {}).get(room, {}).get("timeline", {}).get("events", [])
    return any(
        event["content"].get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id") == asked for event in events
    )


async def burst(town: Town, room: str, *, people: int = 20, commands: int = 1_000) -> None:
    """All in one room, with the default budgets."""
    crowd = [await town.people.register(f"user{number}") for number in range(people)]
    for person in crowd:
        await person.join(room)
    town.set_bot(per_user=6, per_room=20)
    before_mib = memory_mib()
    already = len(await town.said(room))
    late_ms = [0.0]

    async def tick() -> None:
        while True:
            began_s = time.perf_counter()
            await asyncio.sleep(0.01)
            late_ms.append((time.perf_counter() - began_s) * 1000 - 10)

    async with town.bot_running():
        ticking = asyncio.create_task(tick())
        began_s = time.perf_counter()
        for _ in range(commands // people):
            await asyncio.gather(*(person.say(room, "!search w100x w700x") for person in crowd))
        took_s = time.perf_counter() - began_s
        await asyncio.sleep(5)
        ticking.cancel()
    said = (await town.said(room))[already:]
    counts = Counter(event["content"]["m.relates_to"]["m.in_reply_to"]["event_id"] for event in said)
    notes = sum(event["content"]["body"].startswith("That was a lot") for event in said)
    say(
        f"burst: {commands} commands of {people} people in {took_s:.0f} s: {len(said) - notes} answers, {notes} notes,"
        f" {sum(count > 1 for count in counts.values())} answered twice; loop late by {max(late_ms):.0f} ms at most;"
        f" memory {before_mib:.0f} MiB before, {memory_mib():.0f} MiB after"
    )


def memory_mib() -> float:
    """What this process holds now; bot, client and measurement are one process here."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


async def kills(town: Town, owner: Person, room: str, times: int) -> None:
    """Killed at random moments while people talk; each command is answered once in the end."""
    town.set_bot(per_user=1000, per_room=1000)
    file = town.folder / "sources.toml"
    file.write_text(town.written())
    program = [sys.executable, "-c", "from sources.cli.main import main; main()", "--config", str(file)]
    program += ["--credentials-dir", str(town.folder / "credentials"), "bot"]
    already = len(await town.said(room))
    asked: list[str] = []
    is_over = asyncio.Event()

    async def talk() -> None:
        while not is_over.is_set():
            asked.append(await owner.say(room, "!search w100x w700x"))
            await asyncio.sleep(random.uniform(0.5, 1.5))

    talking = asyncio.create_task(talk())
    with (town.folder / "bot.log").open("ab") as log:
        for number in range(times + 1):
            process = await asyncio.create_subprocess_exec(*program, stdout=log, stderr=log)
            if number == times:
                is_over.set()
                await talking
                await until_answered(town, room, asked, already)
            else:
                await asyncio.sleep(random.uniform(0.5, 6.0))
            process.kill()
            await process.wait()
    said = (await town.said(room))[already:]
    counts = Counter(event["content"]["m.relates_to"]["m.in_reply_to"]["event_id"] for event in said)
    left = {one for one in asked if one not in counts}
    log_text = (town.folder / "bot.log").read_text()
    too_old = sum(
        f"command_too_old event_id={one}" in log_text or f"given_up event_id={one}" in log_text for one in left
    )
    twice = sum(count > 1 for count in counts.values())
    say(
        f"{times} kills: {len(asked)} commands, {twice} answered twice, {too_old} grew too old,"
        f" {len(left) - too_old} lost"
    )


async def until_answered(town: Town, room: str, asked: list[str], already: int) -> None:
    for _ in range(260):
        await asyncio.sleep(0.5)
        if len((await town.said(room))[already:]) >= len(asked):
            return


if __name__ == "__main__":
    main()
