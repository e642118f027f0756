"""What reaches a terminal cannot give it orders, and colours only reach one that wants them."""

import io
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from sources.cli.common import style_of
from sources.cli.style import PLAIN, Style, columns, harmless, one_line, table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@given(st.text(st.characters()))
def test_harmless_text_keeps_its_length_and_holds_no_control(text: str) -> None:
    shown = harmless(text)
    assert len(shown) == len(text)
    assert not [c for c in shown if c != "\n" and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not [
        c
        for c in shown
        if unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI")
    ]
    assert "\n" not in one_line(text)


def test_colours_are_for_terminals_that_want_them() -> None:
    assert style_of(Terminal(), {}).has_colour
    assert not style_of(Terminal(), {"NO_COLOR": "1"}).has_colour
    assert style_of(Terminal(), {"NO_COLOR": ""}).has_colour  # no-color.org: only when not empty
    assert not style_of(Terminal(), {"TERM": "dumb"}).has_colour
    assert not style_of(io.StringIO(), {}).has_colour
    assert style_of(io.StringIO(), {}).width is None


def test_columns_of_a_table_stand_under_each_other_whatever_the_script() -> None:
    drawn = table(("name", "is"), [("日本", "ok"), ("é", "ok"), ("plain", "ok")], PLAIN)
    assert [columns(line[: line.rindex("ok")]) for line in drawn.splitlines()[1:]] == [7, 7, 7]


def test_a_cell_cannot_break_a_table_or_paint_it() -> None:
    drawn = table(("a", "b"), [("x\ny", "\x1b[31mred")], Style(has_colour=False))
    assert drawn.splitlines() == ["a    b", "x y  ␛[31mred"]
