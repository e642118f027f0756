"""What counts as a command, and what the bot keeps silent about."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.command import About, Address, Command, Help, More, Request, Search, read_request
from index.model import EventId, UserId

BOT = UserId("@sources:example.org")
ADDRESS = Address(BOT, "!search", ("Sources of Truth",))


def event(body: Any, **content: Any) -> dict[str, Any]:
    return {
        "type": "m.room.message",
        "event_id": "$asked",
        "sender": "@alice:example.org",
        "origin_server_ts": 5,
        "content": {"msgtype": "m.text", "body": body, **content},
    }


def asked(body: Any, **content: Any) -> Command | None:
    request = read_request(event(body, **content), ADDRESS)
    return None if request is None else request.command


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("!search lost update", Search("lost update")),
        ("  !SEARCH\tlost\nupdate ", Search("lost\nupdate")),
        ("!search", Search("")),
        ("!search help", Help()),
        ("!search About", About()),
        ("!search more", More()),
        ("!search next", More()),
        ('!search "help"', Search('"help"')),
        ("!search help me", Search("help me")),
        ("sources: lost update", Search("lost update")),
        ("Sources, help", Help()),
        ("sources: !search lost", Search("lost")),
        ("@sources:example.org lost", Search("lost")),
        ("@sources:example.org: lost", Search("lost")),
        ("Sources of Truth: lost", Search("lost")),
        ("@Sources of Truth: lost", Search("lost")),
        ("sources:", Search("")),
    ],
)
def test_the_prefix_or_the_name_leads_a_command(body: str, command: Command) -> None:
    assert asked(body) == command


@pytest.mark.parametrize(
    "body",
    [
        "!searching",
        "!search: x",
        "!searchü",
        "I use !search often",
        "> !search x",
        "sources",
        "@sources",
        "sources are cited",
        "sources-bot: hello",
        "Sources of Truth is a band",
        "",
        None,
        7,
        ["!search x"],
    ],
)
def test_what_only_looks_like_a_command_is_none(body: Any) -> None:
    assert asked(body) is None


def test_a_marked_mention_needs_no_colon() -> None:
    assert asked("Sources of Truth lost", **{"m.mentions": {"user_ids": [BOT]}}) == Search("lost")
    assert asked("Sources of Truth lost", **{"m.mentions": {"user_ids": ["@x:y"]}}) is None
    assert asked("Sources of Truth lost", **{"m.mentions": {"user_ids": BOT}}) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "m.room.encrypted"},
        {"type": "m.sticker"},
        {"sender": BOT},
        {"sender": None},
        {"event_id": 4},
        {"state_key": ""},
        {"content": None},
        {"content": {"msgtype": "m.notice", "body": "!search x"}},
        {"content": {"msgtype": "m.emote", "body": "!search x"}},
        {"content": {"body": "!search x"}},
    ],
)
def test_other_events_are_not_for_the_bot(changes: dict[str, Any]) -> None:
    assert read_request(event("!search x") | changes, ADDRESS) is None


def test_an_edit_is_no_command() -> None:
    assert asked("* !search x", **{"m.new_content": {"body": "!search x"}}) is None
    assert asked("!search x", **{"m.relates_to": {"rel_type": "m.replace", "event_id": "$old"}}) is None


def test_the_fallback_of_a_reply_is_passed_over_and_a_quote_of_ones_own_is_not() -> None:
    reply = {"m.relates_to": {"m.in_reply_to": {"event_id": "$before"}}}
    assert asked("> <@bob:x> !search bob's\n> more\n\n!search mine", **reply) == Search("mine")
    assert asked("> <@bob:x> !search bob's\n\nno", **reply) is None
    assert asked("> own quote\n\n!search mine", **reply) is None
    assert asked("> <@bob:x> quoted\n\n!search mine") is None


def test_a_command_in_a_thread_knows_its_root() -> None:
    thread = {"m.relates_to": {"rel_type": "m.thread", "event_id": "$root", "m.in_reply_to": {"event_id": "$x"}}}
    request = read_request(event("!search x", **thread), ADDRESS)
    assert request == Request(EventId("$asked"), UserId("@alice:example.org"), 5, Search("x"), EventId("$root"))


def test_an_arrow_on_a_message_asks_for_more() -> None:
    for key, command in {"▶️": More(EventId("$answer")), "▶": More(EventId("$answer")), "👍": None}.items():
        relation = {"rel_type": "m.annotation", "event_id": "$answer", "key": key}
        request = read_request(event("") | {"type": "m.reaction", "content": {"m.relates_to": relation}}, ADDRESS)
        assert (request.command if request else None) == command


def test_a_time_that_nothing_could_store_is_brought_into_range() -> None:
    for claimed in (2**70, -(2**70), None, "soon", 1e300, True):
        request = read_request(event("!search x") | {"origin_server_ts": claimed}, ADDRESS)
        assert request is not None and 0 <= request.sent_ms < 2**53


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("!search x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["body", "msgtype", "m.relates_to", "m.mentions", "m.new_content", "formatted_body"])


@given(st.dictionaries(KEYS, JSON), st.sampled_from(["m.room.message", "m.reaction"]))
def test_no_content_is_too_odd_to_be_read(content: dict[str, Any], kind: str) -> None:
    read_request(event("") | {"type": kind, "content": content}, ADDRESS)


@given(st.text(max_size=200))
def test_whatever_follows_the_prefix_is_what_is_searched_for(words: str) -> None:
    command = asked(f"!search {words}")
    assert command == Search(words.strip()) or words.strip().casefold() in ("help", "about", "more", "next")
