"""Which rooms may be read. Numbers are points of the list of Matrix pitfalls."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import RoomId, UserId
from ingest.chat.facts import (
    NOTHING_SEEN,
    Account,
    RoomFacts,
    Sticky,
    predecessors_of,
    read_facts,
    signs_in_message,
    visibility_of,
)
from ingest.chat.gates import Outcome, Override, Reason, RoomPolicy, Verdict, decide
from tests.chat.raw_events import Raw, raw_member, raw_message, raw_state

ROOM = RoomId("!room")
READER, BOT = UserId("@reader:here"), UserId("@search:here")
ACCOUNT = Account(READER, service_users=frozenset({BOT}))
UUID = "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"


def community(*more: Raw, without: str = "") -> list[Raw]:
    """The state of an ordinary public room, and what a test adds to it; a later event of a key replaces an earlier."""
    base = [
        raw_state("m.room.create", {"room_version": "11"}, ms=100),
        raw_state("m.room.name", {"name": "Talk"}),
        raw_state("m.room.join_rules", {"join_rule": "public"}),
        raw_state("m.room.history_visibility", {"history_visibility": "shared"}),
        *(raw_member(user) for user in (READER, BOT, "@ann:here", "@bob:elsewhere", "@eve:here")),
    ]
    merged = {(raw["type"], raw["state_key"]): raw for raw in [*base, *more] if raw["type"] != without}
    return list(merged.values())


def judged(*more: Raw, policy: RoomPolicy | None = None, without: str = "", **known: Any) -> Verdict:
    facts = read_facts(ROOM, community(*more, without=without), account=ACCOUNT, **{"is_joined": True, **known})
    return decide(facts, policy or RoomPolicy())


def reason(*more: Raw, **known: Any) -> Reason | None:
    return judged(*more, **known).reason


def test_an_ordinary_room_is_admitted() -> None:
    verdict = judged()
    assert (verdict.outcome, verdict.findings, verdict.notes) == (Outcome.ADMITTED, (), ())


def test_a_room_the_reader_is_not_in_is_suspended_however_readable() -> None:  # 40, 41
    open_to_all = raw_state("m.room.history_visibility", {"history_visibility": "world_readable"})
    verdict = judged(open_to_all, is_joined=False)
    assert (verdict.outcome, verdict.reason) == (Outcome.SUSPENDED, Reason.NOT_JOINED)


def test_a_room_without_usable_state_is_not_read() -> None:
    assert reason(without="m.room.create") is Reason.STATE_UNKNOWN


def test_a_room_of_which_the_server_tells_nothing_waits_and_is_not_erased_as_a_direct_chat() -> None:
    verdict = decide(read_facts(ROOM, [], account=ACCOUNT, is_joined=True), RoomPolicy())
    assert (verdict.outcome, verdict.reason) == (Outcome.SUSPENDED, Reason.STATE_UNKNOWN)


def test_exclusion_by_id_by_alias_and_through_an_upgrade() -> None:
    assert reason(policy=RoomPolicy(excluded=frozenset({ROOM}))) is Reason.EXCLUDED
    alias = raw_state("m.room.canonical_alias", {"alias": "#a:here", "alt_aliases": ["#B:here", 4]})
    for excluded in ("#b:here", "#a:here", "#A:Here"):
        assert reason(alias, policy=RoomPolicy(excluded_aliases=frozenset({excluded}))) is Reason.EXCLUDED
    assert reason(alias, policy=RoomPolicy(excluded_aliases=frozenset({"#c:here"}))) is None
    old = RoomFacts(RoomId("!old"), is_joined=True, replacement=ROOM)
    new = RoomFacts(ROOM, is_joined=True, predecessor=old.room)
    chain = predecessors_of(ROOM, {ROOM: new, old.room: old})
    assert (
        decide(replace(new, predecessors=chain), RoomPolicy(excluded=frozenset({old.room}))).reason is Reason.EXCLUDED
    )


def test_an_upgrade_counts_only_where_both_rooms_name_each_other() -> None:  # 42
    old, new = RoomId("!old"), RoomId("!new")
    claims = RoomFacts(new, is_joined=True, predecessor=old)
    assert predecessors_of(new, {new: claims, old: RoomFacts(old, is_joined=True)}) == frozenset()
    assert predecessors_of(new, {new: claims}) == frozenset()
    loop = {
        old: RoomFacts(old, is_joined=True, replacement=new, predecessor=new),
        new: RoomFacts(new, is_joined=True, replacement=old, predecessor=old),
    }
    assert predecessors_of(new, loop) == {old}


def test_the_create_event_of_an_upgraded_room_of_version_12_is_read() -> None:  # report 1
    create = raw_state("m.room.create", {"room_version": "12", "predecessor": {"room_id": "!old"}})
    facts = read_facts(ROOM, community(create), account=ACCOUNT, is_joined=True)
    assert (facts.version, facts.predecessor) == ("12", "!old")


def test_a_tombstoned_room_stays_readable_and_says_so() -> None:
    verdict = judged(raw_state("m.room.tombstone", {"replacement_room": "!new"}))
    assert verdict.outcome is Outcome.ADMITTED and "!new" in verdict.notes[0]


def test_a_space_and_the_servers_notices_are_refused() -> None:  # 37, 43
    assert reason(raw_state("m.room.create", {"type": "m.space"})) is Reason.SPACE
    assert reason(tags=["m.server_notice"]) is Reason.SERVER_NOTICE


def test_any_sign_of_a_direct_chat_refuses() -> None:  # 37, 62
    assert reason(direct_rooms=frozenset({ROOM})) is Reason.DIRECT
    assert reason(raw_member("@ann:here", is_direct=True)) is Reason.DIRECT
    invited = {"membership": "invite", "is_direct": True}
    assert reason(raw_member(READER, before=invited)) is Reason.DIRECT
    assert reason(before=Sticky(direct=frozenset({"invitation of @reader:here"}))) is Reason.DIRECT


def test_a_nameless_closed_room_of_two_people_is_a_direct_chat() -> None:
    closed = [
        raw_state("m.room.name", {}),
        raw_state("m.room.join_rules", {"join_rule": "invite"}),
        raw_member("@eve:here", "leave"),
    ]
    assert reason(*closed) is Reason.DIRECT
    assert reason(*closed, raw_member("@eve:here", "invite")) is None
    helper = raw_state("io.element.functional_members", {"service_members": ["@eve:here", 4]})
    assert reason(*closed, raw_member("@eve:here"), helper) is Reason.DIRECT
    assert reason(*closed[1:]) is None
    assert reason(closed[0], closed[2]) is None
    for rule in ("knock", "restricted", "knock_restricted"):
        assert reason(closed[0], closed[2], raw_state("m.room.join_rules", {"join_rule": rule})) is None
    for named in ({"alias": "#a:here"}, {"alt_aliases": ["#a:here"]}):
        assert reason(*closed, raw_state("m.room.canonical_alias", named)) is None


@pytest.mark.parametrize("kind", ["m.bridge", "uk.half-shot.bridge", "com.beeper.room_features"])
@pytest.mark.parametrize("key", ["", "moe.cadence.ooye://discord/1/2", "de.x:/irc/#chan"])
def test_bridge_state_of_any_key_refuses(kind: str, key: str) -> None:  # report 23
    live = judged(raw_state(kind, {"protocol": {"id": "irc"}}, key=key))
    assert live.reason is Reason.BRIDGED
    cleared = judged(raw_state(kind, {}, key=key))
    assert cleared.reason is Reason.BRIDGED and "at some time" in cleared.findings[0].text


def test_a_bridged_direct_chat_is_refused_twice() -> None:
    verdict = judged(raw_state("m.bridge", {"com.beeper.room_type.v2": "dm"}, key="x"))
    assert {finding.reason for finding in verdict.findings} == {Reason.DIRECT, Reason.BRIDGED}


LOCAL_PUPPETS = [
    "telegram_1",
    "whatsapp_491701234567",
    "whatsapp_lid-123456",
    f"signal_{UUID}",
    "slack_t0123abcd-u0123abcd",
    "discord_123456789012345678",
    "_discord_123456789012345678",
    "facebook_1000123",
    "instagram_17",
    "googlechat_112233",
    "gmessages_1.2345",
    "imessage_+491701234567",
    "irc_somebody",
    "hbirc_libera_somebody",
    "_oftc_somebody",
    "irc.libera.chat_somebody",
    "_ooye_somebody",
    "_bifrost_somebody",
    "_xmpp_somebody=40example.org",
    "_slackpuppet_1_u1",
    "_wechat_x",
    "telegrambot",
    "heisenbridge",
    "appservice-irc",
    "_ooye_bot",
    "_discord_bot",
    "_discordpuppet_bot",
    "metabot",
]


@pytest.mark.parametrize("localpart", LOCAL_PUPPETS)
@pytest.mark.parametrize("membership", ["join", "leave", "invite"])
def test_a_puppet_or_bridge_bot_of_our_own_server_refuses_even_when_it_left(localpart: str, membership: str) -> None:
    assert reason(raw_member(f"@{localpart}:here", membership)) is Reason.BRIDGED  # 59


@pytest.mark.parametrize(
    "user",
    ["@slack_fan:here", "@telegram:here", "@discord_fan:here", "@signal_hill:here", "@xtelegram_1:here", "@meta_:here"],
)
def test_people_whose_names_only_begin_like_puppets_are_people(user: str) -> None:
    assert reason(raw_member(user)) is None


def test_a_lone_foreign_look_alike_suspends_and_two_refuse() -> None:
    one = judged(raw_member("@telegram_1:evil"))
    assert (one.outcome, one.reason) == (Outcome.SUSPENDED, Reason.LOOK_ALIKE)
    two = judged(raw_member("@telegram_1:evil"), raw_member("@telegrambot:evil"))
    assert (two.outcome, two.reason) == (Outcome.REFUSED, Reason.BRIDGED)


def test_inviting_or_banning_a_foreign_look_alike_proves_nothing() -> None:
    assert reason(raw_member("@telegram_1:evil", "invite"), raw_member("@telegram_2:evil", "ban")) is None
    assert reason(raw_member("@telegram_1:evil", "ban", before={"membership": "join"})) is Reason.LOOK_ALIKE


@pytest.mark.parametrize(
    "user", ["@x:libera.chat", "@x:gitter.im", "@x:beeper.local", "@_oftc_x:matrix.org", "@_discord_1:t2bot.io"]
)
def test_members_of_bridged_servers_and_public_bridges_refuse(user: str) -> None:
    assert reason(raw_member(user)) is Reason.BRIDGED


def test_a_server_that_is_only_called_irc_is_a_look_alike_unless_it_is_ours() -> None:
    assert reason(raw_member("@x:irc.evil.org:8448")) is Reason.LOOK_ALIKE
    ours = Account(UserId("@reader:irc.club"))
    facts = read_facts(ROOM, community(raw_member("@x:irc.club")), account=ours, is_joined=True)
    assert decide(facts, RoomPolicy()).outcome is Outcome.ADMITTED


def test_a_host_can_name_the_puppets_of_its_own_bridges() -> None:
    account = replace(ACCOUNT, puppets=re.compile(r"@remote-.*:here"))
    facts = read_facts(ROOM, community(raw_member("@remote-x:here")), account=account, is_joined=True)
    assert decide(facts, RoomPolicy()).reason is Reason.BRIDGED


@pytest.mark.parametrize(
    "content",
    [
        {"body": "x", "fi.mau.double_puppet_source": "mautrix-telegram"},
        {"body": "x", "com.beeper.per_message_profile": {"id": "1"}},
        {"body": "x", "com.beeper.bridge.remote_id": "1"},
        {"body": "[irc] <nick> hello"},
        {"body": "[discord.main] <some body> hello"},
    ],
)
def test_marks_in_messages_make_a_room_bridged_for_good(content: dict[str, object]) -> None:
    signs = signs_in_message(raw_message("$m", content))
    assert signs.marks
    assert reason(before=NOTHING_SEEN.with_(signs)) is Reason.BRIDGED


@pytest.mark.parametrize("body", ["[irc] is a protocol", "[1] <nick> x", "see [irc] <nick> x", "[note] <b> x", 4, None])
def test_ordinary_text_carries_no_mark(body: object) -> None:
    assert signs_in_message(raw_message(body=body)) == NOTHING_SEEN
    assert signs_in_message({"content": None}) == NOTHING_SEEN


def test_encryption_sticks_and_refuses_only_where_the_host_says_so() -> None:  # 38
    redacted = raw_state("m.room.encryption", {})
    assert judged(redacted).outcome is Outcome.ADMITTED
    assert "encrypted" in judged(redacted).notes[0]
    strict = RoomPolicy(refuses_encrypted=True)
    assert reason(redacted, policy=strict) is Reason.ENCRYPTED
    seen = NOTHING_SEEN.with_(signs_in_message({"type": "m.room.encrypted", "content": {}}))
    assert reason(before=seen, policy=strict) is Reason.ENCRYPTED


def test_only_rooms_whose_history_newcomers_may_read_unless_opted_in() -> None:  # 39
    for narrow in ("joined", "invited", "odd", None):
        state = raw_state("m.room.history_visibility", {"history_visibility": narrow})
        refused = judged(state)
        assert (refused.reason, refused.notes) == (Reason.VISIBILITY, ())
        opted_in = judged(state, policy=RoomPolicy(narrow_rooms=frozenset({ROOM})))
        assert opted_in.outcome is Outcome.ADMITTED and opted_in.notes
    assert reason(without="m.room.history_visibility") is None
    assert visibility_of({"history_visibility": ["shared"]}) == "joined"


def test_an_override_is_for_one_room_and_for_direct_and_bridged_only_and_is_shown() -> None:
    bridged, direct = raw_member("@telegram_1:here"), raw_member("@ann:here", is_direct=True)
    every = frozenset(Override)
    policy = RoomPolicy(overrides={ROOM: every}, excluded=frozenset({ROOM}))
    assert reason(bridged, direct, policy=policy) is Reason.EXCLUDED
    verdict = judged(bridged, direct, policy=RoomPolicy(overrides={ROOM: every}))
    assert verdict.outcome is Outcome.ADMITTED and not verdict.starts_fresh
    assert {finding.reason for finding in verdict.lifted} == {Reason.BRIDGED, Reason.DIRECT}
    assert reason(bridged, policy=RoomPolicy(overrides={RoomId("!other"): every})) is Reason.BRIDGED


def test_a_bridge_that_is_gone_can_be_lifted_for_new_text_only() -> None:
    policy = RoomPolicy(overrides={ROOM: frozenset({Override.WAS_BRIDGED})})
    gone = judged(raw_state("m.bridge", {}, key="x"), raw_member("@telegram_1:here", "leave"), policy=policy)
    assert gone.outcome is Outcome.ADMITTED and gone.starts_fresh
    looked_like = judged(raw_member("@telegram_1:evil", "leave"), policy=policy)
    assert looked_like.outcome is Outcome.ADMITTED and looked_like.starts_fresh
    refused = judged(raw_state("m.bridge", {}, key="x"), raw_member("@ann:here", is_direct=True), policy=policy)
    assert refused.outcome is Outcome.REFUSED and not refused.starts_fresh
    assert reason(raw_state("m.bridge", {"a": 1}, key="x"), policy=policy) is Reason.BRIDGED
    assert reason(raw_member("@telegram_1:here"), policy=policy) is Reason.BRIDGED
    assert reason(before=Sticky(marks=frozenset({"mark x"})), policy=policy) is Reason.BRIDGED


def test_feeds_are_silenced_and_not_refused() -> None:
    hook = raw_state("uk.half-shot.matrix-hookshot.github.repository", {"repo": "x"}, key="x")
    members = [raw_member(user) for user in ("@hookshot:there", "@_github_ann:there", "@_webhooks_x:here")]
    facts = read_facts(ROOM, community(hook, *members), account=ACCOUNT, is_joined=True)
    assert decide(facts, RoomPolicy()).outcome is Outcome.ADMITTED
    assert facts.feeds == {"@hookshot:there", "@_github_ann:there", "@_webhooks_x:here"}
    without_hook = read_facts(ROOM, community(*members), account=ACCOUNT, is_joined=True)
    assert without_hook.feeds == {"@_webhooks_x:here"}


def test_what_was_seen_once_is_not_forgotten_when_its_sign_goes() -> None:
    first = read_facts(ROOM, community(raw_member("@telegram_1:here", is_direct=True)), account=ACCOUNT, is_joined=True)
    later = read_facts(ROOM, community(), account=ACCOUNT, is_joined=True, before=first.sticky)
    assert {finding.reason for finding in decide(later, RoomPolicy()).findings} == {Reason.DIRECT, Reason.BRIDGED}


def test_thousands_of_puppets_are_remembered_as_a_few() -> None:
    many = [raw_member(f"@telegram_{n}:here") for n in range(3_000)]
    facts = read_facts(ROOM, community(*many), account=ACCOUNT, is_joined=True)
    assert 0 < len(facts.sticky.bridged) <= 32


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(
    ["create", "name", "member", "join_rules", "canonical_alias", "history_visibility", "tombstone", "encryption"]
).map(lambda name: f"m.room.{name}") | st.sampled_from(["m.bridge", "io.element.functional_members"])
CONTENT_KEYS = st.sampled_from(
    ["room_version", "predecessor", "type", "name", "membership", "is_direct", "alias", "alt_aliases", "join_rule"]
) | st.sampled_from(["service_members", "history_visibility", "replacement_room", "com.beeper.room_type"])


@given(
    st.lists(
        st.tuples(KINDS, st.sampled_from(["", "@telegram_1:here", "@x"]), st.dictionaries(CONTENT_KEYS, JSON) | JSON),
        max_size=6,
    ),
    st.lists(JSON, max_size=3),
)
def test_no_state_raises(items: list[tuple[str, str, object]], junk: list[object]) -> None:
    state: list[object] = [raw_state(kind, content, key=key) for kind, key, content in items]
    facts = read_facts(ROOM, state + junk, account=ACCOUNT, is_joined=True)
    decide(facts, RoomPolicy())


SIGNS: list[Raw] = [
    raw_state("m.room.encryption", {}),
    raw_state("m.bridge", {}, key="a"),
    raw_state("uk.half-shot.bridge", {"x": 1, "com.beeper.room_type": "dm"}, key="b"),
    raw_state("m.room.history_visibility", {"history_visibility": "joined"}),
    raw_state("m.room.create", {"type": "m.space"}),
    raw_state("m.room.canonical_alias", {"alias": "#excluded:here"}),
    raw_member("@telegram_1:here", "leave"),
    raw_member("@telegram_1:evil"),
    raw_member("@telegram_2:evil"),
    raw_member("@ann:here", is_direct=True),
]
POLICIES = st.builds(
    RoomPolicy,
    excluded=st.sampled_from([frozenset(), frozenset({ROOM})]),
    excluded_aliases=st.just(frozenset({"#excluded:here"})),
    overrides=st.dictionaries(st.just(ROOM), st.frozensets(st.sampled_from(list(Override)))),
    refuses_encrypted=st.booleans(),
    narrow_rooms=st.sampled_from([frozenset(), frozenset({ROOM})]),
)


@given(
    st.lists(st.sampled_from(SIGNS), max_size=5),
    st.lists(st.sampled_from(SIGNS), max_size=3),
    st.booleans(),
    st.sampled_from([NOTHING_SEEN, Sticky(marks=frozenset({"mark x"})), Sticky(encrypted=True)]),
    POLICIES,
)
def test_a_further_sign_never_makes_a_verdict_milder(
    some: list[Raw], more: list[Raw], leaves: bool, seen: Sticky, policy: RoomPolicy
) -> None:
    base = judged(*some, policy=policy)
    worse = judged(*some, *more, policy=policy, is_joined=not leaves, before=seen)
    assert worse.outcome >= base.outcome
    assert {f.reason for f in base.findings} <= {f.reason for f in worse.findings} | {Reason.LOOK_ALIKE}
