"""`sources completion`: the script that lets a shell complete commands, options and names of sources."""

import click
from click.shell_completion import get_completion_class

from sources.cli.common import Invocation, common_options

VARIABLE = "_SOURCES_COMPLETE"
"""Set by the script; the program then answers the shell instead of running a command."""
SHELLS = ("bash", "zsh", "fish")


@click.command()
@common_options
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_obj
def command(_invocation: Invocation, shell: str) -> None:
    """Print a script that completes commands, options and names of sources.

    \b
      sources completion bash > ~/.local/share/bash-completion/completions/sources
      sources completion zsh  > ~/.zfunc/_sources       (with ~/.zfunc in $fpath)
      sources completion fish > ~/.config/fish/completions/sources.fish
    """
    click.echo(script(shell))


def script(shell: str) -> str:
    from sources.cli.main import group

    kind = get_completion_class(shell)
    if kind is None:
        raise AssertionError(f"click knows no {shell}")
    return kind(group, {}, "sources", VARIABLE).source().strip()
