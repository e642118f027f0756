"""The program's way in: a table of commands, each loaded only when it is called, and the end of every run."""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from index.errors import SourcesError
from sources.cli.common import common_options
from sources.cli.exits import DISK_TROUBLES, Exit, exit_of
from sources.cli.style import harmless, one_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """Where a command is, as the `command` of a module, and the line about it in the list of commands."""

    module: str
    help: str


COMMANDS: Final = {
    "search": Entry("sources.cli.search", "Find what was said and written."),
    "refresh": Entry("sources.cli.refresh", "Bring the index up to date with all sources."),
    "grep": Entry("sources.cli.grep", "Find exact text in tracked files and notes, code included."),
    "toc": Entry("sources.cli.toc", "List what is indexed: folder, file, title, tags."),
    "get": Entry("sources.cli.get", "Read a passage afresh from its source."),
    "ask": Entry("sources.cli.ask", "Answer a question from what is indexed, with citations."),
    "bot": Entry("sources.cli.bot", "Answer !search in the rooms that [bot] lists."),
    "rooms": Entry("sources.cli.rooms", "Show every joined room: read or refused, why, and how far."),
    "roster": Entry("sources.cli.roster", "Bring the reader account into the rooms of a list, and out of others."),
    "chat-purge": Entry("sources.cli.chat_purge", "Forget messages for good, by the host's order."),
    "verify": Entry("sources.cli.verify", "Hold the index against itself and its sources, and repair it."),
    "migrate": Entry(
        "sources.cli.migrate",
        "Copy the index from its file into the cluster of [index.qdrant], or from there into a new file.",
    ),
    "status": Entry(
        "sources.cli.status", "Show what is wrong and what to do about it, what is in the index, and how old it is."
    ),
    "mcp": Entry("sources.cli.mcp", "Serve search, get, toc, grep, ask and status to an assistant, over MCP."),
    "audit": Entry("sources.cli.audit", "Show what is old, missing or out of step."),
    "check": Entry("sources.cli.check", "Read the configuration and try everything it names."),
    "demo": Entry("sources.cli.demo", "Show the program at work: a homeserver, rooms, a refresh, the bot, and proofs."),
    "evaluate": Entry("sources.cli.evaluate", "Measure the search on questions whose answers are known."),
    "measure": Entry("sources.cli.measure", "Measure what the configured engine costs at several sizes."),
    "completion": Entry(
        "sources.cli.completion", "Print a script that completes commands, options and names of sources."
    ),
    "scrub": Entry(
        "sources.cli.scrub",
        "Replace credentials in text on standard input by markers such as ‹redacted:github-token›.",
    ),
}


class Lazy(click.Group):
    """A group that imports a command when it runs, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = import_module(entry.module).command
        if not gc.isenabled():  # `start` turned it off while all this is imported, which stays
            gc.freeze()
            gc.enable()
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        named = [CompletionItem(name, help=e.help) for name, e in COMMANDS.items() if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else "`sources --help` lists them"
            raise click.UsageError(f"there is no command {args[0][:40]!r} ({hint})")
        return super().resolve_command(ctx, args)


def _show_version(context: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value and not context.resilient_parsing:
        from importlib.metadata import version  # loads half the standard library

        click.echo(f"sources {version('sources')}")
        context.exit()


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@common_options
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show it.")
def group() -> None:
    """Search what a community said in its rooms and wrote in its repositories and notes."""


def run(arguments: Sequence[str]) -> int:
    """One run; returns the exit code. Only what nobody foresaw leaves a traceback."""
    try:
        try:
            with group.make_context("sources", list(arguments)) as context:
                result = group.invoke(context)
        finally:
            sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except SourcesError as error:
        tell(error)
        return exit_of(error)
    except (KeyboardInterrupt, click.Abort):
        click.echo("sources: interrupted", err=True)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader has gone. The interpreter must not try to write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED
    except OSError as error:
        if error.errno not in DISK_TROUBLES:
            tell_bug()
            return Exit.BUG
        place = error.filename or "the output"
        click.echo(f"sources: {place}: cannot be written: {error.strerror} (make room, then run it again)", err=True)
        return Exit.SOURCE_FAILED
    except Exception:  # noqa: BLE001 shown in full, and given a code of its own: Python's 1 would pass for "no hits"
        tell_bug()
        return Exit.BUG
    return result if isinstance(result, int) else Exit.FINE


def tell(error: SourcesError) -> None:
    """One line per problem on standard error, scrubbed."""
    from sources.redact import redact

    for line in redact(str(error)).split("\n"):
        click.echo(f"sources: {one_line(line)}", err=True)


def tell_bug() -> None:
    """The traceback, scrubbed: it may quote what was read."""
    import traceback

    from sources.redact import redact

    click.echo(harmless(redact(traceback.format_exc())), err=True, nl=False)
    click.echo("sources: this is a bug; the lines above say where", err=True)


def _open_closed_streams() -> None:
    """Let what was closed before the start (`>&-`) lead nowhere, before a file of ours takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def main() -> None:
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 is no reason to fail
    if "_SOURCES_COMPLETE" in os.environ:
        group.main(prog_name="sources")
    code = run(sys.argv[1:])
    gc.freeze()  # the interpreter would look for garbage in all that is loaded, only to end
    sys.exit(code)
