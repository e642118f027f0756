"""What is known of a room before any of its messages is asked for: raw state in, `RoomFacts` out.

Pure. Facts are read afresh from `/state` on each refresh, since neither a client library's room model nor `/sync`
can be trusted to follow state. Some do not go away when their sign does: they are carried over as `Sticky`, which
the store keeps with the room, and which only grows (a host's override is what takes a room out of it).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from index.model import RoomId, UserId
from ingest.chat.bridges import (
    BRIDGE_STATE,
    DIRECT_KEYS,
    DIRECT_VALUES,
    DOUBLE_PUPPET_KEY,
    FEED_STATE,
    PERSON,
    PROFILE_KEY,
    PROFILE_PREFIX,
    RELAY_TEXT,
    SERVICE_MEMBERS_STATE,
    Looks,
    looks_of,
)
from ingest.chat.content import tidy
from ingest.chat.events import StateChange, as_mapping, clean_id, extract

MAX_SIGNS: Final = 32
"""Of each kind, per room: enough to judge and to show, whatever a hostile room piles up."""
MAX_NAME_CHARS: Final = 255


class Visibility(StrEnum):
    INVITED = "invited"
    JOINED = "joined"
    SHARED = "shared"
    WORLD_READABLE = "world_readable"


@dataclass(frozen=True, slots=True)
class Account:
    """Whose eyes we read with, and who else in a room is a machine of the host's."""

    reader: UserId
    local_servers: frozenset[str] = frozenset()  # where names cannot be had by strangers; the reader's own is always in
    service_users: frozenset[UserId] = frozenset()  # our bot, other bots of the host
    puppets: re.Pattern[str] | None = None  # further puppets and bridge bots: whole ids, as the host knows its bridges

    def __post_init__(self) -> None:
        own = self.reader.partition(":")[2]
        servers = frozenset(server.casefold() for server in self.local_servers | {own} if server)
        object.__setattr__(self, "local_servers", servers)


@dataclass(frozen=True, slots=True)
class Sticky:
    """What was once seen and stays true. Each entry says what it was, for the host to check."""

    encrypted: bool = False
    direct: frozenset[str] = frozenset()
    bridged: frozenset[str] = frozenset()  # proofs in the state
    marks: frozenset[str] = frozenset()  # proofs in messages
    look_alikes: frozenset[str] = frozenset()  # users of other servers that look like puppets or bridge bots

    def with_(self, other: "Sticky") -> "Sticky":
        return Sticky(
            self.encrypted or other.encrypted,
            _grown(self.direct, other.direct),
            _grown(self.bridged, other.bridged),
            _grown(self.marks, other.marks),
            _grown(self.look_alikes, other.look_alikes),
        )


def _grown(known: frozenset[str], seen: frozenset[str]) -> frozenset[str]:
    return known | frozenset(sorted(seen - known)[: max(0, MAX_SIGNS - len(known))])


NOTHING_SEEN: Final = Sticky()


@dataclass(frozen=True, slots=True)
class RoomFacts:
    room: RoomId
    is_joined: bool
    version: str = "1"
    created_ms: int = 0
    room_type: str = ""
    name: str = ""  # as the room has it, made storable but not scrubbed
    alias: str = ""
    other_aliases: frozenset[str] = frozenset()
    join_rule: str = "invite"
    visibility: Visibility = Visibility.SHARED
    humans: int = 0  # joined or invited, besides service accounts
    tags: frozenset[str] = frozenset()
    is_in_direct_list: bool = False
    replacement: RoomId | None = None  # what the tombstone points to, unchecked
    is_tombstoned: bool = False
    predecessor: RoomId | None = None  # what the create event claims, unchecked
    predecessors: frozenset[RoomId] = frozenset()  # all older rooms of the checked chain: see `predecessors_of`
    is_bridged_now: bool = False  # some sign is live, not only remembered
    feeds: frozenset[UserId] = frozenset()
    sticky: Sticky = NOTHING_SEEN
    is_state_known: bool = True


def read_facts(
    room: RoomId,
    state: Sequence[object],
    *,
    account: Account,
    is_joined: bool,
    direct_rooms: frozenset[RoomId] = frozenset(),
    tags: Iterable[str] = (),
    before: Sticky = NOTHING_SEEN,
) -> RoomFacts:
    """`state` is the answer of `/rooms/{room}/state`, unchecked. `before` is what the store remembers of the room.

    An odd event in it is passed over; a state without a create event is marked as not known, and is not judged.
    """
    extracted = (extract(raw, room=room, version="", scrub=str) for raw in state)
    changes = [change for change in extracted if isinstance(change, StateChange)]
    facts = RoomFacts(
        room,
        is_joined,
        tags=frozenset(tags),
        is_in_direct_list=room in direct_rooms,
        is_state_known=any(change.type == "m.room.create" and change.key == "" for change in changes),
        feeds=_feeds(changes, account),
        humans=_humans(changes, account),
    )
    sticky = before
    for change in changes:
        seen = signs_in(change, account)
        sticky = sticky.with_(seen) if seen != NOTHING_SEEN else sticky
        if (seen.bridged or seen.look_alikes) and _is_live(change):
            facts = replace(facts, is_bridged_now=True)
        if change.key == "":
            facts = _with_state(facts, change)
    return replace(facts, sticky=sticky)


def signs_in(change: StateChange, account: Account) -> Sticky:
    """What one state event gives away for good, wherever it was met: state, timeline, or an invitation."""
    if change.type == "m.room.encryption":
        return Sticky(encrypted=True)
    if change.type in BRIDGE_STATE:
        kinds = {value for key in DIRECT_KEYS if isinstance(value := change.content.get(key), str)}
        direct = frozenset({f"{change.type} says {kind}" for kind in kinds & DIRECT_VALUES})
        return Sticky(bridged=frozenset({f"state {change.type}"}), direct=direct)
    if change.type == "m.room.member":
        return _signs_in_member(change, account)
    return NOTHING_SEEN


