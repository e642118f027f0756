"""A snippet shows where the words of a question stand, is safe to print, and is cut where a reader would cut."""

import re
import unicodedata
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import EventId, Message, Query, Snippet, Span, Term, UserId
from index.text.clean import inert_line
from index.text.fold import WORD, fold
from index.text.found import Finder
from index.text.query import parse
from index.text.snippet import WIDTH, best_message, best_messages, snippet
from index.text.words import Keys

KEYS = Keys(("en", "cs", "de"))
FILLER = "lorem ipsum dolor sit amet " * 40


def finder(*texts: str) -> Finder:
    return Finder([parse(text, now_ms=0) for text in texts], KEYS)


def marked(found: Snippet) -> list[str]:
    return [found.text[mark.start : mark.end] for mark in found.marks]


def shown(text: str, question: str) -> Snippet:
    return snippet(text, finder(question))


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("update", "An UPDATE was lost", ["UPDATE"]),
        ("updates", "it updated twice", ["updated"]),
        ("databázemi", "Dvě databáze a jedna DATABAZE", ["databáze", "DATABAZE"]),
        ("databaze", "v databázích", ["databázích"]),
        ("Häuser", "das Haus steht", ["Haus"]),
        ("send", "call sendAsync() or resend", ["sendAsync"]),
        ("flag_check", "run flag_check.exe now", ["flag", "check"]),
        ("filesystem", "the file-system is full", []),
        ('"lost update"', "a lost update, an update lost", ["lost update"]),
        ("検索", "全文検索機能を使う", ["検索"]),
        ("ｶﾀｶﾅ", "カタカナ で", ["カタカナ"]),
        ("tabase", "one database", ["database"]),
        ("cafe", "the cafe\u0301 on the corner", ["cafe\u0301"]),
        ("the disk", "the cat saw the disk", ["disk"]),
        ("to be or not", "to be", ["to", "be"]),
        ("lost -update", "lost update", ["lost"]),
    ],
)
def test_found_words_are_marked_as_typed_inflected_or_inside_of_an_identifier(
    question: str, text: str, expected: list[str]
) -> None:
    assert marked(shown(text, question)) == expected


def test_the_window_with_most_of_the_words_is_shown() -> None:
    text = f"{FILLER} mirror {FILLER} the mirror waits for the lease {FILLER} mirror mirror mirror {FILLER}"
    found = shown(text, "mirror lease wait")
    assert marked(found) == ["mirror", "waits", "lease"]
    assert found.cut_left and found.cut_right
    assert len(found.text) <= WIDTH


def test_a_short_text_is_shown_whole_and_a_text_without_the_words_from_its_beginning() -> None:
    assert shown("all of it", "word") == Snippet("all of it")
    found = shown(FILLER, "word")
    assert FILLER.startswith(found.text) and not found.cut_left and found.cut_right


def test_cuts_fall_between_words() -> None:
    found = shown(f"{FILLER} needle {FILLER}", "needle")
    assert set(found.text.split()) <= {*FILLER.split(), "needle"}


def test_a_redaction_marker_is_never_cut() -> None:
    for shift in range(60):
        text = "x" * (shift + 200) + "‹redacted:password›" * 3 + "y" * 300
        found = shown(text, "needle").text
        assert found.count("‹") == found.count("›")


