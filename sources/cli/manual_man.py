"""The man page, in the macros of man(7). Pure, but for loading every command."""

import re
from collections.abc import Iterable, Iterator

from sources.cli.manual import ENVIRONMENT, EXITS, FILES, Page, common_options, pages, version

_OPENING = """\
.\\" Made from the code: python -m sources.cli.manual man > man/sources.1
.TH SOURCES 1 "" "sources {version}" "User Commands"
.SH NAME
sources \\- search what a community said in its rooms and wrote in its repositories and notes
.SH SYNOPSIS
.B sources
[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGS\\fR]...
.SH DESCRIPTION
One index over the rooms that a read\\-only Matrix account was invited to, git repositories, and folders of Markdown.
.B sources refresh
brings it up to date,
.B sources search
asks it,
.B sources bot
answers in rooms.
.SH OPTIONS OF EVERY COMMAND"""


def page() -> str:
    lines = [_OPENING.format(version=version())]
    lines += _terms((option.names, option.help) for option in common_options())
    lines.append(".SH COMMANDS")
    for one in pages():
        lines += _command(one)
    lines += [".SH EXIT STATUS", *_terms((str(int(code)), text) for code, text in EXITS.items())]
    lines += [".SH ENVIRONMENT", *_terms(ENVIRONMENT.items()), ".SH FILES", *_terms(FILES.items())]
    return "\n".join(lines) + "\n"


def _command(one: Page) -> Iterator[str]:
    yield f".SS {escaped(one.usage)}"
    for number, block in enumerate(one.blocks):
        if number:
            yield ".PP"
        if isinstance(block, str):
            yield escaped(block)
        else:
            yield ".nf"
            yield from map(escaped, block)
            yield ".fi"
    yield from _terms((option.names, option.help) for option in one.options)


def _terms(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in rows:
        yield ".TP"
        yield f"\\fB{escaped(name)}\\fR"
        yield escaped(text)


def escaped(text: str) -> str:
    """Nothing in it is a request or an escape; what stands in backquotes is bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    text = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)
    return f"\\&{text}" if text.startswith((".", "'", "\\(aq")) else text
