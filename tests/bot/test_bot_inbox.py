"""What a sync means for the bot, from timelines that hold anything."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.inbox import changes_in, eased_in, echoes_in, inviter_of, is_listed, since_own_join
from index.model import RoomId, UserId
from matrix.records import Invitation, RoomUpdate

ME = UserId("@bot:x")


def member(user: str, membership: str, before: str | None = None, **more: Any) -> dict[str, Any]:
    event = {"type": "m.room.member", "state_key": user, "sender": user, "content": {"membership": membership}, **more}
    return event if before is None else {**event, "unsigned": {"prev_content": {"membership": before}}}


def update(*events: dict[str, Any], is_limited: bool = False) -> RoomUpdate:
    return RoomUpdate(RoomId("!r"), events, is_limited, None, (), ())


def test_only_what_came_after_the_bot_counts() -> None:
    early, late = {"event_id": "$early"}, {"event_id": "$late"}
    assert since_own_join([early, member(ME, "join"), late], ME) == [late]
    assert since_own_join([early, member(ME, "join", "leave"), late], ME) == [late]
    assert since_own_join([early, member(ME, "join", "join"), late], ME)[0] == early, "a new name is no coming"
    assert since_own_join([early, member("@else:x", "join"), late], ME)[0] == early


def test_redactions_are_found_wherever_they_name_their_target() -> None:
    events: list[dict[str, Any]] = [
        {"type": "m.room.redaction", "redacts": "$old", "content": {}},
        {"type": "m.room.redaction", "content": {"redacts": "$new"}},
        {"type": "m.room.redaction", "redacts": 7, "content": {"redacts": ["$x"]}},
        {"type": "m.room.message", "content": {"m.relates_to": {"rel_type": "m.replace", "event_id": "$edited"}}},
    ]
    changes = changes_in([update(is_limited=True)], events)
    assert (changes.gone, changes.edited, changes.unclear) == (
        frozenset({"$old", "$new"}),
        frozenset({"$edited"}),
        frozenset({"chat:!r"}),
    )


def test_own_answers_are_known_again() -> None:
    reply = {"m.relates_to": {"m.in_reply_to": {"event_id": "$asked"}}}
    own: dict[str, Any] = {"type": "m.room.message", "sender": ME, "event_id": "$answer", "content": reply}
    assert echoes_in([own, own | {"sender": "@x:x"}, own | {"event_id": "$later"}], ME) == {"$asked": "$answer"}


def test_invitations_count_by_who_sent_them() -> None:
    invitation = Invitation(RoomId("!r"), (member(ME, "invite", sender="@admin:example.org"),))
    inviter = inviter_of(invitation, ME)
    assert inviter == "@admin:example.org"
    assert is_listed(inviter, ["@admin:example.org"]) and is_listed(inviter, ["@*:example.org"])
    assert not is_listed(inviter, ["@*:example.com", "@admin:example"]) and not is_listed(None, ["@*:example.org"])
    assert inviter_of(Invitation(RoomId("!r"), ({"type": "m.room.member"},)), ME) is None
    # What another server wrote into the state of an invitation stands before the invitation itself.
    forged, real = member(ME, "invite", sender="@admin:example.org"), member(ME, "invite", sender="@mallory:evil")
    assert inviter_of(Invitation(RoomId("!r"), (forged, real)), ME) == "@mallory:evil"


def test_a_room_may_allow_more_when_the_bot_comes_into_it_or_its_powers_change() -> None:
    def eased(*events: dict[str, Any], **more: Any) -> bool:
        return bool(eased_in([update(*events, **more)], ME, {RoomId("!r")}))

    assert eased(member(ME, "join", "leave")) and eased({"type": "m.room.power_levels", "content": {}})
    assert eased(is_limited=True) and eased_in([update()], ME, set()) == {"!r"}
    assert not eased({"type": "m.room.message"}, member("@else:x", "join"))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.sampled_from(["m.replace", "$x", "join", ME]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["event_id", "x"]), inner, max_size=2),
    max_leaves=5,
)
KEYS = st.sampled_from(["type", "content", "unsigned", "redacts", "sender", "event_id", "state_key", "m.relates_to"])


@given(st.lists(st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON)), max_size=5))
def test_no_event_is_too_odd(events: list[dict[str, Any]]) -> None:
    changes_in([update(*events)], events)
    echoes_in(events, ME)
    since_own_join(events, ME)
    inviter_of(Invitation(RoomId("!r"), tuple(events)), ME)