def signs_in_message(raw: Mapping[str, object]) -> Sticky:
    """The marks that bridges leave in ordinary messages, in the raw event: `type` and `content` are looked at."""
    content = as_mapping(raw.get("content"))
    if raw.get("type") == "m.room.encrypted":
        return Sticky(encrypted=True)
    marks = {f"mark {key}" for key in (DOUBLE_PUPPET_KEY, PROFILE_KEY) if content.get(key) is not None}
    marks |= {"mark com.beeper.bridge" for key in content if str(key).startswith(PROFILE_PREFIX)}
    body = content.get("body")
    if isinstance(body, str) and RELAY_TEXT.match(body):
        marks.add("text relayed for somebody elsewhere")
    return Sticky(marks=frozenset(marks)) if marks else NOTHING_SEEN


def visibility_of(content: Mapping[str, object]) -> Visibility:
    """Of an `m.room.history_visibility` event. What cannot be read is taken for narrow; no event at all is `shared`."""
    try:
        return Visibility(str(content.get("history_visibility")))
    except ValueError:
        return Visibility.JOINED


def predecessors_of(room: RoomId, rooms: Mapping[RoomId, RoomFacts]) -> frozenset[RoomId]:
    """The older versions of `room`. A link counts where both ends name each other.

    A tombstone can point anywhere, and a create event can claim any predecessor.
    """
    found: set[RoomId] = set()
    newer = rooms.get(room)
    while newer is not None and newer.predecessor is not None:
        older = rooms.get(newer.predecessor)
        if older is None or older.replacement != newer.room or older.room in found or older.room == room:
            break
        found.add(older.room)
        newer = older
    return frozenset(found)


def _signs_in_member(change: StateChange, account: Account) -> Sticky:
    user = UserId(change.key)
    is_direct = any(_is_set(content.get("is_direct")) for content in (change.content, change.previous))
    direct = frozenset({f"invitation of {user}"}) if is_direct else frozenset[str]()
    looks = _looks(user, account)
    if looks == PERSON or looks.what == "feed":
        return Sticky(direct=direct)
    if not looks.is_local and not _was_there(change):
        return Sticky(direct=direct)  # an invitation or a ban can name anybody
    sign = frozenset({f"{looks.what} {user}"})
    return Sticky(direct=direct, bridged=sign) if looks.is_proof else Sticky(direct=direct, look_alikes=sign)


def _looks(user: UserId, account: Account) -> Looks:
    if _is_ours(user, account):
        return PERSON
    if account.puppets is not None and account.puppets.fullmatch(user):
        return Looks("puppet", is_proof=True, is_local=True)
    return looks_of(user, account.local_servers)


def _is_set(value: object) -> bool:
    return value is not None and value is not False


def _was_there(change: StateChange) -> bool:
    now, before = change.content.get("membership"), change.previous.get("membership")
    return "join" in (now, before) or (now == "leave" and before is None)


def _is_live(change: StateChange) -> bool:
    """Whether the bridge still stands: `{}` and departed puppets mean that there was one."""
    if change.type == "m.room.member":
        return change.content.get("membership") in ("join", "invite")
    return bool(change.content)


def _is_ours(user: UserId, account: Account) -> bool:
    return user == account.reader or user in account.service_users


def _members(changes: Sequence[StateChange]) -> Iterator[UserId]:
    for change in changes:
        if change.type == "m.room.member" and change.content.get("membership") in ("join", "invite"):
            yield UserId(change.key)


def _humans(changes: Sequence[StateChange], account: Account) -> int:
    helpers = {
        helper
        for change in changes
        if change.type == SERVICE_MEMBERS_STATE
        for helper in _strings(change.content.get("service_members"))
    }
    return sum(not _is_ours(user, account) and user not in helpers for user in _members(changes))


def _feeds(changes: Sequence[StateChange], account: Account) -> frozenset[UserId]:
    """Members that speak for machines: hookshot and its puppets, ours, or anybody's where the room has its state."""
    has_feeds = any(change.type.startswith(FEED_STATE) for change in changes)
    looks = ((user, _looks(user, account)) for user in _members(changes))
    return frozenset(user for user, look in looks if look.what == "feed" and (look.is_proof or has_feeds))


def _with_state(facts: RoomFacts, change: StateChange) -> RoomFacts:
    content = change.content
    match change.type:
        case "m.room.create":
            previous = clean_id(as_mapping(content.get("predecessor")).get("room_id"))
            return replace(
                facts,
                version=_text(content.get("room_version")) or "1",
                created_ms=change.claimed_ms,
                room_type=_text(content.get("type")),
                predecessor=RoomId(previous) if previous else None,
            )
        case "m.room.name":
            return replace(facts, name=_text(content.get("name")))
        case "m.room.canonical_alias":
            others = frozenset(_strings(content.get("alt_aliases")))
            return replace(facts, alias=_text(content.get("alias")), other_aliases=others)
        case "m.room.join_rules":
            return replace(facts, join_rule=_text(content.get("join_rule")) or "invite")
        case "m.room.history_visibility":
            return replace(facts, visibility=visibility_of(content))
        case "m.room.tombstone":
            successor = clean_id(content.get("replacement_room"))
            return replace(facts, is_tombstoned=True, replacement=RoomId(successor) if successor else None)
        case _:
            return facts


def _text(value: object) -> str:
    return " ".join(tidy(value[:MAX_NAME_CHARS]).split()) if isinstance(value, str) else ""


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
