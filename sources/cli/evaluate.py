"""`sources evaluate`: how well the configured index answers questions whose answers are known."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from msgspec import Struct

from index.errors import QueryError
from index.evaluate import HITS, K, Level, Question, Score, as_text, means, place_of, question_of, result_line, score
from index.model import Hit
from index.search import Mode, Searcher
from sources.app import open_searcher
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import PLAIN, Style, one_line, table

_MODES = (Mode.LEXICAL, Mode.VECTOR, Mode.HYBRID)
_MEASURES = (("MRR", "mrr"), ("nDCG", "ndcg"), ("recall", "recall"))


class Measured(Struct, frozen=True):
    """The rankings of each question by mode; without vectors there is the lexical one alone."""

    questions: tuple[Question, ...]
    level: Level
    rankings: Mapping[Mode, tuple[tuple[Hit, ...], ...]]
    notes: tuple[str, ...]

    def by_kind(self, mode: Mode) -> dict[str, tuple[int, Score]]:
        rankings = ([place_of(hit) for hit in hits] for hits in self.rankings[mode])
        scores = [score(one, ranking, level=self.level) for one, ranking in zip(self.questions, rankings, strict=True)]
        return means(self.questions, scores)


@click.command()
@common_options
@click.option(
    "--level",
    type=click.Choice([level.value for level in Level]),
    default=Level.EXACT.value,
    show_default=True,
    help="Whether the place counts, or the file alone.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    metavar="RESULTS",
    help="Write the hits as JSON lines: the best mode to this file, each mode to one beside it.",
)
@click.argument("queries", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def command(invocation: Invocation, queries: Path, level: str, save: Path | None) -> int:
    """Measure the search on questions whose answers are known.

    QUERIES has one JSON object a line: `id`, `query`, `kind`, and in `relevant` what answers it. Each question is asked
    by words, by vectors and by both; MRR, nDCG and recall at 10 are shown for each kind of question. Paths begin with
    the name of their source.
    """
    questions = read(queries)
    measured = asyncio.run(_measure(invocation, questions, Level(level)))
    if save is not None:
        write(measured, save)
    if invocation.as_json:
        put_json(record(measured))
    else:
        click.echo(drawn(measured, invocation.style))
    return Exit.FINE


def read(path: Path) -> tuple[Question, ...]:
    """Every question of a file. Raises `QueryError` that names file, line and field."""
    try:
        lines = path.read_bytes().decode().split("\n")
    except OSError as error:
        raise QueryError(f"{path}: cannot be read: {error.strerror} (check the path)") from error
    except UnicodeDecodeError as error:
        raise QueryError(f"{path}: is not UTF-8 (save it as UTF-8)") from error
    questions: dict[str, Question] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{path}: line {number}"
        try:
            raw = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QueryError(f"{place}: is no JSON (write one object a line)") from error
        question = question_of(raw, place)
        if question.id in questions:
            raise QueryError(f"{place}: id: stands in an earlier line too (give each question its own)")
        questions[question.id] = question
    if not questions:
        raise QueryError(f"{path}: holds no question (write one JSON object a line)")
    return tuple(questions.values())


async def _measure(invocation: Invocation, questions: tuple[Question, ...], level: Level) -> Measured:
    if invocation.config.embed.kind == "http":
        invocation.start_logging()
    async with open_searcher(invocation.config, invocation.credentials) as searcher:
        return await measure(searcher, questions, level)


async def measure(searcher: Searcher, questions: tuple[Question, ...], level: Level = Level.EXACT) -> Measured:
    """Ask every question in each mode that this index has."""
    notes: dict[str, None] = {}
    rankings: dict[Mode, tuple[tuple[Hit, ...], ...]] = {}
    for mode in _MODES if searcher.has_vectors else (Mode.LEXICAL,):
        found = []
        for question in questions:
            answer = await searcher.search([as_text(question.text)], limit=HITS, mode=mode)
            notes.update(dict.fromkeys(answer.notes))
            found.append(answer.hits)
        rankings[mode] = tuple(found)
    if not searcher.has_vectors:
        notes["there are no vectors to measure: by words alone"] = None
    return Measured(questions, level, rankings, tuple(notes))


def write(measured: Measured, path: Path) -> None:
    """`results.jsonl` gets the fused ranking, or the only one; `results-lexical.jsonl` and its like get their own."""
    best = Mode.HYBRID if Mode.HYBRID in measured.rankings else Mode.LEXICAL
    for mode, rankings in measured.rankings.items():
        lines = [
            json.dumps(result_line(question, hits), ensure_ascii=False) + "\n"
            for question, hits in zip(measured.questions, rankings, strict=True)
        ]
        named = path.with_name(f"{path.stem}-{mode}{path.suffix}")
        for target in (named, path) if mode is best else (named,):
            try:
                target.write_bytes("".join(lines).encode("utf-8", "replace"))
            except OSError as error:
                raise QueryError(f"{target}: cannot be written: {error.strerror} (name another --save)") from error


def drawn(measured: Measured, style: Style = PLAIN) -> str:
    """Kinds down, measures across, the modes side by side under each measure."""
    figures = {mode: measured.by_kind(mode) for mode in measured.rankings}
    headers = ["kind", "n", *(f"{name} {mode}" for name, _ in _MEASURES for mode in figures)]
    kinds = figures[Mode.LEXICAL]
    rows = [[kind, str(count), *_cells(figures, kind)] for kind, (count, _) in kinds.items()]
    lines = [f"level {measured.level}, k {K}", table(headers, rows, style)]
    lines += [style.paint(f"note: {one_line(note)}", "yellow") for note in measured.notes]
    return "\n".join(lines)


def _cells(figures: Mapping[Mode, Mapping[str, tuple[int, Score]]], kind: str) -> Iterator[str]:
    for _, field in _MEASURES:
        for by_kind in figures.values():
            yield f"{getattr(by_kind[kind][1], field):.3f}"


def record(measured: Measured) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "level": measured.level.value,
        "k": K,
        "questions": len(measured.questions),
        "notes": list(measured.notes),
        "modes": {mode.value: _figures(measured.by_kind(mode)) for mode in measured.rankings},
    }


def _figures(by_kind: Mapping[str, tuple[int, Score]]) -> dict[str, dict[str, float]]:
    return {
        kind: {"n": count, "mrr": round(mean.mrr, 6), "ndcg": round(mean.ndcg, 6), "recall": round(mean.recall, 6)}
        for kind, (count, mean) in by_kind.items()
    }
