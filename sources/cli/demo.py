"""`sources demo`: a community, an index and a bot in a folder of their own; nothing is left behind."""

import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from sources.cli.common import Invocation, common_options
from sources.cli.endings import endings, interrupt


@click.command()
@common_options
@click.option("--keep", is_flag=True, help="Leave it all up to play with, until Ctrl-C.")
@click.option("--quick", "is_quick", is_flag=True, help="Without the language model: vectors of word hashes.")
@click.pass_obj
def command(_invocation: Invocation, *, keep: bool, is_quick: bool) -> int:
    """Show the program at work: a homeserver, rooms, a refresh, the bot, and proofs.

    A throw-away Synapse on loopback, people who talk, this project and notes as sources, `!search` asked in rooms; then
    what is not found, and why. Exit code 0 says that every proof held, 3 that one did not or could not be made. It
    takes no configuration and touches none; all of it happens in a temporary folder, which is removed.
    """
    from sources.demo.acts import Demo
    from sources.demo.place import Place
    from sources.demo.show import Show

    start_s = time.monotonic()
    show = Show()
    with _folder() as folder:
        ended = Demo(Place(folder), show, is_quick=is_quick, keeps=keep).perform()
    left = f"{folder} could not be removed whole" if folder.exists() else "no process and no file was left behind"
    show.say(f"\nDone in {time.monotonic() - start_s:.0f} s; {left}.", "bold")
    return ended


@contextmanager
def _folder() -> Iterator[Path]:
    """Gone afterwards, also when this process is told to end; while it goes, nothing interrupts that."""
    with endings(interrupt):
        folder = Path(tempfile.mkdtemp(prefix="sources-demo-"))
        try:
            yield folder
        finally:
            with endings(signal.SIG_IGN):
                shutil.rmtree(folder, ignore_errors=True)
