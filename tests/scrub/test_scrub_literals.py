"""One scan finds every literal, overlapping ones too, with places in code points, whatever the text holds."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.scrub.literals import Literals

LITERALS = ("key", "apikey", "e", "aaa", "klíč", "密码")
pieces = st.sampled_from([*LITERALS, "a", " ", "é", "\ud800", "𝒳", "k"])


@given(st.lists(pieces, max_size=30).map("".join))
def test_places_are_those_that_a_search_for_each_literal_finds(text: str) -> None:
    expected = {
        (number, at, at + len(literal))
        for number, literal in enumerate(LITERALS)
        for at in range(len(text))
        if text.startswith(literal, at)
    }
    assert set(Literals(LITERALS).find(text)) == expected
