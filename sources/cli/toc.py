"""`sources toc`: what the index holds, file by file."""

import asyncio
from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePosixPath

import click

from index.store.reading import Entry
from sources.cli.common import Invocation, common_options, utf8
from sources.cli.completing import source_names
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import PLAIN, Style, one_line, table
from sources.reading import Contents, toc


@click.command()
@common_options
@click.option(
    "--source", metavar="NAME", shell_complete=source_names, help="Only this one: docs, repo:docs or notes:docs."
)
@click.option("--tag", metavar="TAG", callback=utf8, help="Only files with this tag in their front matter.")
@click.pass_obj
def command(invocation: Invocation, source: str | None, tag: str | None) -> int:
    """List what is indexed: folder, file, title, tags.

    Exit code 1 says that there is nothing to list.
    """
    found = asyncio.run(toc(invocation.config, source=source, tag=tag))
    if invocation.as_json:
        put_json(record(found))
    elif found.entries:
        click.echo(drawn(found.entries, invocation.style))
    elif not invocation.is_quiet:
        click.echo("Nothing is indexed there.")
        for note in found.notes:
            click.echo(invocation.style.paint(f"note: {one_line(note)}", "yellow"), err=True)
    return Exit.FINE if found.entries else Exit.NOTHING


def drawn(entries: Sequence[Entry], style: Style = PLAIN) -> str:
    """A table for each folder, under its name."""
    blocks = []
    for (source, folder), files in groupby(entries, key=lambda entry: (entry.source, _folder(entry))):
        rows = [(PurePosixPath(one.path or "").name, str(one.kind), one.title, " ".join(tags(one))) for one in files]
        name = style.paint(one_line(f"{source} {folder}"), "bold")
        blocks.append(f"{name}\n{table(('file', 'kind', 'title', 'tags'), rows, style)}")
    return "\n\n".join(blocks)


def _folder(entry: Entry) -> str:
    return f"{PurePosixPath(entry.path or '').parent}/".replace("./", "", 1) or "/"


def tags(entry: Entry) -> tuple[str, ...]:
    found = entry.payload.get("tags", ())
    return (found,) if isinstance(found, str) else tuple(found)


def record(found: Contents) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "notes": list(found.notes),
        "entries": [
            {
                "source": one.source,
                "path": one.path,
                "kind": str(one.kind),
                "title": one.title,
                "tags": list(tags(one)),
                "chunks": one.chunks,
                "payload": {
                    key: value if isinstance(value, str) else list(value) for key, value in one.payload.items()
                },
            }
            for one in found.entries
        ],
    }
