"""`sources get`: a passage as it is now."""

import asyncio

import click

from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import harmless, one_line
from sources.reading import Passage, get, parse_reference


@click.command()
@common_options
@click.argument("reference", nargs=-1, required=True)
@click.pass_obj
def command(invocation: Invocation, reference: tuple[str, ...]) -> int:
    """Read a passage afresh from its source.

    REFERENCE is what a hit is cited with: `handbook ops/keys.md:12-30`, a path without lines for the whole file, or the
    `ref` of a hit's JSON. Secrets are replaced by markers.
    """
    passage = asyncio.run(get(invocation.config, invocation.credentials, parse_reference(" ".join(reference))))
    if invocation.as_json:
        put_json(record(passage))
        return Exit.FINE
    for note in () if invocation.is_quiet else passage.notes:
        click.echo(invocation.style.paint(f"note: {one_line(note)}", "yellow"), err=True)
    click.echo(harmless(passage.text))
    return Exit.FINE


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
