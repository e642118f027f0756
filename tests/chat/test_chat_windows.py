"""Cutting a room into windows."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import EventId, RoomId, UserId
from ingest.chat.events import extract
from ingest.chat.rendering import MAIN, Lane, Utterance, size_bytes
from ingest.chat.rules import Rules
from ingest.chat.windows import Bounds, WindowRow, place, windows
from tests.chat.memory_room import MemoryRoom
from tests.chat.raw_events import raw_message

ROOM = RoomId("!room:here")
HOUR = 3_600_000
BOUNDS = Bounds(gap_ms=HOUR, max_bytes=100)


def message(n: int, ms: int, text: str = "words", *, lane: str | None = None, doubtful: bool = False) -> Utterance:
    thread: Lane = EventId(lane) if lane else MAIN
    return Utterance(EventId(f"$m{n}"), UserId("@ann:here"), ms, text, thread, has_doubtful_time=doubtful)


def groups(messages: list[Utterance], bounds: Bounds = BOUNDS) -> list[list[str]]:
    return [[m.event for m in window.messages] for window in windows(messages, room=ROOM, bounds=bounds)]


def test_a_silence_longer_than_the_gap_starts_a_new_window() -> None:
    assert groups([message(0, 0), message(1, HOUR), message(2, 2 * HOUR + 1)]) == [["$m0", "$m1"], ["$m2"]]


def test_a_window_closes_before_it_would_exceed_its_bytes() -> None:
    each = size_bytes(message(0, 0, "x" * 30))
    assert groups([message(n, n, "x" * 30) for n in range(5)]) == [["$m0", "$m1"], ["$m2", "$m3"], ["$m4"]]
    assert 2 * each <= BOUNDS.max_bytes < 3 * each


def test_a_message_larger_than_the_bound_has_a_window_of_its_own() -> None:
    assert groups([message(0, 0), message(1, 1, "x" * 60_000), message(2, 2)]) == [["$m0"], ["$m1"], ["$m2"]]


def test_a_thread_is_a_conversation_of_its_own_and_may_pause() -> None:
    mixed = [message(0, 0), message(1, 1, lane="$m0"), message(2, 2), message(3, 9 * HOUR, lane="$m0")]
    assert groups(mixed) == [["$m0", "$m2"], ["$m1", "$m3"]]


def test_a_doubtful_time_neither_closes_a_window_nor_holds_one_open() -> None:
    mixed = [message(0, 0), message(1, 9 * HOUR, doubtful=True), message(2, HOUR), message(3, 2 * HOUR + 1)]
    assert groups(mixed) == [["$m0", "$m1", "$m2"], ["$m3"]]


def test_a_batch_from_long_before_is_a_conversation_of_its_own() -> None:
    mixed = [message(0, 50 * HOUR), message(1, 0), message(2, 1), message(3, 50 * HOUR)]
    assert groups(mixed) == [["$m0"], ["$m1", "$m2"], ["$m3"]]


def test_a_backfill_never_touches_or_leaves_an_open_window() -> None:
    live = place([message(0, 0)], {}, room=ROOM, bounds=BOUNDS)
    (open_window,) = live.rows
    assert open_window.is_open
    back = place([message(1, 1), message(2, 2)], {MAIN: open_window}, room=ROOM, bounds=BOUNDS, is_backfill=True)
    assert [row.is_open for row in back.rows] == [False]
    assert set(back.windows.values()) == {"$m1"}


def test_the_byte_bound_judges_the_text_as_it_is_when_the_next_message_comes() -> None:
    kept = MemoryRoom(ROOM, Rules(created_ms=0, now_ms=10**9), Bounds(gap_ms=HOUR, max_bytes=100))

    def take(raw_id: str, body: str, target: str | None = None) -> None:
        content: dict[str, object] = {"body": body}
        if target:
            content = {"m.new_content": content, "m.relates_to": {"rel_type": "m.replace", "event_id": target}}
        raw = {
            "event_id": raw_id,
            "type": "m.room.message",
            "sender": "@bot:here",
            "origin_server_ts": 1,
            "content": content,
        }
        kept.take([extract(raw, room=ROOM, version="11", scrub=str)])

    take("$a", "…")
    for n in range(50):  # a bot that streams its answer
        take(f"$e{n:02}", "word " * n, target="$a")
    take("$b", "next")
    assert kept.rows[EventId("$b")].window == "$b"
    take("$shrink", "short", target="$a")
    assert kept.rows[EventId("$b")].window == "$b"
    assert kept.texts() == {"$a": "short", "$b": "next"}


MESSAGES = st.lists(
    st.tuples(
        st.integers(0, 4 * HOUR),
        st.text(min_size=1, max_size=60),
        st.sampled_from([None, None, "$r", "$s"]),
        st.booleans(),
    ),
    max_size=40,
).map(lambda items: [message(n, ms, text, lane=lane, doubtful=d) for n, (ms, text, lane, d) in enumerate(items)])


@given(MESSAGES, st.integers(1, 300), st.integers(0, 2 * HOUR))
def test_every_message_lands_in_exactly_one_window_in_order_and_inside_the_bounds(
    messages: list[Utterance], max_bytes: int, gap_ms: int
) -> None:
    bounds = Bounds(gap_ms=gap_ms, max_bytes=max_bytes, thread_gap_ms=gap_ms)
    cut = windows(messages, room=ROOM, bounds=bounds)
    for lane in {m.lane for m in messages}:
        mine = [w for w in cut if w.messages[0].lane == lane]
        assert [m for window in mine for m in window.messages] == [m for m in messages if m.lane == lane]
    for window in cut:
        assert len({m.lane for m in window.messages}) == 1
        assert len(window.messages) == 1 or sum(map(size_bytes, window.messages)) <= max_bytes
        believed = [m.sent_ms for m in window.messages[:1]] + [
            m.sent_ms for m in window.messages[1:] if not m.has_doubtful_time
        ]
        assert all(abs(after - before) <= gap_ms for before, after in pairwise(believed))


@given(MESSAGES, st.lists(st.integers(1, 7), min_size=1, max_size=40))
def test_batches_of_any_size_give_the_windows_of_one_batch_and_closed_ones_never_change(
    messages: list[Utterance], sizes: list[int]
) -> None:
    whole = place(messages, {}, room=ROOM, bounds=BOUNDS)
    rows: dict[EventId, WindowRow] = {}
    placed: dict[EventId, EventId] = {}
    rest = list(messages)
    while rest:
        for size in sizes:
            batch, rest = rest[:size], rest[size:]
            open_windows = {row.lane: row for row in rows.values() if row.is_open}
            step = place(batch, open_windows, room=ROOM, bounds=BOUNDS)
            for row in step.rows:
                assert row.id not in rows or rows[row.id].is_open
            rows.update((row.id, row) for row in step.rows)
            placed |= dict(step.windows)
    assert placed == dict(whole.windows)
    assert rows == {row.id: row for row in whole.rows}


SHARED = Path(os.environ.get("SOURCES_SHARED", Path(__file__).resolve().parents[3] / "shared"))


def chat_lines() -> list[dict[str, object]]:
    """Part of a room of the test set where it is at hand, else talk of the same shape."""
    room = SHARED / "eval" / "chat" / "rooms" / "stripe.jsonl"
    if room.exists():
        return [json.loads(line) for line in room.read_text().splitlines()[:1_500]]
    return [
        {
            "event": f"${n}",
            "sender": f"user{n % 7}",
            "ts_ms": n * n * 50,
            "body": f"line {n} " * (n % 9),
            "reply_to": None,
        }
        for n in range(1, 1_500)
    ]


@pytest.mark.parametrize("page", [10, 97])
def test_chat_lines_and_events_of_a_homeserver_give_the_same_windows(page: int) -> None:
    lines = [line for line in chat_lines() if str(line["body"]).strip()]
    raws = [
        raw_message(str(line["event"]), sender=f"@{line['sender']}:chat.example", ms=line["ts_ms"], body=line["body"])
        for line in lines
    ]
    bounds = Bounds()
    kept = MemoryRoom(ROOM, Rules(created_ms=0, now_ms=2**52), bounds)
    for start in range(0, len(raws), page):
        kept.take([extract(raw, room=ROOM, version="11", scrub=str) for raw in raws[start : start + page]])
    spoken = [
        Utterance(
            EventId(str(line["event"])),
            UserId(f"@{line['sender']}:chat.example"),
            int(str(line["ts_ms"])),
            kept.rows[EventId(str(line["event"]))].content.text,
        )
        for line in lines
    ]
    direct = {m.event: window.id for window in windows(spoken, room=ROOM, bounds=bounds) for m in window.messages}
    assert {event: row.window for event, row in kept.rows.items()} == direct
    assert kept.texts().keys() == direct.keys()
