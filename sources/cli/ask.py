"""`sources ask`: a question answered from what is indexed, with a citation for each claim."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

import click

from sources.asking.ask import Asked, Outcome, ask
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.render import hit_record, permalink
from sources.cli.search import Words
from sources.cli.style import PLAIN, Style, harmless, one_line

NOTHING: Final = "The sources hold nothing on this."


@click.command(cls=Words)
@common_options
@click.option("-n", "--limit", type=click.IntRange(1, 50), help="Passages to answer from; default: ask.passages.")
@click.option("--sources-only", "is_sources_only", is_flag=True, help="Show the passages; ask no model.")
@click.argument("words", nargs=-1, required=True)
@click.pass_obj
def command(invocation: Invocation, words: tuple[str, ...], limit: int | None, *, is_sources_only: bool) -> int:
    """Answer a question from what is indexed, with citations.

    A model writes the answer from the passages that a search finds, and from nothing else. Operators narrow that
    search, as in `sources search`. What the answer says without a citation, or with one that it was not given, is
    marked. Off until [ask] names a model.

    Exit code 1 says that the sources hold nothing on this, or that the answer cites none of them.
    """
    is_live = not invocation.as_json and sys.stdout.isatty()
    asked = asyncio.run(_ask(invocation, " ".join(words), limit, is_sources_only=is_sources_only, is_live=is_live))
    if invocation.as_json:
        put_json(record(asked))
    else:
        if is_live and asked.answer is not None:
            click.echo("" if asked.answer.text.endswith("\n") else "\n")
        text = drawn(asked, invocation.style, is_answer_shown=is_live)
        if text and not (invocation.is_quiet and asked.outcome is Outcome.NOTHING):
            click.echo(text)
        if asked.fault:
            click.echo(f"sources: ask: the answer is not whole: {one_line(asked.fault)} (ask again)", err=True)
    return exit_code(asked)


async def _ask(
    invocation: Invocation, question: str, limit: int | None, *, is_sources_only: bool, is_live: bool
) -> Asked:
    config = invocation.config
    if config.embed.kind == "http":
        invocation.start_logging()  # the only part that can have something to log
    return await ask(
        config,
        invocation.credentials,
        question,
        now_ms=time.time_ns() // 1_000_000,
        is_sources_only=is_sources_only,
        limit=limit,
        say=_say() if is_live else lambda piece: None,
    )


def _say() -> Callable[[str], None]:
    def say(piece: str) -> None:
        click.echo(harmless(piece), nl=False)
        sys.stdout.flush()

    return say


def exit_code(asked: Asked) -> Exit:
    match asked.outcome:
        case Outcome.SOURCES:
            return Exit.FINE
        case Outcome.NOTHING:
            return Exit.NOTHING
        case Outcome.BROKEN:
            return Exit.SOURCE_FAILED
        case Outcome.ANSWERED:
            return Exit.FINE if asked.answer is not None and asked.answer.is_supported else Exit.NOTHING


def drawn(asked: Asked, style: Style = PLAIN, *, is_answer_shown: bool = False) -> str:
    """The answer, unless it was shown as it arrived, then the passages that it cites, then what to know about it."""
    blocks = []
    if asked.outcome is Outcome.NOTHING:
        blocks.append(NOTHING)
    if asked.answer is not None and not is_answer_shown:
        blocks.append(harmless(asked.answer.text).strip())
    if listed := list(_passages(asked, style)):
        heading = "Passages:" if asked.answer is None else "Cited, from the index:"
        blocks.append("\n".join((style.paint(heading, "dim"), *listed)))
    if tail := list(_tail(asked, style)):
        blocks.append("\n".join(tail))
    return "\n\n".join(block for block in blocks if block)


def _passages(asked: Asked, style: Style) -> Iterator[str]:
    for passage in asked.passages:
        if asked.answer is not None and passage.number not in asked.answer.cited:
            continue
        yield f"{style.paint(f'[{passage.number}]', 'dim')} {style.paint(one_line(passage.place), 'bold')}"
        if link := permalink(passage.hit):
            yield f"    {style.paint(one_line(link), 'cyan')}"
        if asked.answer is None:
            yield from (f"    {line}" for line in harmless(passage.text).strip("\n").split("\n"))


def _tail(asked: Asked, style: Style) -> Iterator[str]:
    answer = asked.answer
    if answer is not None:
        if not answer.is_supported:
            yield style.paint("warning: nothing in this answer rests on your sources", "red")
        if answer.unsupported:
            numbers = ", ".join(str(number) for number in answer.unsupported)
            yield style.paint(f"warning: it cites what it was not given: {numbers}", "red")
        if answer.uncited and answer.is_supported:
            yield style.paint(f"warning: {answer.uncited} × without a source, marked above", "yellow")
        if answer.unknown_addresses:
            yield style.paint(f"warning: {answer.unknown_addresses} × an address that no passage holds", "yellow")
    for note in asked.notes:
        yield style.paint(f"note: {one_line(note)}", "yellow")


def record(asked: Asked) -> dict[str, object]:
    """A contract: fields are added, never changed. The MCP server gives the same."""
    answer = asked.answer
    return {
        "version": 1,
        "question": asked.question,
        "outcome": asked.outcome.value,
        "answer": None if answer is None else answer.text,
        "complete": asked.outcome is not Outcome.BROKEN,
        "supported": answer is not None and answer.is_supported,
        "cited": [] if answer is None else list(answer.cited),
        "unsupported": [] if answer is None else list(answer.unsupported),
        "uncited": 0 if answer is None else answer.uncited,
        "unknown_addresses": 0 if answer is None else answer.unknown_addresses,
        "model": asked.model,
        "fault": asked.fault or None,
        "notes": list(asked.notes),
        "passages": [
            {
                "number": passage.number,
                "cited": answer is not None and passage.number in answer.cited,
                "citation": passage.place,
                "text": passage.text,
                "cut": passage.is_cut,
                "hit": hit_record(passage.hit, passage.number),
            }
            for passage in asked.passages
        ],
    }
