"""Text for terminals: emphasis where it can be shown, harmless where it cannot, and tables. Pure."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "mark": "1;33"}

# Controls could move the cursor, rename the window or type into the shell; bidirectional controls could show a text in
# another order than it has. Each becomes one character, so that offsets stay true.
_VISIBLE: Final[dict[int, int | str]] = {
    **{code: 0x2400 + code for code in range(32) if code not in (9, 10)},
    9: " ",
    0x7F: 0x2421,
    **dict.fromkeys(range(128, 160), 65533),
    **dict.fromkeys((1564, 8206, 8207, *range(8234, 8239), *range(8294, 8298)), 65533),
    **dict.fromkeys(range(55296, 57344), 65533),
    0x2028: " ",
    0x2029: " ",
    0xFEFF: 0xFFFD,
}
_ON_ONE_LINE: Final[dict[int, int | str]] = {**_VISIBLE, 10: " "}


class Style(Struct, frozen=True):
    """How to write for one output. `width` is None where nobody watches: nothing is cut there."""

    has_colour: bool = False
    width: int | None = None

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.has_colour and text else text


PLAIN: Final = Style()


def harmless(text: str) -> str:
    """The same number of characters, none of which a terminal would obey; line ends stay."""
    return text.translate(_VISIBLE)


def one_line(text: str) -> str:
    """As `harmless`, with blanks for line ends."""
    return text.translate(_ON_ONE_LINE)


def columns(text: str) -> int:
    """How many columns a terminal gives a text without controls."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Mn")
        else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], style: Style, *, colours: Sequence[str] = ()) -> str:
    """Columns under their headers, the last one ragged. `colours` has one name, or "", per row."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(columns(cell) for cell in column) for column in zip(headers, *cells, strict=True)]
    lines = [style.paint(_row(headers, widths), "dim")]
    for number, row in enumerate(cells):
        colour = colours[number] if number < len(colours) else ""
        line = _row(row, widths)
        lines.append(style.paint(line, colour) if colour else line)
    return "\n".join(lines)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - columns(cell)) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join(padded).rstrip()
