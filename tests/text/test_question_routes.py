"""The shape of a question lifts a section or kind; it never removes anything."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import Kind
from index.text.routing import ROUTES, Route, Target, boosts, route


def names(text: str) -> list[str]:
    return [row.name for row in route(text)]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What stops the job and its copy from running at once?", "safeguard"),
        ("co brání dvěma během najednou", "safeguard"),
        ("co se stane, když disk chybí?", "safeguard"),
        ("Was passiert, wenn die Platte voll ist?", "safeguard"),
        ("which variable holds the address", "configuration"),
        ("Kterou proměnnou se mění cesta?", "configuration"),
        ("welche Variable setzt den Pfad", "configuration"),
        ("does it take --force", "mode"),
        ("run the import with --dry-run", "mode"),
        ("má přepínač na zkoušku?", "mode"),
        ("why are two copies kept", "design"),
        ("Proč se čeká?", "design"),
        ("Warum zwei Kopien?", "design"),
        ("how does the mirror catch up", "operation"),
        ("jak funguje zrcadlo", "operation"),
        ("wie funktioniert der Spiegel", "operation"),
        ("what is a shadow copy", "definition"),
        ("co je stínová kopie", "definition"),
        ("was ist eine Schattenkopie", "definition"),
        ("how to replace the battery", "instruction"),
        ("is there a template for a unit file", "template"),
    ],
)
def test_the_shape_of_a_question_finds_its_route(question: str, name: str) -> None:
    assert name in names(question)


@pytest.mark.parametrize("text", ["", "?", "backup", "the order of things that stop", "whyever", "somewhat is odd"])
def test_a_text_without_the_shape_of_a_question_has_no_route(text: str) -> None:
    assert names(text) == []


def test_a_definition_lifts_narrative_documents_and_not_the_one_line_purpose() -> None:
    rows = route("what is a lease")
    assert boosts(Target(Kind.README), rows)
    assert boosts(Target(Kind.HEADER, "PURPOSE"), rows) == ()


def test_a_route_lifts_its_section_however_it_is_written() -> None:
    rows = route("why so")
    assert boosts(Target(Kind.HEADER, "Design principles"), rows) == (("design", rows[0].factor),)
    assert boosts(Target(Kind.HEADER, "CONFIGURATION"), rows) == ()


def test_the_built_in_table_only_lifts() -> None:
    assert all(row.factor > 1 and row.phrases and (row.sections or row.kinds) for row in ROUTES)
    assert len({row.name for row in ROUTES}) == len(ROUTES)


def test_rows_of_a_configuration_take_the_place_of_the_table() -> None:
    own = Route("owner", ("who owns", "kdo * spravuje", "* in charge of"), kinds=(Kind.README,), factor=2.0)
    for text in ("Who owns the printer?", "kdo tady spravuje tiskárnu", "tell me who is in charge of it"):
        assert route(text, [own]) == (own,)
    for text in ("kdo spravuje", "owns who", "in charge of"):
        assert route(text, [own]) == ()


ATOMS = st.sampled_from(["a", "b", "ab", "*", "a*"])
WORDS = st.sampled_from(["a", "b", "ab", "abc"])


@given(st.lists(ATOMS, min_size=1, max_size=6), st.lists(WORDS, max_size=10))
def test_a_phrase_means_what_its_regular_expression_would(atoms: list[str], words: list[str]) -> None:
    if all(atom == "*" for atom in atoms):
        return
    while atoms[-1] == "*":
        atoms.pop()
    parts = [
        "(?:[a-z]+ )+" if atom == "*" else f"{atom[:-1]}[a-z]* " if atom.endswith("*") else f"{atom} " for atom in atoms
    ]
    expected = re.match("".join(parts), "".join(f"{word} " for word in words)) is not None
    row = Route("x", (" ".join(atoms),), kinds=(Kind.DOC,))
    assert (route(" ".join(words), [row]) == (row,)) is expected


@given(st.text(max_size=200), st.text(alphabet=string.printable + "*", max_size=60))
def test_no_text_and_no_phrase_breaks_the_matcher(text: str, phrase: str) -> None:
    row = Route("x", (phrase,), kinds=(Kind.DOC,))
    assert route(text, [row]) in ((), (row,))
