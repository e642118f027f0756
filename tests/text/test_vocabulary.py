"""Words of texts to be stored: what is remembered of them changes nothing, and stays small."""

import random

from hypothesis import given
from hypothesis import strategies as st

from index.text.fold import words
from index.text.languages import KNOWN, Language
from index.text.pieces import joined
from index.text.tally import tally_of
from index.text.vocabulary import Vocabulary, _Table

LANGUAGES = tuple(KNOWN[code] for code in ("en", "cs", "de", "fr", "pl"))
SAID = ("the and", "je se", "der und", "le la", "sie na", "word", "e-mail", "e\u0301te\u0301", "x" * 50, "\u0159eka")
TEXTS = st.lists(st.sampled_from(SAID), max_size=8).map(" ".join)


def marked(word: str, mix: tuple[Language, ...]) -> list[str]:
    """Keys that tell which word and languages they were made for; one letter has none."""
    return [f"{language.code}0{word}" for language in mix] if len(word) > 1 else []


def remembering(remembered: int) -> Vocabulary:
    return Vocabulary(LANGUAGES, marked, remembered=remembered)


@given(st.lists(TEXTS, max_size=20), st.integers(1, 12))
def test_what_was_read_before_changes_nothing(texts: list[str], remembered: int) -> None:
    vocabulary = remembering(remembered)
    for text in texts:
        keyed = vocabulary.read("a title", text)
        assert keyed == remembering(100).read("a title", text)
        assert keyed.size == len(words(f"a title {text}"))
        assert keyed.tally == tally_of("a title", text, keyed.keys)


def test_each_word_has_its_keys_and_compounds_come_last() -> None:
    assert list(joined("an e-mail")) == ["email"]
    assert remembering(9).read("the", "a I e-mail").keys == "en0the en0mail en0email"


def test_a_word_in_other_languages_has_other_keys_however_many_mixes_there_were() -> None:
    vocabulary = remembering(1_000)
    draw = random.Random(1)
    mixes = [" ".join(draw.sample(["the", "se", "und", "les", "sie"], draw.randint(1, 5))) for _ in range(60)]
    for said in mixes:
        assert vocabulary.read("", f"{said} word") == remembering(9).read("", f"{said} word")


def test_neither_many_words_nor_long_ones_are_kept() -> None:
    vocabulary = remembering(100)
    for number in range(1_000):
        vocabulary.read("", f"w{number} {number:x>5000}")
    vocabulary.read("", " ".join(f"v{number}" for number in range(5_000)))
    vocabulary.read("", "word")
    tables: list[_Table] = [vocabulary._table]
    while (former := tables[-1]._former) is not None:
        tables.append(former)
    assert sum(len(table.votes) for table in tables) < 300
    assert all(len(number) <= 4 for table in tables for number in table.numbers)
    assert all(len(word) <= 40 for table in tables for word in table)
