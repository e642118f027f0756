"""What is typed after `sources search` arrives as it was meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.cli.arguments import shielded, texts_of

FLAGS = ("-v", "-q", "--json", "--lexical", "-h", "--help")
VALUED = ("-n", "--limit", "--config")


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["rotate", "signing", "keys"], ("rotate signing keys",)),
        (["rotate signing keys"], ("rotate signing keys",)),
        (["how to rotate", "key rotation steps"], ("how to rotate", "key rotation steps")),
        (["rotate", "-draft", "kind:readme"], ("rotate -draft kind:readme",)),
        (
            ["how to rotate", "new keys", "kind:readme", "-draft"],
            ("how to rotate kind:readme -draft", "new keys kind:readme -draft"),
        ),
        (["how to rotate", "keys"], ("how to rotate", "keys")),
        (["keys", "-two words"], ('keys -"two words"',)),
        (['"exact phrase"'], ('"exact phrase"',)),
        (["kind:readme"], ("kind:readme",)),
        ([], ()),
        (["", "  "], ()),
    ],
)
def test_bare_words_are_one_text_and_quoted_ones_each_their_own(arguments: list[str], texts: tuple[str, ...]) -> None:
    assert texts_of(arguments) == texts


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["a", "-draft"], ["--", "a", "-draft"]),
        (["-n", "5", "a"], ["-n", "5", "--", "a"]),
        (["a", "-n5", "--json"], ["-n5", "--json", "--", "a"]),
        (["a", "-nginx"], ["--", "a", "-nginx"]),
        (["-vq", "a"], ["-vq", "--", "a"]),
        (["-very", "a"], ["--", "-very", "a"]),
        (["a", "--", "-v", "--json"], ["--", "a", "-v", "--json"]),
        (["--lexcal", "a"], ["--lexcal", "--", "a"]),
        (["a", "-"], ["--", "a", "-"]),
        (["a", "-n"], ["-n", "--", "a"]),
    ],
)
def test_an_excluded_word_is_not_an_option(arguments: list[str], given: list[str]) -> None:
    assert shielded(arguments, flags=FLAGS, valued=VALUED) == given


@given(st.lists(st.text(st.characters(exclude_characters="-"), min_size=1)))
def test_no_text_is_lost_or_reordered(texts: list[str]) -> None:
    assert shielded(texts, flags=FLAGS, valued=VALUED) == ["--", *texts]
