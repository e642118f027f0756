"""How good is the search? Builds the index of an evaluation set as a host would, asks its questions, prints the scores.

    python -m bench.quality --eval EVAL --state DIR [docs headers czech chat] [--set NAME=VALUE ...]

Documents become git repositories and are refreshed from them; rooms are cut into windows by the code that cuts those of
a homeserver. The index stays in `--state`, so a second run embeds only what changed. Every question is asked three
times (words, vectors, both), and `score.py` of the sets prints MRR@10, nDCG@10, recall@10 and success@1 with their
intervals, then the paired difference of the hybrid to the better half.

`--without-question` takes the window with the message that a question of the chat set is, out of the rankings and not
only out of the hits, so that it cannot lift the windows beside it.

`--set` overrides a search setting for one run: `vector_weight=0.3`, `floor=0.8`, `candidates=50`.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from index.engines.base import Engine, View
from index.engines.sqlite.engine import SqliteEngine
from index.model import (
    Audience,
    Corpus,
    Cursor,
    EventId,
    Filters,
    Hit,
    Query,
    Ranked,
    RoomId,
    UserId,
    Vector,
)
from index.search import Mode, Searcher, SearchSettings
from index.store.store import open_store
from index.text.words import Keys
from ingest.chat.rendering import Utterance, source_id, window_document
from ingest.chat.windows import Bounds, windows
from ingest.refresh import Plan, Worker, refresh
from ingest.report import Outcome, SourceReport
from ingest.scrub import scrub
from ingest.writing import Writer
from sources.app import embedder_of, fingerprint, search_settings, workers
from sources.config.model import Config
from sources.config.settings import embed_settings
from sources.config.source_tables import Repo
from sources.credentials import Credentials

SETS: Final = ("headers", "docs", "czech", "chat")
HITS: Final = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--level", choices=("exact", "path"), default="exact")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--no-vectors", action="store_true")
    parser.add_argument("--without-question", action="store_true")
    options = parser.parse_args()
    for name in options.sets:
        sys.stdout.write(f"\n== {name}\n")
        sys.stdout.flush()
        asyncio.run(measure(name, options))


async def measure(name: str, options: argparse.Namespace) -> None:
    """Refresh the index of one set, ask its questions in each mode, score."""
    config, made = _configured(name, options)
    credentials = Credentials.found(None)
    questions = [json.loads(line) for line in (options.eval / name / "queries.jsonl").read_text().splitlines()]
    async with (
        open_store(config.index_file, is_writer=True) as store,
        embedder_of(embed_settings(config, credentials)) as embedder,
    ):
        keys = Keys(config.index.languages)
        report = await refresh(
            store,
            Plan(made, parallel=4),
            fingerprint=fingerprint(config, embedder.identity if embedder else None),
            document_keys=keys.document_keys,
            embedder=embedder,
        )
        for source in report.failed:
            sys.stdout.write(f"{source.source}: {source.fault}\n")
        rows = list(await store.connection.execute_fetchall("SELECT count(*), (SELECT count(*) FROM part) FROM chunk"))
        sys.stdout.write(f"{rows[0][0]} chunks, {rows[0][1]} parts, refreshed in {report.seconds:.0f} s\n")
        settings = _with(search_settings(config, embedder), options.settings)
        engine = Censored(SqliteEngine(store, keys))
        searcher = Searcher(engine, keys, embedder, settings, scrub=scrub)
        censored = engine if options.without_question else None
        results = {
            mode: await _ask(searcher, questions, mode, censored)
            for mode in Mode
            if embedder is not None or mode is Mode.LEXICAL
        }
    _score(name, options, results)


def _configured(name: str, options: argparse.Namespace) -> tuple[Config, list[Worker]]:
    state = options.state / name
    config = Config(state_dir=state)
    if options.no_vectors:
        config = replace(config, embed=replace(config.embed, kind="off"))
    if not (state / "models").exists():  # one model for all sets
        (options.state / "models").mkdir(parents=True, exist_ok=True)
        state.mkdir(parents=True, exist_ok=True)
        (state / "models").symlink_to((options.state / "models").absolute())
    if name == "chat":
        rooms = sorted((options.eval / name / "rooms").glob("*.jsonl"))
        return config, [RoomFile(path, Bounds()) for path in rooms]
    repos = tuple(_repository(folder, state / "repositories") for folder in _folders(options.eval / name / "corpus"))
    config = replace(config, repo=repos)
    return config, workers(config, Credentials.found(None))


def _folders(corpus: Path) -> list[Path]:
    return sorted(path for path in corpus.iterdir() if path.is_dir())


def _repository(folder: Path, parent: Path) -> Repo:
    """A git repository with the files of `folder`, made once."""
    target = parent / folder.name
    if not target.exists():
        shutil.copytree(folder, target, copy_function=shutil.copyfile)
        for path in [target, *target.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        git = ["git", "-C", str(target), "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
        for step in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "corpus"]):
            subprocess.run([*git, *step], check=True)
    return Repo(name=folder.name, url=str(target))


class RoomFile:
    """A room of the chat set as a source: its lines cut into windows as those of a homeserver are."""

    def __init__(self, path: Path, bounds: Bounds) -> None:
        self._path = path
        self._bounds = bounds
        self.room = RoomId(path.stem)
        self.source = source_id(self.room)

    def owns(self, source: str) -> bool:
        return source == self.source

    async def refresh(self, writer: Writer, *, is_full: bool) -> Sequence[SourceReport]:
        known = await writer.store.source(self.source)
        position = f"{self._path.stat().st_size} {self._bounds}"
        if known is not None and known.position == position and not is_full:
            return [SourceReport(self.source, Outcome.UNCHANGED)]
        async with writer.batch(self.source, label=self.room, is_public=True) as batch:
            kept = set()
            for window in windows(self._utterances(), room=self.room, bounds=self._bounds):
                document = window_document(
                    self.room, self.room, window.id, window.messages, max_bytes=self._bounds.max_bytes
                )
                if document is not None:
                    await batch.put(document)
                    kept.add(document.id)
            await batch.remove([old for old in await batch.document_ids(self.source) if old not in kept])
            await batch.save_cursor(Cursor(self.source, position))
        return [SourceReport(self.source, Outcome.UPDATED, documents=batch.documents)]

    def _utterances(self) -> Iterator[Utterance]:
        for line in self._path.read_text().splitlines():
            row = json.loads(line)
            if row["body"].strip():
                yield Utterance(
                    EventId(row["event"]), UserId(f"@{row['sender']}:eval"), row["ts_ms"], scrub(row["body"])
                )


def _with(settings: SearchSettings, changes: Sequence[str]) -> SearchSettings:
    for change in changes:
        name, _, value = change.partition("=")
        if name == "vector_weight":
            settings = replace(settings, vector_weight=dict.fromkeys(Corpus, float(value)))
        else:
            settings = replace(settings, **{name: type(getattr(settings, name) or 0.0)(float(value))})
    return settings


class Censored:
    """An engine whose rankings leave out the windows that hold one of `events`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.events: frozenset[str] = frozenset()

    @asynccontextmanager
    async def view(self, audience: Audience, filters: Filters) -> AsyncIterator[View]:
        async with self._engine.view(audience, filters) as view:
            yield CensoredView(view, self.events)


