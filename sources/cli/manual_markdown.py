"""docs/commands.md. Pure, but for loading every command."""

from collections.abc import Iterable, Iterator

from sources.cli.manual import ENVIRONMENT, EXITS, FILES, Page, common_options, pages

_OPENING = """\
# Commands

<!-- Made from the code: python -m sources.cli.manual markdown > docs/commands.md -->

What `sources COMMAND --help` says, on one page; `man sources` says the same. `--json` is a contract: fields are added,
never changed. Shells complete commands, options and names of sources with the script that `sources completion` prints.
"""


def page() -> str:
    return "\n".join([_OPENING, *_common(), *(line for one in pages() for line in _command(one)), *_ends()])


def _common() -> Iterator[str]:
    yield "## Options of every command\n"
    yield from _table("Option", "Meaning", ((option.names, option.help) for option in common_options()))


def _command(one: Page) -> Iterator[str]:
    yield f"## `sources {one.name}`\n"
    for block in one.blocks:
        if isinstance(block, str):
            yield f"{block}\n"
        else:
            yield "\n".join(["```text", *block, "```"]) + "\n"
    yield f"```text\n{one.usage}\n```\n"
    if one.options:
        yield from _table("Option", "Meaning", ((option.names, option.help) for option in one.options))


def _ends() -> Iterator[str]:
    yield "## Exit codes\n"
    yield from _table("Code", "Meaning", ((str(int(code)), text) for code, text in EXITS.items()))
    yield "## Environment\n"
    yield from _table("Variable", "Meaning", ENVIRONMENT.items())
    yield "## Files\n"
    yield from _table("File", "Meaning", FILES.items())


def _table(first: str, second: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {first} | {second} |\n| --- | --- |"
    for name, text in rows:
        yield f"| `{_cell(name)}` | {_cell(text)} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
