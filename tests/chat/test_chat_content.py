"""The words of a message, in every form that clients send. Numbers are points of the list of Matrix pitfalls."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.chat.content import Content, without_fallback, without_quotes
from ingest.chat.events import Edited, Extracted, Said
from ingest.chat.formatted import SPOILER, read_formatted
from tests.chat.raw_events import raw_edit, raw_message

Read = Callable[..., Extracted]

REPLY = {"m.relates_to": {"m.in_reply_to": {"event_id": "$before"}}}
FALLBACK = "> <@bob:here> their words\n> more of theirs\n\n"


def said(read: Read, **content: object) -> Said:
    record = read(raw_message("$m", content))
    assert isinstance(record, Said)
    return record


def words(read: Read, **content: object) -> str:
    return said(read, **content).content.text


def test_only_the_leading_fallback_of_a_reply_is_cut_off(read: Read) -> None:  # 32, report 15
    own = "> a quote of my own\nand\n```\n> fenced\n```"
    assert words(read, body=FALLBACK + own, **REPLY) == own
    assert words(read, body="> * <@bob:here> waves\n\nhello", **REPLY) == "hello"


def test_a_reply_that_begins_with_the_writers_own_quote_keeps_it(read: Read) -> None:
    assert words(read, body="> all of this is mine\n\nyes", **REPLY) == "> all of this is mine\n\nyes"


def test_a_quote_without_a_reply_is_the_writers_own(read: Read) -> None:
    assert words(read, body=FALLBACK + "hello") == (FALLBACK + "hello")
    html = "<mx-reply>x</mx-reply>hello"
    assert words(read, body=FALLBACK + "hello", formatted_body=html) == (FALLBACK + "hello")


def test_mx_reply_alone_marks_the_fallback_of_a_reply(read: Read) -> None:
    html = "\n <mx-reply><blockquote>their words</blockquote></mx-reply>hello"
    assert words(read, body="> their words\n\nhello", formatted_body=html, **REPLY) == "hello"


@pytest.mark.parametrize(
    ("body", "html", "left"),
    [
        (FALLBACK + "fixed", None, "fixed"),
        ("> their words\n\nfixed", "<mx-reply>x</mx-reply>fixed", "fixed"),
        ("> my own quote\n\nfixed", None, "> my own quote\n\nfixed"),
    ],
)
def test_an_edit_whose_original_may_be_unknown_loses_its_fallback_by_one_sign(
    read: Read, body: str, html: str | None, left: str
) -> None:
    raw = raw_edit("$e", "$m", body)
    raw["content"]["m.new_content"] |= {} if html is None else {"formatted_body": html}
    edit = read(raw)
    assert isinstance(edit, Edited) and edit.content.text == left


def test_what_an_answer_quotes_in_its_markup_alone_is_marked_as_a_quotation(read: Read) -> None:
    html = "<blockquote>their<br>words<blockquote>deeper</blockquote></blockquote><p>mine</p>"
    assert words(read, body="their words deeper mine", formatted_body=html, **REPLY) == (
        "> their\n> words\n> deeper\nmine"
    )
    assert words(read, body="their words deeper mine", formatted_body=html) == "their words deeper mine"
    marked = "> their\n> words\n> > deeper\n\nmine"
    assert words(read, body=marked, formatted_body=html, **REPLY) == marked
    lazy = "> their\nwords\ndeeper\n\nmine"
    assert words(read, body=lazy, formatted_body=html, **REPLY) == "> their\n> words\n> deeper\nmine"
    covered = html + "<span data-mx-spoiler>x</span>"
    assert words(read, body="their words mine x", formatted_body=covered).startswith("> their\n> words\n> deeper\nmine")


def test_without_quotations_neither_their_lines_nor_their_links_are_left(read: Read) -> None:
    body = "> see https://secret.example/x\n>more\n  > indented\nmine https://mine.example/y\n\n> end"
    html = '<a href="https://other.example/">other</a>'
    content = without_quotes(said(read, body=body, formatted_body=html, **REPLY).content)
    assert (content.text, content.links) == ("mine https://mine.example/y", ("https://mine.example/y",))
    assert without_quotes(said(read, body="> all of it", **REPLY).content).text == ""
    untouched = said(read, body="a > b", formatted_body=html).content
    assert without_quotes(untouched) is untouched


@given(st.lists(st.sampled_from(["> x", ">y", " > z", "own", "", "own > not"]), max_size=8).map("\n".join))
def test_every_line_of_the_writers_own_outlives_the_cutting_of_quotations(text: str) -> None:
    left = without_quotes(Content(text.strip())).text
    assert ">" not in {line.strip()[:1] for line in left.split("\n")}
    assert [line for line in left.split("\n") if line.strip()] == [
        line for line in text.split("\n") if line.strip() and not line.strip().startswith(">")
    ]


@given(st.lists(st.sampled_from(["> <@a:b> x", "> y", ">", "", "own", "> own", ">own"]), max_size=8))
def test_what_follows_the_first_own_line_is_never_touched(lines: list[str]) -> None:
    own = [n for n, line in enumerate(lines) if not (line.startswith("> ") or line == ">")]
    rest = without_fallback("\n".join(lines))
    if own and lines[own[0]]:
        assert rest == "\n".join(lines[own[0] :])


@pytest.mark.parametrize("msgtype", ["m.image", "m.file", "m.audio", "m.video"])
def test_a_caption_is_told_from_a_file_name(read: Read, msgtype: str) -> None:  # 34
    assert words(read, msgtype=msgtype, body="IMG_1.png", url="mxc://a/b") == "[IMG_1.png]"
    assert words(read, msgtype=msgtype, body="IMG_1.png", filename="IMG_1.png") == "[IMG_1.png]"
    assert words(read, msgtype=msgtype, body="the new rack", filename="IMG_1.png") == "the new rack [IMG_1.png]"
    assert words(read, msgtype=msgtype, filename="IMG_1.png") == "[IMG_1.png]"
    assert words(read, msgtype=msgtype, body="IMG_1.png", filename=7) == "[IMG_1.png]"


def test_an_emote_and_a_notice_are_known_as_such(read: Read) -> None:
    assert said(read, msgtype="m.emote", body="waves").content.is_emote
    assert said(read, msgtype="m.notice", body="done").content.is_notice


def test_a_location_is_its_description(read: Read) -> None:
    assert words(read, msgtype="m.location", body="Town hall", geo_uri="geo:1,2") == "Town hall"


@pytest.mark.parametrize("msgtype", ["m.server_notice", "m.key.verification.request"])
def test_messages_of_machines_to_clients_have_no_words(read: Read, msgtype: str) -> None:
    assert words(read, msgtype=msgtype, body="text") == ""


def test_extensible_text_is_read_only_where_a_body_is_missing(read: Read) -> None:
    array = [{"mimetype": "text/html", "body": "<b>rich</b>"}, {"body": "plain"}]
    assert words(read, **{"m.text": array}) == "plain"
    assert words(read, body=4, **{"m.text": array}) == "plain"
    assert words(read, body="the body", **{"m.text": array}) == "the body"
    assert words(read, **{"m.text": array[:1]}) == "rich"
    assert words(read, **{"org.matrix.msc1767.text": "unstable"}) == "unstable"
    assert words(read, **{"m.text": [3, None, {"body": 4}]}) == ""


def poll(read: Read, kind: str, content: object) -> str:
    record = read(raw_message() | {"type": kind, "content": content})
    assert isinstance(record, Said)
    return record.content.text


def test_polls_are_question_and_answers_in_both_forms(read: Read) -> None:
    stable = {
        "m.poll": {
            "question": {"m.text": [{"body": "Tea?"}]},
            "answers": [{"m.id": "1", "m.text": [{"body": "yes"}]}, {"m.id": "2", "m.text": [{"body": "no"}]}, 7],
        },
        "m.text": [{"body": "Tea? yes no"}],
    }
    unstable = {
        "org.matrix.msc3381.poll.start": {
            "question": {"org.matrix.msc1767.text": "Tea?", "body": "Tea?"},
            "answers": [{"id": "1", "org.matrix.msc1767.text": "yes"}, {"id": "2", "org.matrix.msc1767.text": "no"}],
        },
        "org.matrix.msc1767.text": "fallback",
    }
    assert poll(read, "m.poll.start", stable) == "Tea?\n- yes\n- no"
    assert poll(read, "org.matrix.msc3381.poll.start", unstable) == "Tea?\n- yes\n- no"
    assert poll(read, "m.poll.start", {"m.poll": 3, "m.text": [{"body": "what is left"}]}) == "what is left"


SPOILED = [
    "the murderer is <span data-mx-spoiler>hidden</span> of course",
    'the murderer is <span data-mx-spoiler="the end">hidden</span> of course',
    "the murderer is <SPAN class='x' DATA-MX-SPOILER>hid<span>den</span> hidden</SPAN> of course",
    "the murderer is <span data-mx-spoiler><b>hidden<br>hidden</b></span> of course",
]


@pytest.mark.parametrize("html", SPOILED)
def test_covered_words_are_not_in_the_text(read: Read, html: str) -> None:
    content = said(read, body="the murderer is hidden of course", formatted_body=html).content
    assert content.text == f"the murderer is {SPOILER} of course"
    assert content.has_spoiler


@pytest.mark.parametrize(
    "html",
    [
        "a <span data-mx-spoiler>hidden",
        "a <span data-mx-spoiler hidden",
        "a <span data-mx-spoiler/>hidden",
        'a <span title="<" data-mx-spoiler>hidden</span>',
        "a <!-- > --><span data-mx-spoiler>hidden</span>",
        "a " + "<b>" * 20_000 + "<span data-mx-spoiler>hidden</span>",
        "a " + "<span data-mx-spoiler>" * 3_000 + "hidden",
    ],
)
def test_broken_and_hostile_markup_uncovers_nothing(read: Read, html: str) -> None:
    content = said(read, body="a hidden", formatted_body=html).content
    assert "hidden" not in content.text
    assert content.has_spoiler


def test_a_covered_link_is_no_link(read: Read) -> None:
    html = 'see <span data-mx-spoiler><a href="https://x.example/hidden">x</a></span>'
    assert said(read, body="see https://x.example/hidden", formatted_body=html).content.links == ()


def test_a_spoiler_in_a_caption_is_covered_too(read: Read) -> None:
    html = "<span data-mx-spoiler>hidden</span> end"
    content = said(read, msgtype="m.image", body="hidden end", filename="a.png", formatted_body=html).content
    assert content.text == f"{SPOILER} end [a.png]"


def test_links_come_from_the_text_and_from_markup_but_not_from_pills(read: Read) -> None:
    html = '<a href="https://two.example/?a=1&amp;b=2">two</a> <a href="https://matrix.to/#/@ann:here">ann</a>'
    content = said(read, body="one https://one.example/x. two", formatted_body=html).content
    assert content.links == ("https://one.example/x", "https://two.example/?a=1&b=2")
    assert not said(read, body="no link: ftp, mailto").content.has_link


def test_everything_that_is_kept_went_through_the_scrubber(read: Read) -> None:  # 30
    secret = "".join(random.Random(7).choices("abcdef0123456789", k=24))
    forms: list[dict[str, object]] = [
        {"body": f"key {secret}"},
        {"msgtype": "m.image", "body": f"caption {secret}", "filename": "a.png"},
        {"msgtype": "m.file", "body": f"{secret}.txt"},
        {"msgtype": "m.image", "body": "x", "filename": f"{secret}.png"},
        {"body": "x", "formatted_body": f'<a href="https://x.example/{secret}">x</a>'},
        {"body": "x", "formatted_body": f"<span data-mx-spoiler>x</span> {secret}"},
        {"m.text": [{"body": secret}]},
    ]
    edit = raw_edit("$e", "$m", secret)
    raws = [raw_message("$m", form) for form in forms] + [edit]
    raws.append(
        raw_message() | {"type": "m.poll.start", "content": {"m.poll": {"question": secret, "answers": [secret]}}}
    )
    for raw in raws:
        record = read(raw, scrub=lambda text: text.replace(secret, "***"))
        assert "***" in repr(record)
        assert secret not in repr(record)


def test_a_secret_at_the_cut_is_scrubbed_before_it_is_cut(read: Read) -> None:
    secret = "".join(random.Random(8).choices("abcdef0123456789", k=40))
    body = "x" * 59_970 + secret + " tail" * 100  # no blank near the cut at which the rest of it would fall off
    record = read(raw_message(body=body), scrub=lambda text: text.replace(secret, "***"))
    assert isinstance(record, Said) and secret[:8] not in record.content.text


@given(st.text(alphabet="<>/ab \"'=-!&;spandtmxoiler", max_size=300))
def test_markup_of_any_shape_is_read(html: str) -> None:
    read_formatted(html)
