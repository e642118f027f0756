"""Which rooms may be read: a pure decision over the facts of a room, made before any of its messages is asked for.

Every reason is found and named, not only the first. A room is

- *refused*: not read, and what was read of it is erased;
- *suspended*: out of every answer at once, kept for a while: the reader is not in it now, or the host has to judge;
- *admitted*.

A further sign never makes a verdict milder. A host can lift a refusal as direct chat or as bridged for one room id; the
verdict then says what was lifted. Nothing lifts the others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final

from index.model import RoomId
from ingest.chat.facts import RoomFacts, Visibility

OPEN_VISIBILITIES: Final = frozenset({Visibility.SHARED, Visibility.WORLD_READABLE})
_OPEN_JOIN_RULES: Final = frozenset({"public", "knock", "restricted", "knock_restricted"})
_MOST_IN_A_DIRECT_CHAT: Final = 2
_LOOK_ALIKES_THAT_PROVE: Final = 2


class Outcome(IntEnum):
    ADMITTED = 0
    SUSPENDED = 1
    REFUSED = 2


class Reason(StrEnum):
    """Fixed codes: shown in `sources rooms`, stored, and counted in metrics."""

    EXCLUDED = "excluded"
    SPACE = "space"
    SERVER_NOTICE = "server_notice"
    DIRECT = "direct"
    BRIDGED = "bridged"
    ENCRYPTED = "encrypted"
    VISIBILITY = "visibility"
    NOT_JOINED = "not_joined"
    LOOK_ALIKE = "look_alike"
    STATE_UNKNOWN = "state_unknown"


_SUSPENDING: Final = frozenset({Reason.NOT_JOINED, Reason.LOOK_ALIKE, Reason.STATE_UNKNOWN})


class Override(StrEnum):
    DIRECT = "direct"  # read it although it looks like a direct chat
    BRIDGED = "bridged"  # read all of it although it is, was or looks bridged
    WAS_BRIDGED = "was_bridged"  # the bridge is gone: read what is said from now on


@dataclass(frozen=True, slots=True)
class RoomPolicy:
    """What the host configured. Aliases are those that could not be resolved to ids as well as those that could."""

    excluded: frozenset[RoomId] = frozenset()  # ids, with those that excluded aliases ever resolved to
    excluded_aliases: frozenset[str] = frozenset()
    overrides: Mapping[RoomId, frozenset[Override]] = field(default_factory=dict)
    refuses_encrypted: bool = False
    narrow_rooms: frozenset[RoomId] = frozenset()  # read although newcomers may not see their history
    visibilities: frozenset[Visibility] = OPEN_VISIBILITIES  # rooms with another one are refused


@dataclass(frozen=True, slots=True)
class Finding:
    reason: Reason
    text: str  # one line for the host: what was seen, and what to do where something can be done


@dataclass(frozen=True, slots=True)
class Verdict:
    room: RoomId
    outcome: Outcome
    findings: tuple[Finding, ...] = ()  # why not; empty when admitted
    lifted: tuple[Finding, ...] = ()  # what an override set aside
    notes: tuple[str, ...] = ()
    starts_fresh: bool = False  # admitted, but only what is said from the first such verdict on may be read

    @property
    def reason(self) -> Reason | None:
        return self.findings[0].reason if self.findings else None


def decide(facts: RoomFacts, policy: RoomPolicy) -> Verdict:
    overrides = policy.overrides.get(facts.room, frozenset())
    liftable = _liftable(facts, overrides)
    found = list(_refusals(facts, policy)) + list(_suspensions(facts))
    findings = tuple(finding for finding in found if finding.reason not in liftable)
    lifted = tuple(finding for finding in found if finding.reason in liftable)
    was_bridged = any(finding.reason in {Reason.BRIDGED, Reason.LOOK_ALIKE} for finding in lifted)
    return Verdict(
        room=facts.room,
        outcome=max((_outcome_of(finding.reason) for finding in findings), default=Outcome.ADMITTED),
        findings=findings,
        lifted=lifted,
        notes=tuple(_notes(facts, policy)),
        starts_fresh=not findings and was_bridged and Override.BRIDGED not in overrides,
    )


def _outcome_of(reason: Reason) -> Outcome:
    return Outcome.SUSPENDED if reason in _SUSPENDING else Outcome.REFUSED


def _liftable(facts: RoomFacts, overrides: frozenset[Override]) -> set[Reason]:
    liftable: set[Reason] = set()
    if Override.DIRECT in overrides:
        liftable.add(Reason.DIRECT)
    is_over = Override.WAS_BRIDGED in overrides and not facts.is_bridged_now and not facts.sticky.marks
    if Override.BRIDGED in overrides or is_over:
        liftable |= {Reason.BRIDGED, Reason.LOOK_ALIKE}
    return liftable


def _refusals(facts: RoomFacts, policy: RoomPolicy) -> Iterator[Finding]:
    if text := _exclusion(facts, policy):
        yield Finding(Reason.EXCLUDED, text)
    if facts.room_type == "m.space":
        yield Finding(Reason.SPACE, "a space holds no talk")
    if "m.server_notice" in facts.tags:
        yield Finding(Reason.SERVER_NOTICE, "the server's own notices to this account")
    if text := _directness(facts):
        yield Finding(Reason.DIRECT, text)
    if text := _bridging(facts):
        yield Finding(Reason.BRIDGED, text)
    if facts.sticky.encrypted and policy.refuses_encrypted:
        yield Finding(Reason.ENCRYPTED, 'encrypted at some time, and chat.encrypted_rooms = "refuse"')
    if facts.visibility not in policy.visibilities and facts.room not in policy.narrow_rooms:
        why = (
            "newcomers may not read back" if facts.visibility not in OPEN_VISIBILITIES else "chat.history leaves it out"
        )
        yield Finding(Reason.VISIBILITY, f"history visibility is {facts.visibility}: {why}")


def _suspensions(facts: RoomFacts) -> Iterator[Finding]:
    if not facts.is_joined:
        yield Finding(Reason.NOT_JOINED, "the reader is not in this room now")
    elif not facts.is_state_known:
        yield Finding(Reason.STATE_UNKNOWN, "the server gave no usable state of this room")
    if 0 < len(facts.sticky.look_alikes) < _LOOK_ALIKES_THAT_PROVE:
        yield Finding(
            Reason.LOOK_ALIKE,
            f"{_first(facts.sticky.look_alikes)} of another server looks like a bridge; "
            "override this room as bridged if it is none, or exclude it",
        )


def _exclusion(facts: RoomFacts, policy: RoomPolicy) -> str:
    if facts.room in policy.excluded:
        return "excluded by its id"
    aliases = {alias.casefold() for alias in facts.other_aliases | {facts.alias}}
    if named := aliases & {alias.casefold() for alias in policy.excluded_aliases}:
        return f"excluded as {_first(named)}"
    if older := facts.predecessors & policy.excluded:
        return f"follows {_first(older)}, which is excluded"
    return ""


def _directness(facts: RoomFacts) -> str:
    if facts.is_in_direct_list:
        return "in the reader's list of direct chats"
    if facts.sticky.direct:
        return f"direct: {_first(facts.sticky.direct)}"
    is_nameless = not facts.name and not facts.alias and not facts.other_aliases
    is_closed = facts.join_rule not in _OPEN_JOIN_RULES
    if facts.is_state_known and is_nameless and is_closed and facts.humans <= _MOST_IN_A_DIRECT_CHAT:
        return f"no name, no alias, by invitation only, people: {facts.humans}"
    return ""


def _bridging(facts: RoomFacts) -> str:
    proofs = facts.sticky.bridged or facts.sticky.marks
    if not proofs and len(facts.sticky.look_alikes) >= _LOOK_ALIKES_THAT_PROVE:
        proofs = facts.sticky.look_alikes
    if not proofs:
        return ""
    return f"bridged: {_first(proofs)}" + ("" if facts.is_bridged_now else " (at some time)")


def _notes(facts: RoomFacts, policy: RoomPolicy) -> Iterator[str]:
    if facts.sticky.encrypted and not policy.refuses_encrypted:
        yield "encrypted: only what was said in the clear is read"
    if facts.is_tombstoned:
        yield f"upgraded to {facts.replacement or 'an unnamed room'}; its text stays searchable"
    is_wanted = facts.room in policy.narrow_rooms or facts.visibility in policy.visibilities
    if facts.visibility not in OPEN_VISIBILITIES and is_wanted:
        yield f"history visibility is {facts.visibility}, read because the host says so"


def _first(names: frozenset[str] | frozenset[RoomId] | set[str]) -> str:
    return min(names)
