"""Pages and sync answers are made of whatever came; nothing in them is lost without being counted."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.records import batch_in, event_id, is_id, page_in
from matrix.shape import parse
from tests.matrix.test_shape import values

events = st.lists(st.dictionaries(st.sampled_from(["type", "content", "event_id"]), values) | values, max_size=5)


@given(events)
def test_a_page_keeps_every_object_in_order_and_counts_the_rest(chunk: list[Any]) -> None:
    page = page_in({"chunk": chunk, "end": "t2"}, came_from="t1")
    assert list(page.events) == [entry for entry in chunk if isinstance(entry, dict)]
    assert len(page.events) + page.odd == len(chunk)


def test_a_page_without_an_end_is_the_last_and_an_empty_one_with_an_end_is_not() -> None:
    assert page_in({"chunk": [], "start": "t1"}, came_from="t1").end is None
    assert page_in({"chunk": [], "start": "t1", "end": "t2"}, came_from="t1").end == "t2"


def test_a_page_that_ends_where_it_began_does_not_go_round_for_ever() -> None:
    assert page_in({"chunk": [], "start": "t1", "end": "t1"}, came_from="t1").end is None


@given(values, values, values, values)
def test_no_sync_answer_is_too_odd(rooms: Any, joined: Any, timeline: Any, events: Any) -> None:
    for answer in (
        {"rooms": rooms, "account_data": rooms},
        {"rooms": {"join": joined, "leave": joined, "invite": joined}},
        {"rooms": {"join": {"!a": joined}, "leave": {"!b": joined}, "invite": {"!c": joined}}},
        {"rooms": {"join": {"!a": {"timeline": timeline, "state": timeline}}}},
        {"rooms": {"join": {"!a": {"timeline": {"events": events}}}}},
    ):
        batch = batch_in(parse_object(answer) | {"next_batch": "s1"})
        assert batch.next_batch == "s1"


@given(events)
def test_a_timeline_keeps_every_object_and_counts_the_rest(told: list[Any]) -> None:
    answer = {"rooms": {"join": {"!a": {"timeline": {"events": told}}}}, "next_batch": "s1"}
    (update,) = batch_in(parse_object(answer)).joined
    assert len(update.timeline) + update.odd == len(told)
    assert not update.is_limited


@pytest.mark.parametrize(
    "timeline",
    [{"limited": True}, {"limited": "yes"}, {"limited": None}, {"events": {}}, {"events": None}, [], 5, "text"],
)
def test_a_timeline_that_cannot_be_read_is_a_gap_and_not_silence(timeline: object) -> None:
    answer = {"rooms": {"join": {"!a": {"timeline": timeline}}}, "next_batch": "s1"}
    assert batch_in(parse_object(answer)).joined[0].is_limited


def test_a_room_whose_block_is_empty_or_odd_is_still_told() -> None:
    answer = {"rooms": {"leave": {"!hash": {}}, "invite": {"!other": None}}, "next_batch": "s1"}
    batch = batch_in(parse_object(answer))
    assert [update.room for update in batch.left] == ["!hash"]
    assert [invitation.room for invitation in batch.invited] == ["!other"]


@pytest.mark.parametrize("found", [None, 5, "", "$", "no sigil", "$" + "x" * 255, "$two\nlines", "$\ud800"])
def test_an_id_that_no_homeserver_could_know_is_none(found: object) -> None:
    assert event_id({"event_id": found}) is None  # type: ignore[dict-item]  # odd on purpose


@pytest.mark.parametrize(
    ("text", "sigil"), [("!hash", "!"), ("!old:example.org", "!"), ("$a/b+c", "$"), ("#ž:hs", "#")]
)
def test_ids_of_every_room_version_are_ids(text: str, sigil: str) -> None:
    assert is_id(text, sigil)


def parse_object(answer: object) -> dict[str, Any]:
    value = parse(json.dumps(answer).encode())
    assert isinstance(value, dict)
    return value
