"""`sources grep`: exact lines, code included, as the sources are now."""

import asyncio

import click

from sources.cli.common import Invocation, common_options
from sources.cli.completing import source_names
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import PLAIN, Style, one_line
from sources.grepping import Found, grep


@click.command()
@common_options
@click.option(
    "--source", metavar="NAME", shell_complete=source_names, help="Only this one: docs, repo:docs or notes:docs."
)
@click.option(
    "-E",
    "--regex",
    "is_regex",
    is_flag=True,
    help="PATTERN is an extended regular expression; for notes, one of RE2's, which knows no back references.",
)
@click.option("-i", "--ignore-case", is_flag=True, help="Case does not matter.")
@click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="Lines to show.")
@click.argument("pattern")
@click.pass_obj
def command(
    invocation: Invocation, source: str | None, pattern: str, limit: int, *, is_regex: bool, ignore_case: bool
) -> int:
    """Find exact text in tracked files and notes, code included.

    Unlike `search` it looks at the files themselves, so it is never stale. Begin a PATTERN with a dash after `--`. Exit
    code 1 says that nothing was found, 3 that some source could not be looked through.
    """
    found = asyncio.run(
        grep(
            invocation.config,
            invocation.credentials,
            pattern,
            source=source,
            is_regex=is_regex,
            ignore_case=ignore_case,
            limit=limit,
        )
    )
    if invocation.as_json:
        put_json(record(found))
    else:
        if found.lines or found.binaries:
            click.echo(drawn(found, invocation.style))
        for note in () if invocation.is_quiet else found.notes:
            click.echo(invocation.style.paint(f"note: {one_line(note)}", "yellow"), err=True)
        for fault in found.faults:
            click.echo(f"sources: {one_line(fault)}", err=True)
    if found.faults:
        return Exit.SOURCE_FAILED
    return Exit.FINE if found.lines or found.binaries else Exit.NOTHING


def drawn(found: Found, style: Style = PLAIN) -> str:
    """One line for each, as `sources get` takes it: `handbook ops/keys.md:12: text`."""
    lines = [
        f"{style.paint(one_line(f'{line.source} {line.path}:{line.line_no}:'), 'cyan')} {one_line(line.text)}"
        for line in found.lines
    ]
    lines += [f"{one_line(path)}: matches, and is not text" for path in found.binaries]
    if found.is_cut:
        lines.append(style.paint("there is more; -n shows more of it", "yellow"))
    return "\n".join(lines)


def record(found: Found) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "cut": found.is_cut,
        "notes": list(found.notes),
        "faults": list(found.faults),
        "binaries": list(found.binaries),
        "lines": [
            {"source": line.source, "path": line.path, "line": line.line_no, "text": line.text} for line in found.lines
        ],
    }