class CensoredView:
    def __init__(self, view: View, events: frozenset[str]) -> None:
        self._view = view
        self._events = events
        self.candidates = view.candidates
        self.stored = view.stored
        self.notes = view.notes
        self.newest = view.newest

    async def lexical(self, query: Query, *, limit: int) -> list[Ranked]:
        return await self._without(await self._view.lexical(query, limit=limit))

    async def nearest(self, vector: Vector, query: Query, *, limit: int) -> list[Ranked]:
        return await self._without(await self._view.nearest(vector, query, limit=limit))

    async def _without(self, ranking: list[Ranked]) -> list[Ranked]:
        if not self._events:
            return ranking
        stored = await self._view.stored([ranked.chunk for ranked in ranking])
        held = {
            identity
            for identity, one in stored.items()
            if not self._events.isdisjoint(message.event for message in one.chunk.messages)
        }
        left = [ranked for ranked in ranking if ranked.chunk not in held]
        return [replace(ranked, rank=rank) for rank, ranked in enumerate(left, start=1)]


async def _ask(
    searcher: Searcher, questions: Sequence[dict[str, Any]], mode: Mode, censored: Censored | None
) -> list[dict[str, Any]]:
    results = []
    for question in questions:
        if censored is not None:
            own = (event for source in question.get("source", ()) for event in source.get("events", ()))
            censored.events = frozenset(own)
        # A question of the set is a text, not a line typed into a search: what looks like an operator is a word of it.
        answer = await searcher.search([_plain(question["query"])], limit=HITS, mode=mode)
        results.append({"id": question["id"], "hits": [_hit(hit) for hit in answer.hits]})
    return results


def _plain(text: str) -> str:
    words = text.replace('"', " ").split()
    cut = " ".join(word.lstrip("-") or "-" for word in words)
    while len(cut.encode()) > 1_000:
        cut = cut.rpartition(" ")[0] or cut[: len(cut) // 2]
    return cut


def _hit(hit: Hit) -> dict[str, Any]:
    if hit.corpus is Corpus.CHAT:
        return {"room": hit.room, "events": [message.event for message in hit.messages]}
    name = hit.source.partition(":")[2]
    return {
        "path": f"{name}/{hit.path}",
        "headings": list(hit.heading),
        "section": hit.section,
        "paragraph": hit.paragraph,
        "lines": list(hit.lines) if hit.lines else None,
    }


def _score(name: str, options: argparse.Namespace, results: dict[Mode, list[dict[str, Any]]]) -> None:
    files = {}
    for mode, rows in results.items():
        files[mode] = options.state / name / f"{mode}.jsonl"
        files[mode].write_text("".join(json.dumps(row) + "\n" for row in rows))
    scorer = [sys.executable, str(options.eval / "score.py"), str(options.eval / name / "queries.jsonl")]
    level = ["--level", options.level]
    for mode, path in files.items():
        sys.stdout.write(f"-- {mode}\n")
        sys.stdout.flush()
        subprocess.run([*scorer, str(path), *level], check=True)
    if Mode.HYBRID in files:
        better = max((Mode.LEXICAL, Mode.VECTOR), key=lambda mode: _mrr(scorer, files[mode], level))
        sys.stdout.write(f"-- hybrid against {better}\n")
        sys.stdout.flush()
        subprocess.run([*scorer, str(files[Mode.HYBRID]), "--against", str(files[better]), *level], check=True)


def _mrr(scorer: list[str], path: Path, level: list[str]) -> float:
    done = subprocess.run([*scorer, str(path), *level, "--json"], check=True, capture_output=True, text=True)
    figures = json.loads(done.stdout)
    overall = figures.get("all") or next(iter(figures.values()))
    return float(overall["MRR"]["mean"])


if __name__ == "__main__":
    main()
