"""Draws status.svg: `sources status` over the index of a running demo, as a terminal shows it.

    sources demo --keep                                   # in another terminal; it names its configuration
    python docs/pictures/make.py /path/of/sources.toml

The folder of the index is shown as a host would have it. answer.png is a picture of a client that joined the same demo.
"""

import asyncio
import io
import re
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from sources.cli.status import drawn
from sources.cli.style import Style
from sources.config.load import load
from sources.status import status
from sources.troubles import troubles

WIDTH = 96
SHOWN_FOLDER = "/var/lib/sources"


def main(config_file: Path) -> None:
    config = load(config_file)
    found, now_ms = asyncio.run(status(config)), time.time_ns() // 1_000_000
    wrong = troubles(found, overdue_ms=config.audit.refresh_overdue_ms, now_ms=now_ms)
    text = drawn(found, wrong, now_ms=now_ms, style=Style(has_colour=True, width=WIDTH))
    text = text.replace(str(config.state_dir), SHOWN_FOLDER)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ sources status", style="bold green"))
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title="sources status", unique_id="status")
    svg = re.sub(r"\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # nothing is fetched to look at it
    Path(__file__).with_name("status.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
