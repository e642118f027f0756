"""`sources bot`: runs until it is told to stop."""

import asyncio

import click

from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit


@click.command()
@common_options
@click.pass_obj
def command(invocation: Invocation) -> int:
    """Answer !search in the rooms that [bot] lists.

    SIGHUP, or a change of the configuration, has its rooms and manners read again; SIGTERM ends it. Exit code 4 says
    that the token was refused, 6 that another bot uses the same state directory. docs/bot.md tells how to set it up.
    """
    from sources.answering import run_bot
    from sources.config.load import find

    config = invocation.config
    invocation.start_logging()
    asyncio.run(run_bot(config, invocation.credentials, find(invocation.config_file)))
    return Exit.FINE
