"""`sources mcp`: the index as tools for an assistant."""

import asyncio
from importlib.util import find_spec

import click

from index.errors import ConfigError
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit


@click.command()
@common_options
@click.pass_obj
def command(invocation: Invocation) -> int:
    """Serve search, get, toc, grep, ask and status to an assistant, over MCP.

    Speaks the Model Context Protocol on standard input and output until the input ends; logs go to standard error. The
    tools see everything that is indexed, as a shell on this host does.
    """
    if find_spec("mcp") is None:
        raise ConfigError("mcp: package mcp is not installed (install the extra mcp: docs/install.md)")
    config = invocation.config
    invocation.start_logging()
    from sources.mcp.server import serve
    from sources.mcp.tools import Tools

    asyncio.run(serve(Tools(config, invocation.credentials)))
    return Exit.FINE
