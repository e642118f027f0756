"""Keys join the forms of a word, the parts of an identifier and the ways to write a letter; queries need rules only."""

import subprocess
import sys
import unicodedata
from hashlib import blake2b
from itertools import chain, pairwise
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pysqlite3 import dbapi2 as sqlite

from index.errors import ConfigError
from index.text import czech
from index.text.fold import WORD, fold, tokens, words
from index.text.languages import KNOWN
from index.text.pieces import joined, parts
from index.text.stemmers import stemmer
from index.text.words import WORDS_VERSION, Keys, rule_keys

LANGUAGES = ("en", "cs", "de")
KEYS = Keys(LANGUAGES)
CZECH = " a tento text je česky, protože jsou v něm slova, která se v češtině často používají"
GERMAN = " und das ist ein Text, der auf Deutsch ist"


def is_found(question: str, text: str, keys: Keys = KEYS) -> bool:
    stored = set(keys.keys_of_text(text).split())
    return all(stored & set(group) for group in keys.query_groups(question))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("run", "it ran twice"),
        ("running", "the run"),
        ("child", "all children"),
        ("replicas", "one replica"),
        ("databázemi", "databáze" + CZECH),
        ("databaze", "o databázích" + CZECH),
        ("psa", "jeden pes" + CZECH),
        ("pes", "bez psa" + CZECH),
        ("Praha", "v Praze" + CZECH),
        ("praze", "Praha" + CZECH),
        ("servery", "ze serveru" + CZECH),
        ("tabulek", "jedna tabulka" + CZECH),
        ("tabulce", "jedna tabulka" + CZECH),
        ("nastavit", "po nastavení" + CZECH),
        ("nainstalujte", "nainstalovat" + CZECH),
        ("instaloval", "instaluje se" + CZECH),
        ("nastavením", "nastavení" + CZECH),
        ("Häuser", "ein Haus" + GERMAN),
        ("hauser", "in den Häusern" + GERMAN),
        ("Strasse", "die Straße" + GERMAN),
        ("lodz", "Łódź"),
        ("send", "sendAsync()"),
        ("async", "sendAsync()"),
        ("sendAsync", "send_async"),
        ("sendasync", "sendAsync"),
        ("flag_check", "flag_check.exe"),
        ("http server", "HTTPServer2"),
        ("filesystem", "the file-system"),
        ("file-system", "the file system"),
        ("e-mail", "an email"),
        ("検索", "全文検索機能"),
        ("検索機能", "全文検索機能"),
        ("test", "テストtestテスト"),
        ("한국", "한국어는"),
    ],
)
def test_a_question_finds_the_text(question: str, text: str) -> None:
    groups = KEYS.query_groups(question)
    stored = set(KEYS.keys_of_text(text).split())
    assert any(stored & set(group) for group in groups)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("notes", "not at all"),
        ("universe", "news"),
        ("検索", "索検"),
        ("kolo", "kolik" + CZECH),
        ("x", "y"),
        ("theme", "one of them"),
        ("forum", "for you"),
    ],
)
def test_other_words_are_not_joined(question: str, text: str) -> None:
    assert not set(KEYS.query_keys(question)) & set(KEYS.keys_of_text(text).split())


def test_a_document_is_read_in_its_own_language_and_a_question_in_all() -> None:
    assert KEYS.keys_of_text("the notes").split()[-1:] == ["en0note"]
    assert KEYS.query_keys("notes") == ("en0note", "cs0not", "de0not")


def test_each_word_gives_its_keys_in_the_order_of_the_text() -> None:
    assert KEYS.keys_of_text("zebra apple zebra").split() == ["en0zebra", "en0appl", "en0zebra"]


def test_hashes_and_encoded_data_have_no_keys() -> None:
    assert KEYS.keys_of_text("f" * 41) == ""
    assert KEYS.query_keys("f" * 41) == ()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("sendAsync", ["send", "Async"]),
        ("HTTPServer2", ["HTTP", "Server"]),
        ("XMLHttpRequest", ["XML", "Http", "Request"]),
        ("utf8", ["utf"]),
        ("iPhone", ["Phone"]),
        ("Plain", []),
        ("plain", []),
        ("LOUD", []),
        ("žlutýKůň", ["žlutý", "Kůň"]),
        ("2026", []),
    ],
)
def test_identifiers_fall_into_their_parts(word: str, expected: list[str]) -> None:
    assert parts(word) == expected


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"languages: no rules for 'tlh' \(known: cs, "):
        Keys(("en", "tlh"))


@pytest.mark.parametrize("code", sorted(KNOWN))
def test_every_known_language_has_a_stemmer_that_works(code: str) -> None:
    assert KNOWN[code].stemmer is None or stemmer(KNOWN[code].stemmer or "")("abc")
    assert Keys((code,)).query_keys("informatik")


