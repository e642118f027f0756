"""`sources migrate`: the index copied into a cluster, or back into a file, and compared."""

import asyncio
import sys
from random import Random

import click

from index.wording import counted
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.migrating import Migration, Progress, to_qdrant, to_sqlite


@click.command()
@common_options
@click.option("--to", "target", type=click.Choice(["qdrant", "sqlite"]), required=True, help="Where to copy it.")
@click.pass_obj
def command(invocation: Invocation, target: str) -> int:
    """Copy the index from its file into the cluster of [index.qdrant], or from there into a new file.

    Nothing is embedded again, and a run that was stopped goes on. Afterwards both sides are compared, every chunk by
    its digest and a sample in every field. Set `engine` in [index] when it is done.
    """
    move = {"qdrant": to_qdrant, "sqlite": to_sqlite}[target]
    done = asyncio.run(move(invocation.config, invocation.credentials, Random(), _progress(invocation)))
    if invocation.as_json:
        put_json(record(done))
    elif not invocation.is_quiet or not done.is_equal:
        click.echo(told(done))
    return Exit.FINE if done.is_equal else Exit.NOTHING


def _progress(invocation: Invocation) -> Progress:
    if not sys.stderr.isatty() or invocation.is_quiet or invocation.as_json:
        return lambda done, total: None

    def show(done: int, total: int) -> None:
        click.echo(f"\r{done:,} of {total:,}", err=True, nl=done >= total)

    return show


def told(done: Migration) -> str:
    lines = [f"{done.moved:,} moved; {counted(done.chunks, 'chunk')} in the file, {done.points:,} in the cluster"]
    if done.is_equal:
        lines.append(f"All digests agree, and {done.sampled:,} drawn at random do in every field and vector.")
    else:
        lines.append(
            f"They differ: {done.missing:,} missing in the cluster, {done.extra:,} too many, {done.unlike:,} unlike"
            " (to qdrant: run it again; to sqlite: `sources refresh` reads all sources and mends both)"
        )
    return "\n".join(lines)


def record(done: Migration) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "equal": done.is_equal,
        "moved": done.moved,
        "chunks": done.chunks,
        "points": done.points,
        "sampled": done.sampled,
        "missing": done.missing,
        "extra": done.extra,
        "unlike": done.unlike,
    }