@pytest.mark.parametrize("cluster", ["👨‍👩‍👧", "🇨🇿", "e\u0301\u0323", "👍🏽", "ก\u0e33"[:1] + "\u0e31"])
def test_what_is_seen_as_one_character_is_never_cut(cluster: str) -> None:
    for shift in range(12):
        found = shown("x" * (WIDTH - shift) + cluster * 100, "needle").text
        rest = found.lstrip("x")
        assert rest == cluster * (len(rest) // len(cluster))


def test_control_sequences_of_a_message_are_not_shown() -> None:
    found = shown("\x1b]52;c;x\x07so \u202eneedle\u202c \x1b[2Jhere\nnext", "needle")
    assert found.text == "so needle here next"
    assert marked(found) == ["needle"]


BESIDE = ["needle", "Needle", "need", "i", " ", "\n", "_", "“", "”", "\u0301", "é", "7", "-"]


@given(st.lists(st.sampled_from(BESIDE), max_size=40).map("".join))
def test_a_word_is_found_wherever_it_stands_alone_and_never_as_a_piece_of_one(text: str) -> None:
    standing = [(match.start(), match.end(), fold(match[0])) for match in WORD.finditer(text)]
    found = {(one.start, one.end) for one in finder("needle i").places(text)}
    assert {(start, end) for start, end, word in standing if word in ("needle", "i")} <= found
    assert found <= {(start, end) for start, end, _ in standing}


def test_a_word_is_found_in_however_many_spellings() -> None:
    spellings = ["".join(letters) for letters in product(*((one, one.upper()) for one in "needle"))]
    assert marked(snippet(" ".join(spellings), finder("needle"), width=1_000)) == spellings


def messages(*texts: str) -> tuple[tuple[Message, ...], str]:
    made: list[Message] = []
    whole = ""
    for number, text in enumerate(texts):
        span = Span(len(whole), len(whole) + len(text))
        made.append(Message(EventId(f"${number}"), UserId("@a:b"), number, span))
        whole += text + "\n"
    return tuple(made), whole


CODE = "configure(settings.load_from_file(path_of(home)),retries=12,on_failure=notify_operators);"


@pytest.mark.parametrize(("width", "shift"), [(width, width % 12) for width in range(30, 120, 7)])
def test_code_without_blanks_is_cut_between_its_words(width: int, shift: int) -> None:
    text = "x" * shift + CODE * 5 + "needle(first_argument);" + CODE * 5
    found = snippet(text, finder("needle"), width=width)
    assert marked(found) == ["needle"] and found.cut_left and found.cut_right
    place = text.index(found.text)
    is_word = re.compile(r"\w").match
    assert is_word(text[place]) and not is_word(text[place - 1])
    assert not (is_word(text[place + len(found.text) - 1]) and is_word(text[place + len(found.text)]))


def test_a_part_that_was_found_is_shown_with_the_word_that_it_is_in() -> None:
    text = "a" * 30 + "(" * 300 + "Heimnetzwerk" + ")" * 300
    assert snippet(text, finder("netzwerk"), width=60).text.lstrip("(").startswith("Heimnetzwerk")


def test_the_best_message_holds_most_of_what_was_asked() -> None:
    made, text = messages("the lease", "mirror?", "the mirror waits for its lease", "the mirror waits for its lease")
    assert best_message(made, text, finder("mirror lease")) == 2
    assert best_message(made, text, finder("the mirror?")) == 1
    assert best_messages(made, text, finder("mirror lease")) == [2, 3], "what says less cannot take its place"
    assert best_messages(made, text, finder("the mirror?")) == [1, 2, 3]


def test_where_no_message_holds_a_word_there_is_no_best_one() -> None:
    made, text = messages("one", "two")
    assert best_message(made, text, finder("needle")) is None
    assert best_message((), "needle", finder("needle")) is None


LETTERS = st.one_of(
    st.characters(),
    st.sampled_from("aab  \n‹›:🇨🇿👨\u200d👧\u0301\u1161🏽\x1b[]\x07\u202e\ud800é"),
    st.sampled_from(["needle "]),
)
TEXTS = st.lists(LETTERS, max_size=600).map("".join)


@given(TEXTS, st.integers(1, 300))
def test_any_text_gives_a_piece_of_itself_with_marks_inside(text: str, width: int) -> None:
    found = snippet(text, finder("needle a"), width=width)
    line = inert_line(text)
    assert found.text in line
    assert found.cut_left or line.startswith(found.text)
    assert found.cut_right or line.endswith(found.text)
    assert (found.cut_left or found.cut_right) is (found.text != line)
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in found.text)
    ends = [0, *(end for mark in found.marks for end in (mark.start, mark.end)), len(found.text)]
    assert ends == sorted(ends)
    assert all(mark.start < mark.end for mark in found.marks)


@given(TEXTS)
def test_a_word_that_is_there_is_shown(text: str) -> None:
    found = snippet(f"{text}\nneedle\n{text}", finder("needle"))
    assert "needle" in marked(found)


@given(st.lists(TEXTS, max_size=6))
def test_any_messages_give_one_of_them_or_none(texts: list[str]) -> None:
    made, text = messages(*texts)
    best = best_message(made, text, finder("needle a"))
    assert best is None or 0 <= best < len(made)


def test_a_long_message_of_one_word_repeated_is_no_trouble() -> None:
    for text in (
        "needle " * 9_000,
        "needle" * 10_000,
        "e\u0301" * 30_000,
        "\u0301" * 60_000,
        "‹redacted:" * 6_000,
        "🇨" * 60_000,
    ):
        found = snippet(
            text, Finder([Query("needle", (Term("needle"), Term("redacted needle", is_phrase=True)))], KEYS)
        )
        assert len(found.text) <= 60_000


@pytest.mark.parametrize(
    ("questions", "text", "is_refused"),
    [
        ([], "anything", False),
        (["kettle"], "the kettle", False),
        (["kettle -tea"], "Tea in the kettle", True),
        (["kettle -tea"], "teas in the kettle", False),
        (['kettle -"hot tea"'], "hot, tea", True),
        (["kettle -tea", "cup"], "a cup of tea", False),  # the other question leads to it all the same
        (["kettle -tea", "cup -tea"], "a cup of tea", True),
    ],
)
def test_what_every_question_excludes_is_refused(questions: list[str], text: str, *, is_refused: bool) -> None:
    assert finder(*questions).refuses(text) == is_refused
