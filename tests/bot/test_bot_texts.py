"""What the bot says: one event, plain and formatted alike, that pings nobody and carries nobody's markup."""

import html
import json
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.inline import Piece, harmless
from bot.render import (
    MAX_CONTENT_BYTES,
    NOTHING_FOUND,
    Line,
    Results,
    Shown,
    day,
    fitting,
    help_text,
    notice,
    remedy,
    replying,
    results,
    usage,
)
from index.errors import EngineError, MatrixError, QueryError, StoreError
from index.model import EventId, Snippet, Span

LINK = "https://matrix.to/#/!room/$event?via=example.org&via=b.example"
HIT = Shown("alice, 2026-11-01 10:00 UTC, #ops:example.org", LINK, (Line("alice", Snippet("the key", (Span(4, 7),))),))
TAG = re.compile(r'</?(?:strong|br)>|<a href="https://[^"<>\s]*">|</a>')


def same_in_plain(formatted: str) -> str:
    """The formatted body as a client without formatting would show it."""
    text = re.sub(r'<a href="([^"]*)">[^<]*</a>', r"\1", formatted).replace("<br>", "\n")
    return html.unescape(re.sub(r"</?strong>", "", text))


def assert_sound(pieces: list[Piece]) -> None:
    content = notice(pieces)
    body, formatted = str(content["body"]), str(content["formatted_body"])
    assert same_in_plain(formatted) == body
    assert "<" not in TAG.sub("", formatted) and ">" not in TAG.sub("", formatted)
    assert not re.search(r"@\S", body.replace("@\u200b", ""))
    assert content["m.mentions"] == {} and content["msgtype"] == "m.notice"
    assert len(json.dumps(content, ensure_ascii=False).encode()) < 32 * 1024


def test_a_hit_says_who_when_and_where_with_a_link_and_marks_what_was_found() -> None:
    content = notice(results(Results((HIT, replace(HIT, is_weak=True)), more=3), prefix="!search"))
    assert content["body"] == (
        f"1. alice, 2026-11-01 10:00 UTC, #ops:example.org · {LINK}\nalice: the key\n\n"
        f"2. alice, 2026-11-01 10:00 UTC, #ops:example.org (weak) · {LINK}\nalice: the key\n\n"
        "3 more: !search more, or react with ▶."
    )
    assert "alice: the <strong>key</strong><br>" in str(content["formatted_body"])
    assert f'<a href="{html.escape(LINK)}">open</a>' in str(content["formatted_body"])


def test_nothing_found_is_the_same_whatever_was_hidden() -> None:
    assert notice(results(Results(()), prefix="!search"))["body"] == NOTHING_FOUND


def test_uncertain_answers_and_notes_say_so() -> None:
    page = Results((replace(HIT, is_weak=True),), is_certain=False, notes=("Found by words alone.",))
    body = str(notice(results(page, prefix="!search"))["body"])
    assert body.startswith("Nothing certain") and body.endswith("Found by words alone.")


def test_a_withdrawn_hit_keeps_its_number_and_none_of_its_text() -> None:
    pieces = results(Results((replace(HIT, is_withdrawn=True), HIT)), prefix="!search")
    assert str(notice(pieces)["body"]).startswith("1. (withdrawn: its source is gone)\n\n2. alice")


def test_an_answer_goes_into_the_askers_thread_or_is_a_reply() -> None:
    content = notice(usage("!search"))
    asked, root = EventId("$asked"), EventId("$root")
    assert replying(content, to=asked, thread=None)["m.relates_to"] == {"m.in_reply_to": {"event_id": "$asked"}}
    assert replying(content, to=asked, thread=root)["m.relates_to"] == {
        "rel_type": "m.thread",
        "event_id": "$root",
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": "$asked"},
    }


def test_errors_become_remedies_without_paths() -> None:
    assert "From: cannot" in str(
        notice(remedy(QueryError("text: from: cannot be 'x' (write the full id)"), "!s"))["body"]
    )
    for error in (
        StoreError("/srv/x/index.sqlite: bad"),
        EngineError("/srv/x: bad"),
        MatrixError("hs: /_matrix/x: bad"),
    ):
        assert "/" not in str(notice(remedy(error, "!search"))["body"])


def test_help_is_sound() -> None:
    assert_sound(help_text("!search"))


HOSTILE = [
    "@room wake up",
    "@alice:example.org",
    "@\u200broom",
    "<b>bold</b><script>alert(1)</script><img src=x>",
    '<a href="https://matrix.to/#/@alice:example.org">x</a>',
    "https://matrix.to/#/%40alice:example.org",
    "matrix:u/alice:example.org matrix://u/alice",
    "\u202edesrever\u2066 \x1b[31mred\x00",
    "&lt;b&gt; &amp;amp; ' \" `",
    "</b></strong></a><br>",
    "\ud800 lone",
    "multi\nline\u2028more",
    "｠" * 300,
]
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=300), st.text("@<>&b/ro\u200bm%40\"':#!\n", max_size=80))


@st.composite
def snippets(draw: st.DrawFn) -> Snippet:
    text = harmless(draw(TEXTS)).replace("\u200b", "")  # as `index.text.snippet` gives it: inert, on one line
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    marks = tuple(Span(start, end) for start, end in zip(places[::2], places[1::2], strict=False))
    return Snippet(text, marks, draw(st.booleans()), draw(st.booleans()))


SHOWN = st.builds(
    Shown,
    TEXTS,
    st.none() | st.just(LINK),
    st.lists(st.builds(Line, TEXTS, snippets()), max_size=3).map(tuple),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(SHOWN, max_size=6), st.integers(0, 5), st.lists(TEXTS, max_size=2))
def test_no_text_of_strangers_becomes_markup_or_a_ping(shown: list[Shown], more: int, notes: list[str]) -> None:
    assert_sound(results(Results(tuple(shown), more=more, notes=tuple(notes)), prefix="!search"))


@given(snippets())
def test_marks_keep_their_words_when_pings_are_broken(snippet: Snippet) -> None:
    shown = Shown("x", None, (Line("", snippet),))
    formatted = str(notice(results(Results((shown,)), prefix="!search"))["formatted_body"])
    marked = [html.unescape(found).replace("\u200b", "") for found in re.findall(r"<strong>(.*?)</strong>", formatted)]
    assert marked == [text for mark in snippet.marks if (text := snippet.text[mark.start : mark.end])]


def test_what_does_not_fit_is_counted() -> None:
    long = replace(HIT, lines=(Line("alice", Snippet("\U0001f980" * 1_000)),))
    page = fitting(Results((long,) * 10, more=2), prefix="!search")
    assert len(page.shown) + page.more == 12
    assert 1 <= len(page.shown) < 10
    content = notice(results(page, prefix="!search"))
    assert len(json.dumps(content, ensure_ascii=False).encode()) <= MAX_CONTENT_BYTES


def test_a_time_that_no_calendar_holds_is_unknown() -> None:
    assert day(0) == "1970-01-01 00:00 UTC"
    assert {day(2**70), day(-(2**70)), day(None)} == {"unknown time"}
