"""What a shell can complete beyond commands and options: names of sources, from the configuration."""

import click

from index.errors import SourcesError
from sources.cli.common import Invocation


def source_names(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """As `--source` takes them. Nothing where there is no configuration: a shell must not be answered with an error."""
    from sources.app import names_of
    from sources.status import configured

    invocation = context.find_object(Invocation)
    if invocation is None:
        return []
    try:
        names = {name for source in configured(invocation.config) for name in names_of(source)}
    except SourcesError:
        return []
    # A colon parts words in some shells, so full names are offered only to whoever began to type one.
    offered = (name for name in names if (":" in name) == (":" in incomplete) and not name.startswith("@"))
    return sorted(name for name in offered if name.startswith(incomplete))
