"""What people type is read into words, phrases and filters, and whatever they type is answered by one of the two."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from index.errors import QueryError
from index.model import Corpus, Filters, Kind, Query, Term
from index.text.fold import has_word
from index.text.query import MOST_BYTES, MOST_TERMS, parse, parse_many

NOW_MS = 1_795_000_000_000  # 2026-11-18T11:06:40Z
DAY_MS = 86_400_000


def read(text: str) -> Query:
    return parse(text, now_ms=NOW_MS)


def filters(text: str) -> Filters:
    return read(f"word {text}").filters


def included(text: str) -> list[str]:
    return [term.text for term in read(text).terms if not term.is_excluded]


def fault(text: str) -> str:
    with pytest.raises(QueryError) as caught:
        read(text)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_words_phrases_and_exclusions_are_told_apart() -> None:
    assert read('"lost update" postgres -mysql -"dirty read"').terms == (
        Term("lost update", is_phrase=True),
        Term("postgres"),
        Term("mysql", is_excluded=True),
        Term("dirty read", is_phrase=True, is_excluded=True),
    )


@pytest.mark.parametrize(
    "text", ["„ztracená data“", "“ztracená data”", "«ztracená data»", "»ztracená data«", '"ztracená  data"']
)
def test_every_kind_of_quotation_mark_makes_a_phrase(text: str) -> None:
    assert read(text).terms == (Term("ztracená data", is_phrase=True),)


def test_what_is_embedded_is_the_question_without_operators_and_exclusions() -> None:
    assert read('why "two phases" -never kind:doc after:7d?'.replace("7d?", "7d")).text == "why two phases"


@pytest.mark.parametrize("text", ['"foo', "foo “bar", 'foo"', '5" disk', 'a "b c'])
def test_a_quotation_that_never_closes_is_no_syntax(text: str) -> None:
    assert not any(term.is_phrase for term in read(text).terms)


@pytest.mark.parametrize(
    "text",
    ["std::vector", "http://example.org/x", "foo:bar", "NOT", "a:b", "C++", "don't", "50%", "x@y", "a/b", "--force",
     "body:x", "NEAR(a", "^x", "2026.4.10", "POL-358", "grammar::fa", "@scope/pkg", "src/lib/i18n.ts", "qmd://a/b",
     "-5", "-R", "-R)", "from:", "multi-agent", "kind :doc"],
)  # fmt: skip
def test_what_only_looks_like_syntax_is_a_word(text: str) -> None:
    query = read(text)
    assert query.filters == Filters()
    assert not any(term.is_excluded or term.is_phrase for term in query.terms)
    assert query.text == " ".join(text.split())[: len(query.text)]


def test_in_prose_quotation_marks_and_minus_signs_are_punctuation() -> None:
    asked = 'the man page of wget says "see there" about its options -Aq and -R but where can I find it kind:doc'
    query = read(asked)
    assert not any(term.is_phrase or term.is_excluded for term in query.terms)
    assert query.text == asked.replace('"', "").replace("-Aq", "Aq").removesuffix(" kind:doc")
    assert query.filters.kinds == {Kind.DOC}


def test_each_operator_fills_its_filter() -> None:
    assert filters("from:@alice:example.org:8448").senders == {"@alice:example.org:8448"}
    assert filters("in:#room:example.org in:!abc").rooms == {"#room:example.org", "!abc"}
    assert filters("repo:docs").repos == {"docs"}
    assert filters("kind:readme KIND:Doc").kinds == {Kind.README, Kind.DOC}
    assert filters("section:CONFIGURATION").sections == {"CONFIGURATION"}
    assert filters('section:"runtime  modes"').sections == {"RUNTIME MODES"}
    assert filters("tag:Backup area:net confidence:high").tags == {"backup"}
    assert filters("area:net").areas == {"net"}
    assert filters("confidence:high").confidences == {"high"}
    assert filters("has:link").has_link
    assert filters("corpus:chat").corpora == {Corpus.CHAT}


@pytest.mark.parametrize(
    ("value", "expected_ms"),
    [
        ("7d", NOW_MS - 7 * DAY_MS),
        ("12h", NOW_MS - DAY_MS // 2),
        ("2w", NOW_MS - 14 * DAY_MS),
        ("3m", NOW_MS - 90 * DAY_MS),
        ("1y", NOW_MS - 365 * DAY_MS),
        ("99999y", 0),
        ("1970-01-02", DAY_MS),
        ("1970-02", 31 * DAY_MS),
        ("1971", 365 * DAY_MS),
        ("1970-01-02T01:00", DAY_MS + 3_600_000),
        ("1970-01-02T01:00:00+01:00", DAY_MS),
        ("1970-01-02t00:00:00.5z", DAY_MS + 500),
    ],
)
def test_times_are_days_of_utc_moments_or_spans_before_now(value: str, expected_ms: int) -> None:
    assert filters(f"after:{value}").after_ms == expected_ms
    if expected_ms:
        assert filters(f"before:{value}").before_ms == expected_ms


def test_of_two_times_the_narrower_counts() -> None:
    assert filters("after:7d after:1d").after_ms == NOW_MS - DAY_MS
    assert filters("before:1d before:7d").before_ms == NOW_MS - 7 * DAY_MS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from:alice x", "from: cannot be 'alice' (write the full id"),
        ("in:room x", "in: cannot be 'room' (write a room's alias or id"),
        ("in:#room x", "in: cannot be '#room' (write a room's alias or id"),
        ("kind:x y", "kind: cannot be 'x' (one of doc, header"),
        ("has:attachment y", "has: cannot be 'attachment' (only has:link is known)"),
        ("corpus:web y", "corpus: cannot be 'web' (one of chat, forge, notes)"),
        ("before:2026-13-01 y", "before: cannot be '2026-13-01' (write a day"),
        ("after:yesterday y", "after: cannot be 'yesterday'"),
        ("after:٣d y", "after: cannot be"),
        ('tag:"" y', "tag: is empty"),
        ("-kind:doc y", "kind: cannot be turned round"),
        ("y after:1d before:2w", "nothing lies between"),
    ],
)
def test_a_known_operator_with_a_bad_value_is_refused_with_place_problem_and_remedy(text: str, said: str) -> None:
    message = fault(text)
    assert message.startswith("text: ")
    assert said in message


@pytest.mark.parametrize(
    "text", ["", "  ", "*", "?!", '""', "-foo", "()", "kind:doc -foo", "\x00", "🙂", "-", "--", '-"']
)
def test_a_text_without_a_word_gets_a_short_help_line(text: str) -> None:
    assert "holds no word to look for (write words" in fault(text)


def test_operators_alone_are_a_question_by_themselves() -> None:
    query = read("tag:Backup kind:doc")
    assert (query.text, query.terms, query.is_listing) == ("", (), True)
    assert query.filters.tags == {"backup"} and not read("tag:backup disk").is_listing
    assert parse_many(["tag:a", "tag:a"], now_ms=0) == (read("tag:a"),)
    with pytest.raises(QueryError, match="text 2: holds operators alone"):
        parse_many(["disk", "tag:a"], now_ms=0)


def test_a_text_that_is_too_long_is_refused_by_its_bytes() -> None:
    assert read("x" * MOST_BYTES).terms
    assert fault("ž" * (MOST_BYTES // 2) + "x") == "text: is 1001 bytes long (at most 1000 bytes; shorten it)"


def test_the_fault_names_which_text_it_is_about() -> None:
    with pytest.raises(QueryError, match=r"^text 2: kind: "):
        parse_many(["a", "b kind:x"], now_ms=NOW_MS)


def test_of_very_many_words_the_longer_ones_are_looked_up_in_their_order() -> None:
    words = [f"w{'x' * (number % 7)}{number}" for number in range(80)]
    terms = [term.text for term in read(" ".join(words)).terms]
    assert len(terms) == MOST_TERMS
    assert terms == [word for word in words if word in terms]
    assert min(map(len, terms)) >= max(len(word) for word in words if word not in terms)


def test_control_and_direction_characters_do_not_reach_a_term() -> None:
    assert included("a\x00b \u202ec\u202c \ud800 d\x1b[31m\ne\u0301") == ["a", "b", "c", "d", "[31m", "\u00e9"]


def test_one_to_eight_texts_are_taken_and_equal_ones_count_once() -> None:
    assert [query.text for query in parse_many(["b", "a", " b ", "b"], now_ms=NOW_MS)] == ["b", "a"]
    for count in (0, 9):
        with pytest.raises(QueryError, match="texts: "):
            parse_many(["x"] * count, now_ms=NOW_MS)


PIECES = st.sampled_from(
    ["tag:", "foo", "-", '"', "„", "“", "«", " ", "from:", "@a:b", "kind:", "doc", "before:", "7d", "after:", "in:",
     "#r",
     "\x00", "\ud800", "\u202e", "NOT", "(", ")", "*", ":", "žluť", "検索", "🙂", "\n", "section:", "x y"]
)  # fmt: skip


@given(st.one_of(st.text(st.characters(), max_size=300), st.lists(PIECES, max_size=30).map("".join)))
@example('-"')
@example("-from:")
@example('section:"')
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        query = read(text)
    except QueryError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
        return
    assert query.text.strip() or query.filters != Filters()
    assert query.is_listing or 0 < len(query.terms) <= MOST_TERMS
    for term in query.terms:
        assert has_word(term.text)
        assert unicodedata.is_normalized("NFC", term.text)
        assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in term.text)
