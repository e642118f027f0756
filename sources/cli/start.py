"""Where the installed program begins: with next to nothing imported, so that the rest is imported at its best."""

import gc


def main() -> None:
    """As `sources.cli.main.main`. Nothing of what is imported is garbage, and looking for some takes its time."""
    gc.disable()  # `Lazy.get_command` turns it on again when the command is there, and what is there is never looked at
    from sources.cli.main import main as begin

    begin()
