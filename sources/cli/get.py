"""`sources get`: a passage as it is now."""

import asyncio
import time
from collections.abc import Iterator

import click

from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import harmless, one_line
from sources.conversation import Conversation
from sources.reading import Passage, get, parse_reference


@click.command()
@common_options
@click.argument("reference", nargs=-1, required=True)
@click.pass_obj
def command(invocation: Invocation, reference: tuple[str, ...]) -> int:
    """Read a passage afresh from its source.

    REFERENCE is what a hit is cited with: `handbook ops/keys.md:12-30`, a path without lines for the whole file, a
    permalink of a message, or the `ref` of a hit's JSON. Secrets are replaced by markers.
    """
    passage = asyncio.run(get(invocation.config, invocation.credentials, parse_reference(" ".join(reference))))
    if invocation.as_json:
        put_json(talk_record(passage) if isinstance(passage, Conversation) else record(passage))
        return Exit.FINE
    for note in () if invocation.is_quiet else passage.notes:
        click.echo(invocation.style.paint(f"note: {one_line(note)}", "yellow"), err=True)
    click.echo("\n".join(_talk(passage)) if isinstance(passage, Conversation) else harmless(passage.text))
    return Exit.FINE


def _talk(talk: Conversation) -> Iterator[str]:
    for line in talk.lines:
        sent = time.strftime("%Y-%m-%d %H:%M", time.gmtime(line.sent_ms / 1000))
        words = "(withdrawn)" if line.text is None else harmless(line.text).replace("\n", "\n  ")
        yield f"{sent}  {one_line(line.sender)}: {words}"


def talk_record(talk: Conversation) -> dict[str, object]:
    """A contract: fields are added, never changed. A text of null was withdrawn or is not to be had."""
    return {
        "version": 1,
        "room": talk.room,
        "title": talk.title,
        "messages": [
            {"event": line.event, "sender": line.sender, "sent_ms": line.sent_ms, "text": line.text}
            for line in talk.lines
        ],
        "notes": list(talk.notes),
    }


def record(passage: Passage) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "source": passage.source,
        "path": passage.path,
        "lines": [passage.first_line, passage.last_line],
        "total_lines": passage.total_lines,
        "text": passage.text,
        "notes": list(passage.notes),
    }
