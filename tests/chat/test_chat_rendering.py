"""A window as text and as a document."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from index.model import Corpus, EventId, Kind, RoomId, UserId
from ingest.chat.rendering import Utterance, display_name, render, size_bytes, window_document, window_id

ROOM = RoomId("!hash-without-a-server")


def message(n: int, text: str, *, sender: str = "@ann:here", is_emote: bool = False) -> Utterance:
    return Utterance(EventId(f"$m{n}"), UserId(sender), n * 1_000, text, is_emote=is_emote)


def test_each_message_is_a_line_with_the_name_of_its_sender() -> None:
    rendered = render(
        [message(0, "hello"), message(1, "waves", is_emote=True), message(2, "one\ntwo", sender="@bob:x")]
    )
    assert rendered.text == "ann: hello\n* ann waves\nbob: one\n  two"


def test_nobody_can_write_a_line_that_looks_like_somebody_elses() -> None:
    for end in ("\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"):
        rendered = render([message(0, f"hi{end}bob: I confess"), message(1, "yes")])
        assert [line for line in rendered.text.splitlines() if line.startswith("bob")] == []
    assert display_name(UserId("@ann:\nbob: x:here")) == "ann"
    assert "\n" not in display_name(UserId("@a\n\u202eb: c"))
    assert display_name(UserId("@:here")) == "_"
    assert len(display_name(UserId("@" + "x" * 250 + ":here"))) <= 40


TEXTS = st.lists(
    st.tuples(st.text(min_size=1, max_size=900).filter(str.strip), st.sampled_from(["@ann:here", "@ž\n:x", "@b:y"])),
    min_size=1,
    max_size=12,
).map(lambda items: [message(n, text, sender=sender) for n, (text, sender) in enumerate(items)])


@given(TEXTS, st.integers(50, 600))
def test_spans_give_the_words_back_and_parts_cover_the_text(messages: list[Utterance], part_bytes: int) -> None:
    rendered = render(messages, part_bytes)
    assert [record.event for record in rendered.messages] == [m.event for m in messages]
    for record, said in zip(rendered.messages, messages, strict=True):
        words = rendered.text[record.span.start : record.span.end]
        assert words.split() == said.text.split()
    assert sum(map(size_bytes, messages)) == len(rendered.text.encode()) + 1
    assert rendered.parts[0].start == 0 and rendered.parts[-1].end == len(rendered.text)
    assert all(one.end == two.start for one, two in zip(rendered.parts, rendered.parts[1:], strict=False))


@given(st.lists(st.text("abc ", min_size=1, max_size=90).filter(str.strip), min_size=1, max_size=30))
def test_short_messages_are_never_cut_between_two_vectors(texts: list[str]) -> None:
    rendered = render([message(n, text) for n, text in enumerate(texts)], 200)
    starts = {record.span.start - len("ann: ") for record in rendered.messages}
    assert {part.start for part in rendered.parts} <= starts
    assert all(part.end - part.start <= 200 for part in rendered.parts)


def test_a_message_of_60_kb_gets_many_parts_and_an_oversized_chunk() -> None:
    document = window_document(ROOM, "Talk", EventId("$m0"), [message(0, "word " * 12_000)], max_bytes=1_000)
    assert document is not None
    (chunk,) = document.chunks
    assert len(chunk.parts) > 50 and chunk.flags == ("oversize",)


def test_a_window_document_says_where_when_and_who() -> None:
    said = [message(1, "see it"), replace(message(2, "there"), has_link=True, sent_ms=500, was_cut=True)]
    document = window_document(ROOM, "Talk", EventId("$gone"), said, max_bytes=1_000)
    assert document is not None
    assert (document.id, document.source) == ("chat:!hash-without-a-server $gone", "chat:!hash-without-a-server")
    assert (document.corpus, document.kind, document.title, document.room) == (Corpus.CHAT, Kind.WINDOW, "Talk", ROOM)
    assert (document.first_ms, document.last_ms, document.has_link) == (500, 1_000, True)
    assert document.chunks[0].flags == ("cut",)
    assert [m.sender for m in document.chunks[0].messages] == ["@ann:here", "@ann:here"]


def test_an_empty_window_has_no_document() -> None:
    assert window_document(ROOM, "Talk", EventId("$m"), [], max_bytes=1) is None
    assert window_id(ROOM, EventId("$m")) == f"chat:{ROOM} $m"


def test_the_revision_changes_with_words_senders_and_times_only() -> None:
    def revision(title: str, *said: Utterance) -> str:
        document = window_document(ROOM, title, EventId("$m0"), said, max_bytes=1_000)
        assert document is not None
        return document.revision

    base = revision("Talk", message(0, "a"))
    assert revision("Renamed", message(0, "a")) == base
    others = [message(0, "b"), message(0, "a", sender="@ann:there"), replace(message(0, "a"), sent_ms=7)]
    assert base not in {revision("Talk", other) for other in others}
