"""What all commands share: the options before and after the command's name, and what they resolve to."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click
from msgspec import Struct

from sources.cli.style import Style
from sources.config.load import find, load
from sources.config.model import Config
from sources.credentials import Credentials

Function = TypeVar("Function", bound=Callable[..., Any])


class Invocation(Struct):
    """One run of the program: its common options, and what they lead to, read when first asked for."""

    config_file: Path | None = None
    credentials_dir: Path | None = None
    as_json: bool = False
    is_quiet: bool = False
    verbosity: int = 0
    _config: Config | None = None

    @property
    def config(self) -> Config:
        if self._config is None:
            self._config = load(find(self.config_file))
        return self._config

    @property
    def credentials(self) -> Credentials:
        return Credentials.found(self.credentials_dir)

    @property
    def style(self) -> Style:
        return style_of(sys.stdout, os.environ)

    @property
    def log_level(self) -> str:
        """That of the configuration, lowered by `-v`, raised to errors by `--quiet`."""
        if self.is_quiet:
            return "error"
        return "debug" if self.verbosity > 1 else "info" if self.verbosity else self.config.log.level

    def start_logging(self) -> None:
        """Called by commands that may log. Not by all: loading structlog costs more than a search."""
        from sources import logs

        logs.configure(self.log_level, self.config.log.format)


def utf8(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Callback of options that the index or a file is asked with, which hold nothing but UTF-8."""
    try:
        (value or "").encode()
    except UnicodeEncodeError:
        raise click.BadParameter("is not UTF-8") from None
    return value


def style_of(stream: TextIO, environment: Mapping[str, str]) -> Style:
    """Colours only on a terminal that can show them, and not where NO_COLOR says otherwise (no-color.org)."""
    if not stream.isatty():
        return Style()
    import shutil  # brings all compressors with it

    has_colour = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Style(has_colour=has_colour, width=shutil.get_terminal_size().columns)


def _store(context: click.Context, parameter: click.Parameter, value: object) -> None:
    invocation = context.ensure_object(Invocation)
    # Given after the command's name it overrides; absent there it must not undo what stood before the name.
    if value not in (None, False, 0):
        setattr(invocation, str(parameter.name), value)


_OPTIONS = (
    click.option(
        "--config",
        "config_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Configuration; default: $SOURCES_CONFIG, ./sources.toml, /etc/sources/sources.toml.",
        expose_value=False,
        callback=_store,
    ),
    click.option(
        "--credentials-dir",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder of the credential files; default: $CREDENTIALS_DIRECTORY.",
        expose_value=False,
        callback=_store,
    ),
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Answer as JSON on standard output.",
        expose_value=False,
        callback=_store,
    ),
    click.option("-q", "--quiet", "is_quiet", is_flag=True, help="Errors only.", expose_value=False, callback=_store),
    click.option(
        "-v",
        "--verbose",
        "verbosity",
        count=True,
        help="Log more; twice: everything.",
        expose_value=False,
        callback=_store,
    ),
)


def common_options(function: Function) -> Function:
    """The options of `Invocation`; the command gets it with `click.pass_obj`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
