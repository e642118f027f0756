"""`sources roster`: bring the reader account into the rooms of a list, and out of all others."""

from pathlib import Path

import click

from index.wording import counted
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import one_line
from sources.roster import Move, Roster, read_list, run


@click.command()
@common_options
@click.argument("list_file", metavar="LIST", type=click.Path(path_type=Path))
@click.option("--apply", "applies", is_flag=True, help="Do it; without this it is only shown.")
@click.option("--keep-others", "keeps_others", is_flag=True, help="Leave no room that is not on the list.")
@click.pass_obj
def command(invocation: Invocation, list_file: Path, *, applies: bool, keeps_others: bool) -> int:
    """Bring the reader account into the rooms of a list, and out of others.

    Shows what it would join and leave to match LIST; `--apply` does it. LIST holds ids or aliases, one a line; lines
    that begin with // are for people. No other command joins or leaves. Exit code 1 says that something is still to be
    done, or could not be.
    """
    names = read_list(list_file)
    roster = run(invocation.config, invocation.credentials, names, applies=applies, keeps_others=keeps_others)
    if invocation.as_json:
        put_json(record(roster))
    else:
        for move in roster.moves:
            click.echo(line(move, applies=applies))
        if not invocation.is_quiet:
            click.echo(f"already in {roster.in_place} of {counted(len(names), 'room')}")
    return Exit.FINE if roster.is_settled else Exit.NOTHING


def line(move: Move, *, applies: bool) -> str:
    name = one_line(move.name)
    if move.fault is not None:
        return f"cannot {move.what} {name}: {one_line(move.fault)}"
    if applies:
        return f"{'joined' if move.what == 'join' else 'left'} {name}"
    return f"would {move.what} {name}"


def record(roster: Roster) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "settled": roster.is_settled,
        "in_place": roster.in_place,
        "moves": [
            {"what": move.what, "name": move.name, "room": move.room, "done": move.is_done, "fault": move.fault}
            for move in roster.moves
        ],
    }
