"""`sources verify`: whether the index agrees with itself and with its sources."""

import asyncio
from collections.abc import Iterator
from random import Random

import click

from index.store.soundness import Fault
from index.wording import counted
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import PLAIN, Style, one_line
from sources.verifying import Verification, verify


@click.command()
@common_options
@click.option("--repair", "is_repairing", is_flag=True, help="Mend what is derived; nothing that was said is invented.")
@click.option("--deep", "is_deep", is_flag=True, help="Make a sample again from files and from the homeserver.")
@click.pass_obj
def command(invocation: Invocation, *, is_repairing: bool, is_deep: bool) -> int:
    """Hold the index against itself and its sources, and repair it.

    Compares texts, full-text indexes, vectors, counts, rooms, messages, windows and orders to forget with each other;
    --deep also makes some documents of each source again. Waits for nobody: it needs the index to stand still.

    Exit code 1 says that something is wrong, 6 that a refresh is running.
    """
    found = asyncio.run(
        verify(invocation.config, invocation.credentials, is_repairing=is_repairing, is_deep=is_deep, draw=Random())
    )
    if invocation.as_json:
        put_json(record(found))
    else:
        for line in drawn(found, invocation.style, is_quiet=invocation.is_quiet):
            click.echo(line)
    return Exit.NOTHING if found.faults else Exit.FINE


def drawn(found: Verification, style: Style = PLAIN, *, is_quiet: bool = False) -> Iterator[str]:
    for fault in found.faults:
        yield style.paint(f"{fault.count:,} {one_line(fault.what)}  → {one_line(fault.remedy)}", "red")
    if is_quiet:
        return
    for fault in found.mended:
        yield style.paint(f"mended: {fault.count:,} {one_line(fault.what)}", "green")
        if "refresh" in fault.remedy:
            yield "        now run sources refresh"
    if found.remade is not None:
        for note in found.remade.notes:
            yield style.paint(f"note: {one_line(note)}", "yellow")
        yield style.paint(f"{counted(found.remade.documents, 'document was', 'documents were')} made again", "dim")
    if not found.faults:
        yield "Everything agrees." if not found.mended else "Everything agrees now."


def record(found: Verification) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "ok": not found.faults,
        "findings": [_fault(fault) for fault in found.faults],
        "mended": [_fault(fault) for fault in found.mended],
        "remade": None
        if found.remade is None
        else {"documents": found.remade.documents, "notes": list(found.remade.notes)},
    }


def _fault(fault: Fault) -> dict[str, object]:
    return {
        "check": fault.check,
        "what": fault.what,
        "count": fault.count,
        "remedy": fault.remedy,
        "derived": fault.is_derived,
    }
