"""What the demo looks like: framed and coloured on a terminal, plain lines elsewhere. Decides nothing."""

import shlex
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Final

from msgspec import Struct, field
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from sources.cli.style import harmless
from sources.demo.proof import Finding
from sources.demo.scenario import Claim

_PLAIN_WIDTH: Final = 120
_MOST_WIDTH: Final = 120
_YES, _NO = "yes", "no"
_LINKED: Final = "open"


def console() -> Console:
    """For standard output. Colours follow NO_COLOR and what the terminal can do."""
    made = Console(highlight=False, markup=False, emoji=False)
    made.width = min(made.width, _MOST_WIDTH) if made.is_terminal else _PLAIN_WIDTH
    return made


class Show(Struct):
    console: Console = field(default_factory=console)

    @property
    def is_terminal(self) -> bool:
        return self.console.is_terminal

    def act(self, title: str) -> None:
        self.console.print()
        if self.is_terminal:
            self.console.rule(Text(title, style="bold cyan"), align="left", style="cyan")
        else:
            self.console.print(f"== {title}")

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Text(harmless(text), style=style))

    def command(self, shows: str, arguments: Sequence[str]) -> None:
        self.console.print()
        if shows:
            self.console.print(Text(f"# {shows}", style="dim"))
        self.console.print(Text(f"$ sources {shlex.join(arguments)}", style="bold green"))

    def file(self, text: str) -> None:
        if self.is_terminal:
            self.console.print(
                Padding(Syntax(text, "toml", theme="ansi_light", background_color="default"), (0, 0, 0, 2))
            )
        else:
            self.console.print(Padding(Text(text), (0, 0, 0, 2)))

    def room(self, name: str, shows: str) -> None:
        self.console.print()
        self.console.print(Text.assemble((name, "bold"), ("  " + shows, "dim")))

    def said(self, when: str, who: str, text: str, *, word: str = "") -> None:
        """One message; the word that is looked up later stands out."""
        line = Text.assemble((f"  {when}  ", "dim"), (f"{who}: ", "magenta"), harmless(text))
        if word:
            line.highlight_words([word], "bold yellow")
        self.console.print(line)

    def answer(self, content: dict[str, object], seconds: float) -> None:
        told = _told(str(content.get("formatted_body") or content.get("body")))
        title = f"the bot, after {seconds:.1f} s"
        if self.is_terminal:
            self.console.print(Panel(told, title=title, title_align="left", border_style="blue", box=box.ROUNDED))
        else:
            self.console.print(f"  {title}:")
            self.console.print(Padding(told, (0, 0, 0, 4)))

    def findings(self, findings: Sequence[Finding]) -> None:
        table = Table(box=box.ROUNDED if self.is_terminal else None, show_lines=self.is_terminal, pad_edge=False)
        for name in ("what", "the bot tells it", "a search finds it", "in the bytes", "as claimed", "why"):
            table.add_column(name, overflow="fold", no_wrap=name == "what")
        for one in findings:
            claim = one.claim
            table.add_row(
                Text.assemble(claim.what, "\n", (_asked(claim, one.word), "dim")),
                _cell(one.is_told),
                _cell(one.is_found),
                _cell(one.is_kept),
                Text(_YES, style="bold green") if one.holds else Text(_NO, style="bold red"),
                Text(one.why),
            )
        self.console.print(table)


def _asked(claim: Claim, word: str) -> str:
    """A token is shown by its beginning alone, as everywhere."""
    return f"{word[:8]}…" if claim.question else word


def _cell(is_there: bool) -> Text:
    return Text(_YES if is_there else _NO, style="yellow" if is_there else "")


class _Teller(HTMLParser):
    """The little HTML that the bot writes, as styled text."""

    def __init__(self) -> None:
        super().__init__()
        self.told = Text()
        self._styles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self.told.append("\n")
        else:
            link = next((value for name, value in attrs if name == "href"), None)
            self._styles.append(f"underline cyan link {link}" if link else "bold yellow")

    def handle_endtag(self, _tag: str) -> None:
        if self._styles:
            self._styles.pop()

    def handle_data(self, data: str) -> None:
        self.told.append(harmless(data), style=self._styles[-1] if self._styles else "")


def _told(html: str) -> Text:
    teller = _Teller()
    teller.feed(html)
    teller.close()
    return teller.told
