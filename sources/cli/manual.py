"""The commands as pages, made from their help: docs/commands.md and the man page. Tests hold both to the code.

python -m sources.cli.manual markdown > docs/commands.md
python -m sources.cli.manual man > man/sources.1
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from msgspec import Struct

from sources.cli.exits import Exit
from sources.cli.main import COMMANDS, group

EXITS: Final = {
    Exit.FINE: "Fine.",
    Exit.NOTHING: "No hits, or findings.",
    Exit.USAGE: "The command line or the configuration is wrong; the message says where and what to write.",
    Exit.SOURCE_FAILED: "Some source failed and the others are done; or index, endpoint or homeserver cannot be used.",
    Exit.CREDENTIAL: "A credential was refused. Waiting does not mend it.",
    Exit.REINDEX: "The index was built with something else: run `sources refresh --full`, or set it back.",
    Exit.BUSY: "Another refresh is running, or another bot on the same state directory.",
    Exit.BUG: "What nobody foresaw; the lines above say where.",
    Exit.INTERRUPTED: "Interrupted.",
    Exit.PIPE_CLOSED: "Whoever read the output has gone.",
}
ENVIRONMENT: Final = {
    "SOURCES_CONFIG": "The configuration, where `--config` does not name one.",
    "CREDENTIALS_DIRECTORY": "The folder of credential files, as systemd sets it.",
    "NO_COLOR": "No colours.",
}
FILES: Final = {
    "./sources.toml, /etc/sources/sources.toml": "The configuration: the first that is there.",
    "state_dir/index.sqlite": "The index. It can be built again, but for chat that the homeserver has dropped since.",
    "state_dir/purges": "Orders to forget. Not derived: to be kept when the index goes.",
    "state_dir/bot.sqlite": "What the bot answered, so that it can take answers back.",
}
_COMMON: Final = frozenset({"config_file", "credentials_dir", "as_json", "is_quiet", "verbosity"})


class Option(Struct, frozen=True):
    """`names` as they are typed, with what they take."""

    names: str
    help: str


class Page(Struct, frozen=True):
    """One command. `blocks` are its paragraphs in order; a block of lines that must stay as they are is a tuple."""

    name: str
    usage: str
    blocks: tuple[str | tuple[str, ...], ...]
    options: tuple[Option, ...]


def pages() -> Iterator[Page]:
    """In the order of `sources --help`."""
    with group.make_context("sources", ["--help"], resilient_parsing=True) as above:
        for name in COMMANDS:
            command = group.get_command(above, name)
            if command is None:
                raise AssertionError(f"{name} is in the table and cannot be loaded")
            with click.Context(command, parent=above, info_name=name) as context:
                yield _page(name, command, context)


def common_options() -> tuple[Option, ...]:
    """Of the program; all but the last are options of every command too."""
    with group.make_context("sources", ["--help"], resilient_parsing=True) as context:
        return tuple(_options(group, context))


def _page(name: str, command: click.Command, context: click.Context) -> Page:
    usage = " ".join(["sources", name, *command.collect_usage_pieces(context)])
    options = tuple(_options(command, context, without=_COMMON))
    return Page(name, usage, tuple(_blocks(inspect.cleandoc(command.help or ""))), options)


def _options(
    command: click.Command, context: click.Context, *, without: frozenset[str] = frozenset()
) -> Iterator[Option]:
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and parameter.name not in without:
            shown = parameter.get_help_record(context)
            if shown is not None and "--help" not in parameter.opts:
                names, text = (" ".join(part.split()) for part in shown)
                yield Option(names.replace("INTEGER RANGE", "NUMBER"), text)


def _blocks(text: str) -> Iterator[str | tuple[str, ...]]:
    """As click reads it: a paragraph behind a line with the one character \\b keeps its lines."""
    for paragraph in text.split("\n\n"):
        lines = paragraph.splitlines()
        if lines and lines[0].strip() == "\b":
            yield tuple(lines[1:])
        elif lines:
            yield " ".join(line.strip() for line in lines)


def version() -> str:
    """Of the project file: the installed version may be older than the tree."""
    import tomllib

    return str(tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["version"])


if __name__ == "__main__":
    from sources.cli import manual_man, manual_markdown

    sys.stdout.write({"markdown": manual_markdown.page, "man": manual_man.page}[sys.argv[1]]())
