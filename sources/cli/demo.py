"""`sources demo`: index real input in a folder of its own, search it, and leave nothing behind."""

import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.demo.documents import configuration, steps


@click.command()
@common_options
@click.option("--keep", is_flag=True, help="Leave the folder in place to play with.")
@click.option("--quick", "is_quick", is_flag=True, help="Without the language model: vectors of word hashes.")
@click.pass_obj
def command(invocation: Invocation, *, keep: bool, is_quick: bool) -> int:
    """Show the program at work: index this project, search it, clean up."""
    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="sources-demo-"))
    config = folder / "sources.toml"
    ended = Exit.FINE
    try:
        config.write_text(configuration(folder / "state", is_quick=is_quick))
        click.echo(invocation.style.paint("The configuration of this demo:\n", "bold"))
        click.echo(config.read_text())
        for step in steps():
            click.echo(invocation.style.paint(f"\n# {step.shows}", "bold"))
            click.echo(invocation.style.paint(f"$ sources {shlex.join(step.arguments)}", "cyan"))
            sys.stdout.flush()
            code = _run(config, step.arguments)
            if code not in (Exit.FINE, Exit.NOTHING):
                ended = Exit.SOURCE_FAILED
                click.echo(f"sources: demo: this step ended with {code}", err=True)
    finally:
        if keep:
            click.echo(f"\nKept: sources --config {config} search …   (remove {folder} when done)")
        else:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)
    click.echo(f"\nDone in {time.monotonic() - start:.0f} s; " + ("" if keep else "nothing was left behind."))
    return ended


def _run(config: Path, arguments: tuple[str, ...]) -> int:
    """In a process of its own, as from a shell."""
    program = [sys.executable, "-c", "from sources.cli.main import main; main()", "--config", str(config)]
    return subprocess.run([*program, *arguments], check=False).returncode
