"""`sources search`: the index asked from a shell. On the way to an answer nothing heavy is loaded."""

import asyncio

import click

from index.model import Answer
from index.search import Mode
from sources.app import open_index
from sources.cli.arguments import shielded, texts_of
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.render import answer_record, answer_text
from sources.cli.routing import route_records, routes_text
from sources.config.routes import routes
from sources.unread import told


class Words(click.Command):
    """A command whose arguments are words, of which one may begin with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        flags = {name for option in options if option.is_flag or option.count for name in option.opts}
        valued = {name for option in options for name in option.opts} - flags
        return super().parse_args(ctx, shielded(args, flags=flags, valued=valued))


@click.command(cls=Words)
@common_options
@click.option("-n", "--limit", type=click.IntRange(1, 100), help="Hits to show; default: search.limit.")
@click.option("--lexical", "is_lexical", is_flag=True, help="By words alone, without vectors.")
@click.option("--explain", "is_explained", is_flag=True, help="Say how each hit got its place.")
@click.argument("words", nargs=-1, required=True)
@click.pass_obj
def command(
    invocation: Invocation, words: tuple[str, ...], limit: int | None, *, is_lexical: bool, is_explained: bool
) -> int:
    """Find what was said and written.

    Words without quotes are one text; each quoted argument is a text of its own, up to eight, and their rankings are
    fused. Operators narrow the search, the same as in a room:

    \b
      "exact phrase"        -word        from:@alice:example.org
      in:#room:example.org  repo:name    kind:readme
      section:NAME          tag:name     area:name
      confidence:high       has:link     corpus:chat
      before:2026-11-01     after:7d

    Operators alone list what they leave, the newest first; files of repositories, whose times are not kept, come last.

    Exit code 1 says that nothing was found. A note tells when not everything was read yet.
    """
    texts = texts_of(words)
    answer = asyncio.run(_search(invocation, texts, limit, is_lexical=is_lexical))
    table = routes(invocation.config.search.route) if is_explained else ()
    if invocation.as_json:
        put_json(answer_record(answer) | ({"routes": route_records(texts, table)} if is_explained else {}))
    elif answer.hits or not invocation.is_quiet:
        click.echo(answer_text(answer, style=invocation.style, is_explained=is_explained))
        if is_explained:
            click.echo(f"\n{routes_text(texts, table, invocation.style)}")
    return Exit.FINE if answer.hits else Exit.NOTHING


async def _search(invocation: Invocation, texts: tuple[str, ...], limit: int | None, *, is_lexical: bool) -> Answer:
    config = invocation.config
    if config.embed.kind == "http" and not is_lexical:
        invocation.start_logging()  # the only part of a search that can have something to log
    async with open_index(config, invocation.credentials, is_lexical=is_lexical) as index:
        answer = await index.searcher.search(
            texts, limit=limit or config.search.limit, mode=Mode.LEXICAL if is_lexical else Mode.HYBRID
        )
        return await told(answer, config, index.catalogue)
