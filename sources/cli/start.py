"""Where the installed program begins: with next to nothing imported, so that the rest is imported at its best."""

import gc
import sys


def main() -> None:
    """As `sources.cli.main.main`. Nothing of what is imported is garbage, and looking for some takes its time."""
    gc.disable()  # `Lazy.get_command` turns it on again when the command is there, and what is there is never looked at
    try:
        from sources.cli.main import main as begin

        begin()
    except KeyboardInterrupt:  # while that is imported, or while it tells how it ended
        from sources.cli.exits import Exit

        sys.stderr.write("sources: interrupted\n")
        sys.exit(Exit.INTERRUPTED)
