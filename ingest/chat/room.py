"""A room as a refresh has it in hand: its record in the index and the facts in it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from index.model import RoomId, SourceId, UserId
from index.store.rooms import ADMITTED, REFUSED, SUSPENDED, RoomRecord
from ingest.chat.content import Scrub
from ingest.chat.events import as_mapping, time_ms
from ingest.chat.facts import RoomFacts, Sticky
from ingest.chat.gates import Finding, Outcome, Verdict
from ingest.chat.rendering import source_id
from ingest.chat.rules import Purge, Rules
from ingest.chat.settings import ChatSettings
from ingest.chat.storing import Shelf

OUTCOMES: Final = {Outcome.ADMITTED: ADMITTED, Outcome.SUSPENDED: SUSPENDED, Outcome.REFUSED: REFUSED}
MAX_LIFETIME_MS: Final = 2**53


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is stored of a verdict, for people: reasons against, reasons that were set aside, and notes."""

    findings: tuple[Finding, ...] = ()
    lifted: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    starts_fresh: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    record: RoomRecord
    facts: RoomFacts
    judgement: Judgement = field(default_factory=Judgement)

    @property
    def id(self) -> RoomId:
        return self.record.id

    @property
    def source(self) -> SourceId:
        return source_id(self.record.id)

    def knowing(self, facts: RoomFacts) -> "Room":
        record = replace(
            self.record,
            facts=msgspec.json.encode(facts).decode(),
            title=facts.name,
            alias=facts.alias,
            join_rule=facts.join_rule,
            visibility=facts.visibility.value,
            is_joined=facts.is_joined,
        )
        return replace(self, record=record, facts=facts)

    def seeing(self, signs: Sticky) -> "Room":
        """With signs that were met in messages or in changes of state."""
        sticky = self.facts.sticky.with_(signs)
        return self if sticky == self.facts.sticky else self.knowing(replace(self.facts, sticky=sticky))

    def with_record(self, **changes: object) -> "Room":
        return replace(self, record=replace(self.record, **changes))  # type: ignore[arg-type] # names of its fields

    def judged(self, verdict: Verdict, now_ms: int) -> "Room":
        outcome = OUTCOMES[verdict.outcome]
        judgement = Judgement(verdict.findings, verdict.lifted, verdict.notes, verdict.starts_fresh)
        record = replace(
            self.record,
            outcome=outcome,
            findings=msgspec.json.encode(judgement).decode(),
            decided_ms=self.record.decided_ms if outcome == self.record.outcome else now_ms,
        )
        return replace(self, record=record, judgement=judgement)

    def shelf(self, settings: ChatSettings, purges: Sequence[Purge], now_ms: int) -> Shelf:
        mine = tuple(purge for purge in purges if purge.room in (None, self.id))
        rules = Rules(
            created_ms=self.facts.created_ms,
            now_ms=now_ms,
            purges=mine + tuple(Purge(self.id, sender=user) for user in settings.erased_users),
            silent_senders=settings.service_users | self.facts.feeds,
            keeps_notices=settings.keeps_notices,
            command=settings.command,
        )
        return Shelf(self.id, self.record.label, rules, settings.bounds)


def heir_of(record: RoomRecord) -> RoomId | None:
    """The room that this one was upgraded to, as its tombstone claims; None for one that goes on or names none."""
    return room_of(record).facts.replacement


def room_of(record: RoomRecord) -> Room:
    """What the store remembers. A record of before any facts gives those of a room of which nothing is known."""
    facts = RoomFacts(record.id, record.is_joined, is_state_known=False)
    if record.facts:
        facts = replace(msgspec.json.decode(record.facts, type=RoomFacts), is_joined=record.is_joined)
    judgement = msgspec.json.decode(record.findings, type=Judgement) if record.findings else Judgement()
    return Room(record, facts, judgement)


def new_room(room: RoomId) -> Room:
    return room_of(RoomRecord(room))


def tidied(facts: RoomFacts, scrub: Scrub) -> RoomFacts:
    """With names that may be stored."""
    return replace(facts, name=scrub(facts.name), alias=scrub(facts.alias))


def is_federated(state: Sequence[object], reader: UserId) -> bool:
    """Whether somebody of another server is or was here, so that history may lie elsewhere."""
    own = reader.partition(":")[2]
    for raw in state:
        event = as_mapping(raw)
        user = event.get("state_key")
        if event.get("type") == "m.room.member" and isinstance(user, str) and user.partition(":")[2] != own:
            return True
    return False


def lifetime_ms(state: Sequence[object]) -> int | None:
    """How long messages may be kept, as `m.room.retention` of the room says; None: for ever."""
    for raw in state:
        event = as_mapping(raw)
        if event.get("type") == "m.room.retention" and event.get("state_key") == "":
            found = time_ms(as_mapping(event.get("content")).get("max_lifetime"))
            return found if 0 < found < MAX_LIFETIME_MS else None
    return None
