"""How large should a window of chat be? Cuts the chat test set with several bounds and scores plain lexical search.

    python -m bench.chat_windows --eval EVAL [--bytes 600 1000 1500] [--gap-minutes 60] [--phases 3]

Words and stems go into an FTS5 table of their own: the answer is about windows, not about the ranking of the program.
One size cuts a room at places of pure chance, so each is measured several times, with a first window of another
length (a phase), and the mean is shown. `far` asks for the part of the conversation at least 2,500 bytes away alone:
there the size of a window cannot gain by letting go of the message that was taken as the question.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pysqlite3 import dbapi2 as sqlite

from bench.test_sets import load_module
from index.model import EventId, RoomId, UserId
from index.text.stemmers import stemmer
from ingest.chat.rendering import Utterance, render
from ingest.chat.windows import Bounds, Window, windows

_WORD: Final = re.compile(r"\w+")
_STEM_WEIGHT: Final = 1.5
_english = stemmer("english")

Row = dict[str, Any]


def main() -> None:
    options = _options()
    chat = options.eval / "chat"
    score = load_module(options.eval / "score.py")
    rooms = {path.stem: _lines(path) for path in sorted((chat / "rooms").glob("*.jsonl"))}
    questions = _lines(chat / "queries.jsonl")
    sys.stdout.write("bytes gap_min windows   MRR@10  recall  S@1    far: MRR@10  recall\n")
    for max_bytes in options.bytes:
        bounds = Bounds(gap_ms=options.gap_minutes * 60_000, max_bytes=max_bytes)
        runs = [_measure(rooms, questions, bounds, phase / options.phases, score) for phase in range(options.phases)]
        count, mrr, recall, first, far_mrr, far_recall = (sum(column) / len(runs) for column in zip(*runs, strict=True))
        sys.stdout.write(
            f"{max_bytes:5} {options.gap_minutes:7} {count:7.0f}   {mrr:.3f}   {recall:.3f}   {first:.3f}"
            f"       {far_mrr:.3f}   {far_recall:.3f}\n"
        )
        sys.stdout.flush()


def _measure(
    rooms: dict[str, list[Row]], questions: list[Row], bounds: Bounds, phase: float, score: ModuleType
) -> tuple[float, ...]:
    cut = [(room, window) for room, lines in rooms.items() for window in _cut(room, lines, bounds, phase)]
    table = sqlite.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE page USING fts5(words, stems, tokenize = 'unicode61 remove_diacritics 2')")
    texts = (render(window.messages).text for _, window in cut)
    rows = ((number, text, _stems(text)) for number, text in enumerate(texts))
    table.executemany("INSERT INTO page(rowid, words, stems) VALUES (?, ?, ?)", rows)
    results = []
    for question in questions:
        found = table.execute(
            f"SELECT rowid FROM page WHERE page MATCH ? ORDER BY bm25(page, 1.0, {_STEM_WEIGHT}) LIMIT 30",
            (_match(question["query"]),),
        )
        hits = [{"room": cut[n][0], "events": [m.event for m in cut[n][1].messages]} for (n,) in found]
        results.append({"id": question["id"], "hits": hits})
    table.close()
    near = _scores(questions, results, score)
    far = _scores([_far(question) for question in questions], results, score)
    return float(len(cut)), near[0], near[2], near[3], far[0], far[2]


def _cut(room: str, lines: list[Row], bounds: Bounds, phase: float) -> Iterator[Window]:
    spoken = [
        Utterance(EventId(line["event"]), UserId(f"@{line['sender']}:eval"), line["ts_ms"], line["body"])
        for line in lines
        if line["body"]
    ]
    head = 0
    if phase:  # a first window of a part of the usual length moves all later borders
        short = Bounds(gap_ms=bounds.gap_ms, max_bytes=max(1, int(bounds.max_bytes * phase)))
        first = windows(spoken[:500], room=RoomId(room), bounds=short)[0]
        head = len(first.messages)
        yield first
    yield from windows(spoken[head:], room=RoomId(room), bounds=bounds)


def _scores(questions: list[Row], results: list[Row], score: ModuleType) -> list[float]:
    found = {result["id"]: result["hits"] for result in results}
    rows = [score.one(question, found[question["id"]], "exact", 10, False) for question in questions]  # noqa: FBT003
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def _far(question: Row) -> Row:
    return question | {"relevant": [target | {"events": target["far"]} for target in question["relevant"]]}


def _match(query: str) -> str:
    words = dict.fromkeys(_WORD.findall(query.casefold()))
    plain = " OR ".join(f'"{word}"' for word in words)
    stems = " OR ".join(f'"{_stem(word)}"' for word in words)
    return f"{{words}} : ({plain}) OR {{stems}} : ({stems})"


def _stems(text: str) -> str:
    return " ".join(map(_stem, _WORD.findall(text.casefold())))


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    return _english(word)


def _lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--eval", type=Path, required=True, help="the folder with score.py and chat/")
    parser.add_argument("--bytes", type=int, nargs="+", default=[600, 1_000, 1_500, 2_000, 2_500])
    parser.add_argument("--gap-minutes", type=int, default=60)
    parser.add_argument("--phases", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
