"""One raw event in, one record out. Numbers in comments are points of the list of Matrix pitfalls."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import RoomId
from ingest.chat.content import CUT_MARK, MAX_TEXT_BYTES
from ingest.chat.events import (
    MAX_TIME_MS,
    Edited,
    Encrypted,
    Extracted,
    Nothing,
    Odd,
    Pruned,
    Redacted,
    Said,
    StateChange,
    clamped_ms,
    extract,
)
from tests.chat.raw_events import raw_edit, raw_message, raw_redaction, raw_state

Read = Callable[..., Extracted]


def text_of(record: Extracted) -> str:
    assert isinstance(record, Said | Edited)
    return record.content.text


@pytest.mark.parametrize(
    "extra",
    [
        {"format": None, "formatted_body": None},
        {"format": 7, "formatted_body": ["x"]},
        {"msgtype": None},
        {"msgtype": "org.example.custom"},
        {"msgtype": 5},
        {"info": "broken", "url": None, "file": {"url": 3}},
        {"m.relates_to": None},
        {"m.relates_to": 3},
        {"m.relates_to": ["m.replace"]},
        {"m.relates_to": {"rel_type": "m.replace", "event_id": 4}},
        {"m.relates_to": {"rel_type": "m.thread"}},
        {"m.relates_to": {"m.in_reply_to": "x"}},
        {"m.mentions": 1},
    ],
)
def test_a_body_is_text_whatever_else_is_malformed(read: Read, extra: dict[str, object]) -> None:  # 1, 35
    record = read(raw_message("$m", extra, body="plain words"))
    assert isinstance(record, Said)
    assert record.content.text == "plain words"
    assert record.thread_root is None and record.reply_to is None


@pytest.mark.parametrize("unsigned", [None, 3, [], {"prev_content": None}, {"redacted_because": None}])
def test_odd_surroundings_of_content_do_not_matter(read: Read, unsigned: object) -> None:
    assert text_of(read(raw_message(body="plain words") | {"unsigned": unsigned})) == "plain words"


def test_a_message_with_a_state_key_is_read_but_cannot_be_edited(read: Read) -> None:
    for key in (None, "", "x"):
        record = read(raw_message(body="words") | {"state_key": key})
        assert isinstance(record, Said) and record.has_state_key
    assert isinstance(read(raw_edit("$e", "$m", "new") | {"state_key": None}), Nothing)


@pytest.mark.parametrize(
    ("raw", "event"),
    [
        (None, None),
        ([], None),
        ("text", None),
        ({}, None),
        ({"event_id": 4}, None),
        ({"event_id": "$" + "x" * 300}, None),
        ({"event_id": "$\ud800"}, None),
        ({"event_id": "$a"}, "$a"),
        ({"event_id": "$a", "type": "m.room.message", "sender": "@a:b"}, "$a"),
        ({"event_id": "$a", "type": "m.room.message", "sender": "@a:b", "content": []}, "$a"),
        ({"event_id": "$a", "type": "m.sticker", "sender": "@a:b"}, "$a"),
        ({"event_id": "$a", "type": "m.room.message", "sender": 4, "content": {"body": "x"}}, "$a"),
        ({"event_id": "$a", "type": 4, "sender": "@a:b", "content": {"body": "x"}}, "$a"),
    ],
)
def test_an_unusable_event_is_named_for_quarantine(read: Read, raw: object, event: str | None) -> None:  # 2
    record = read(raw)
    assert isinstance(record, Odd)
    assert record.event == event


@pytest.mark.parametrize(
    ("claimed", "kept"),
    [
        ("1000", 0),
        (None, 0),
        (True, 0),
        ({}, 0),
        (-5, 0),
        (0, 0),
        (12.9, 12),
        (float("nan"), 0),
        (float("inf"), MAX_TIME_MS),
        (2**53 - 1, MAX_TIME_MS),
        (2**70, MAX_TIME_MS),
        (1e300, MAX_TIME_MS),
    ],
)
def test_any_time_can_be_claimed(read: Read, claimed: object, kept: int) -> None:  # 2, 16, 55
    record = read(raw_message(body="x", ms=claimed))
    assert isinstance(record, Said) and record.claimed_ms == kept


def test_times_are_clamped_into_the_life_of_the_room() -> None:
    assert clamped_ms(5, created_ms=100, now_ms=1_000) == 100
    assert clamped_ms(500, created_ms=100, now_ms=1_000) == 500
    assert clamped_ms(MAX_TIME_MS, created_ms=100, now_ms=1_000) == 1_000 + 5 * 60_000
    # A room that claims to be made in the future does not push its messages there.
    assert clamped_ms(500, created_ms=MAX_TIME_MS, now_ms=1_000) == 1_000


def test_an_edit_is_read_from_its_new_content_alone(read: Read) -> None:
    record = read(raw_edit("$e", "$m", "new words"))
    assert isinstance(record, Edited)
    assert (record.target, record.content.text) == ("$m", "new words")


@pytest.mark.parametrize("new_content", [None, "words", ["words"], 4])
def test_an_edit_without_new_content_is_not_indexed_at_all(read: Read, new_content: object) -> None:  # 20
    raw = raw_edit("$e", "$m", "forged")
    raw["content"]["m.new_content"] = new_content
    assert isinstance(read(raw), Nothing)


@pytest.mark.parametrize(
    ("version", "outer", "inner", "target", "disputed"),
    [
        ("10", "$a", None, "$a", False),
        ("10", None, "$a", "$a", False),
        ("11", "$a", None, "$a", False),
        ("11", None, "$a", "$a", False),
        ("12", "$a", "$a", "$a", False),
        ("10", "$a", "$b", "$a", True),
        ("11", "$a", "$b", "$b", True),
        ("12", "$a", "$b", "$b", True),
        ("9", 4, "$b", "$b", False),
        ("org.example.unstable", "$a", "$b", "$b", True),
    ],
)
def test_the_target_of_a_redaction_is_found_in_either_place(
    read: Read, version: str, outer: object, inner: object, target: str, disputed: bool
) -> None:  # 25
    raw = raw_redaction("$r", "$x") | {"redacts": outer, "content": {"redacts": inner}}
    record = read(raw, version=version)
    assert isinstance(record, Redacted)
    assert (record.target, record.is_disputed) == (target, disputed)


def test_a_redaction_without_a_target_is_nothing(read: Read) -> None:
    assert isinstance(read(raw_redaction("$r", "$x") | {"redacts": None, "content": {}}), Nothing)


def test_an_emptied_event_is_pruned_with_or_without_a_reason(read: Read) -> None:  # 27
    bare = raw_message("$m") | {"content": {}}
    assert isinstance(read(bare), Pruned)
    assert isinstance(read(bare | {"unsigned": {"redacted_because": {"type": "m.room.redaction"}}}), Pruned)
    assert isinstance(read(bare | {"type": "m.poll.start"}), Pruned)
    told = raw_message("$m", body="words") | {"unsigned": {"redacted_because": {"event_id": "$r"}}}
    assert isinstance(read(told), Pruned)


def test_encrypted_events_keep_nothing_of_their_content(read: Read) -> None:  # 38
    record = read(raw_message("$m") | {"type": "m.room.encrypted", "content": {"ciphertext": "secret"}})
    assert isinstance(record, Encrypted)
    assert "secret" not in repr(record)


@pytest.mark.parametrize("content", [{}, None, {"algorithm": "x"}])
def test_a_state_event_counts_whatever_its_content(read: Read, content: object) -> None:
    record = read(raw_state("m.room.encryption", content))
    assert isinstance(record, StateChange) and record.type == "m.room.encryption"


@pytest.mark.parametrize("kind", ["m.reaction", "m.sticker", "m.call.invite", "m.poll.response", "m.poll.end", "x.y"])
def test_events_without_words_are_nothing(read: Read, kind: str) -> None:  # 34
    assert isinstance(read(raw_message(body="text that nobody is shown") | {"type": kind}), Nothing)


def test_a_thread_keeps_its_root_and_drops_the_dummy_reply(read: Read) -> None:  # 33
    relation = {"rel_type": "m.thread", "event_id": "$root", "m.in_reply_to": {"event_id": "$last"}}
    dummy = read(raw_message("$m", {"m.relates_to": {**relation, "is_falling_back": True}}, body="x"))
    real = read(raw_message("$m", {"m.relates_to": {**relation, "is_falling_back": False}}, body="x"))
    assert isinstance(dummy, Said) and (dummy.thread_root, dummy.reply_to) == ("$root", None)
    assert isinstance(real, Said) and (real.thread_root, real.reply_to) == ("$root", "$last")


def test_hostile_characters_become_storable(read: Read) -> None:  # 36
    text = text_of(read(raw_message(body="a\0b\ud800c\udfffd\r\ne\u0301")))
    assert text == "a\ufffdb\ufffdc\ufffdd\n\xe9"
    text.encode()


def test_a_body_of_60_kb_is_kept_and_a_larger_one_is_cut_and_marked(read: Read) -> None:
    whole = read(raw_message(body="word " * 12_000))
    assert isinstance(whole, Said) and not whole.content.was_cut
    cut = read(raw_message(body="ž" * 60_000))
    assert isinstance(cut, Said) and cut.content.was_cut
    assert cut.content.text.endswith(CUT_MARK)
    assert len(cut.content.text.encode()) <= MAX_TEXT_BYTES


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["body", "formatted_body", "filename", "m.relates_to", "m.new_content", "m.poll", "m.text", "msgtype", "redacts"]
)
TYPES = st.sampled_from(["m.room.message", "m.poll.start", "m.room.redaction", "m.room.member", "m.message"])


@given(
    kind=TYPES | JSON,
    content=st.dictionaries(KEYS, JSON, max_size=5) | JSON,
    rest=st.dictionaries(st.sampled_from(["unsigned", "state_key", "redacts", "origin_server_ts", "sender"]), JSON),
)
def test_no_json_raises_and_all_text_can_be_stored(kind: object, content: object, rest: dict[str, object]) -> None:
    raw = {"event_id": "$e", "sender": "@a:b", "type": kind, "content": content, **rest}
    record = extract(raw, room=RoomId("!r"), version="11", scrub=str)
    if isinstance(record, Said | Edited):
        record.content.text.encode()
        assert "\0" not in record.content.text