def test_stems_are_those_of_this_version_in_every_known_language() -> None:
    spoken = sorted(set().union(*(language.function_words for language in KNOWN.values())))
    words_of_all = [*spoken, *(f"{one}{other}" for one, other in pairwise(spoken))]
    keys = " ".join(key for word in words_of_all for key in rule_keys(word, tuple(KNOWN.values())))
    found = blake2b(keys.encode(), digest_size=8).hexdigest()
    assert (WORDS_VERSION, found) == (1, "65d8c0fc3b40c8be"), (
        "other stems, of ours or of pystemmer: raise WORDS_VERSION"
    )


def test_a_question_loads_no_dictionary() -> None:
    program = (
        "import sys; from index.text.words import Keys; from index.text.found import Finder; import index.text.snippet,"
        " index.text.fuse, index.text.routing; from index.text.query import parse;"
        "k = Keys(('en', 'cs', 'de')); k.query_groups('databázemi');"
        " Finder([parse('x', now_ms=0)], k).places('xs');"
        "bad = {'simplemma', 'numpy', 'lzma', 'pickle', 'asyncio', 'sqlite3'} & set(sys.modules);"
        " assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_czech_endings_leave_a_stem() -> None:
    assert [czech.strip(word) for word in ("a", "ma", "pes", "psa", "psech")] == ["a", "ma", "pes", "ps", "psech"]


WORDS = st.text(st.characters(categories=["L", "N"], max_codepoint=0x24F), min_size=1, max_size=12)
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@given(ANY)
def test_folding_twice_is_folding_once(text: str) -> None:
    for word in text.split():
        assert fold(fold(word)) == fold(word)


@given(ANY)
def test_keys_are_folded_words_however_the_text_is_composed(text: str) -> None:
    keys = KEYS.keys_of_text(text)
    assert keys == KEYS.keys_of_text(unicodedata.normalize("NFD", text))
    assert " ".join(map(fold, keys.split())) == keys
    assert KEYS.query_groups(text) == KEYS.query_groups(unicodedata.normalize("NFD", text))


@given(st.one_of(ANY, st.text(st.characters(max_codepoint=0x24F), max_size=80)))
def test_the_quick_ways_to_words_and_letters_change_nothing(text: str) -> None:
    assert words(text) == WORD.findall(text)
    slow = "\u0250"  # a letter that is nothing but itself, and beyond those with a quick way
    assert [fold(word + slow) for word in text.split()] == [fold(word) + slow for word in text.split()]


def test_many_different_signs_cost_no_more_than_as_many_equal_ones() -> None:
    signs = "a".join(map(chr, range(0xF0000, 0xFFFFE)))
    before = process_time()
    assert words(signs) == ["a"] * (len(signs) // 2)
    assert process_time() - before < 0.5, "looked for one by one they take two seconds"


@given(ANY)
def test_what_was_forgotten_is_made_again(text: str) -> None:
    forgetful = Keys(LANGUAGES, remembered=1)
    assert forgetful.keys_of_text(text) == forgetful.keys_of_text(text) == KEYS.keys_of_text(text)


def test_compounds_of_up_to_four_parts_stand_in_one_word_as_well() -> None:
    text = "(e-mail), file_system/x-y_z: a-b-c-d a-b-c-d-e a--b -c d-\u00a0end-\u00e9t\u00e9"
    assert list(joined(text)) == ["email", "filesystem", "xyz", "abcd", "end\u00e9t\u00e9"]


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_every_word_of_a_text_is_found_by_itself(found: list[str]) -> None:
    text = " ".join(found)
    for word in found:
        assert is_found(word, text) or len(word) > 40


@given(st.lists(WORDS, max_size=6))
def test_groups_and_keys_of_a_question_say_the_same(found: list[str]) -> None:
    text = " ".join(found)
    assert list(dict.fromkeys(chain.from_iterable(KEYS.query_groups(text)))) == list(KEYS.query_keys(text))


# Letters that SQLite's tables and ours know: those of Latin, Greek and Cyrillic script, and what stands between.
LETTERS = st.characters(
    max_codepoint=0x527, exclude_categories=["Cs", "Cn", "Mn", "Me"], exclude_characters="\u01e0\u01e1\u0374\u037f"
)


@settings(max_examples=100)
@given(st.text(LETTERS, max_size=60))
def test_tokens_are_those_of_the_lexical_index(text: str) -> None:
    connection = sqlite.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(body, tokenize='unicode61 remove_diacritics 2')")
        connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(words, instance)")
        connection.execute("INSERT INTO words VALUES (?)", (text.replace("\0", " "),))
        stored = [row[0] for row in connection.execute("SELECT term FROM terms ORDER BY offset")]
    finally:
        connection.close()
    assert tokens(text) == stored
