"""A page of raw events, sorted by what is done with them. Pure.

History visibility is judged where a message stands: what was said while newcomers could not read back is not kept,
unless the host wants such rooms.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from index.model import EventId, RoomId
from ingest.chat.content import Scrub
from ingest.chat.events import (
    Edited,
    Encrypted,
    Extracted,
    Nothing,
    Odd,
    Pruned,
    Redacted,
    Said,
    StateChange,
    extract,
    time_ms,
)
from ingest.chat.facts import NOTHING_SEEN, Account, Sticky, Visibility, signs_in, signs_in_message, visibility_of
from ingest.chat.ledger import Arrival

ENCRYPTED: Final = "encrypted"
ODD: Final = "cannot be read"
NARROW: Final = "said while newcomers could not read back"
EXPIRED: Final = "older than the room keeps messages"
DISPUTED: Final = "a redaction that names two targets"
FORGED: Final = "an edit of somebody else's message"


@dataclass(frozen=True, slots=True)
class Sieve:
    """How the events of one room are read."""

    room: RoomId
    version: str
    scrub: Scrub
    account: Account
    visibilities: frozenset[Visibility]  # at which messages are kept
    expired_before_ms: int = 0


@dataclass(slots=True)
class Sifted:
    """`visibility` is that behind the last event, in the direction of reading."""

    visibility: Visibility
    arrivals: list[Arrival] = field(default_factory=list)
    skipped: list[tuple[EventId, str, bool]] = field(default_factory=list)
    signs: Sticky = NOTHING_SEEN
    counts: Counter[str] = field(default_factory=Counter)
    met: list[EventId] = field(default_factory=list)  # what a second reading would recognise
    last_event: EventId | None = None
    last_ms: int | None = None


def sift(
    events: Iterable[Mapping[str, object]],
    sieve: Sieve,
    *,
    first_order: int,
    visibility: Visibility,
    is_backwards: bool = False,
) -> Sifted:
    """`events` in the direction of reading. Orders count up from `first_order`, or down when reading backwards."""
    sifted = Sifted(visibility)
    step = -1 if is_backwards else 1
    for number, raw in enumerate(events):
        record = extract(raw, room=sieve.room, version=sieve.version, scrub=sieve.scrub)
        signs = signs_in_message(raw)
        if signs is not NOTHING_SEEN:
            sifted.signs = sifted.signs.with_(signs)
        _sort(record, sieve, sifted, first_order + step * number, is_backwards=is_backwards)
        if record.event is not None:
            sifted.last_event, sifted.last_ms = record.event, time_ms(raw.get("origin_server_ts"))
    return sifted


def signs_among(events: Iterable[Mapping[str, object]], sieve: Sieve) -> Sifted:
    """Only what gives a room away, and which events would be recognised: nothing is scrubbed, nothing can be stored."""
    sifted = sift(events, replace(sieve, scrub=str), first_order=0, visibility=Visibility.SHARED)
    sifted.arrivals.clear()
    return sifted


def burials(sifted: Sifted) -> list[Arrival]:
    """Only what takes something away."""
    return [arrival for arrival in sifted.arrivals if isinstance(arrival.record, Redacted | Pruned)]


def _sort(record: Extracted, sieve: Sieve, sifted: Sifted, order: int, *, is_backwards: bool) -> None:
    match record:
        case Said(event=event) | Edited(event=event):
            if record.claimed_ms < sieve.expired_before_ms:
                sifted.counts[EXPIRED] += 1
            elif sifted.visibility not in sieve.visibilities:
                _skip(sifted, event, NARROW)
            else:
                sifted.arrivals.append(Arrival(order, record))
                sifted.met.append(event)
        case Pruned(event=event):
            sifted.arrivals.append(Arrival(order, record))
            sifted.met.append(event)
        case Redacted():
            sifted.counts[DISPUTED] += record.is_disputed
            sifted.arrivals.append(Arrival(order, record))
        case Encrypted(event=event):
            _skip(sifted, event, ENCRYPTED)
        case Odd(event=event):
            if event is None:
                sifted.counts[ODD] += 1
            else:
                _skip(sifted, event, ODD, is_shown=True)
        case StateChange(type="m.room.history_visibility", key=""):
            before = visibility_of(record.previous) if record.previous else Visibility.SHARED
            sifted.visibility = before if is_backwards else visibility_of(record.content)
        case StateChange():
            signs = signs_in(record, sieve.account)
            if signs != NOTHING_SEEN:
                sifted.signs = sifted.signs.with_(signs)
        case Nothing(reason=reason):
            sifted.counts[reason] += 1


def _skip(sifted: Sifted, event: EventId, reason: str, *, is_shown: bool = False) -> None:
    sifted.skipped.append((event, reason, is_shown))
    sifted.met.append(event)
    sifted.counts[reason] += 1
