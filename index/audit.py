"""What is old, missing or out of step: findings from facts. Pure.

Facts are gathered by the program, which knows where to look; what is too old is decided here. A finding of severity
`error` means that a reader is told something wrong or nothing; a `warning` that this is going to happen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Final

from index.model import Corpus, RoomId, SourceId, corpus_of
from index.wording import counted

DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
AHEAD_MS: Final = 5 * 60_000
"""By so much two clocks may differ; a time further ahead was taken from one that was wrong."""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Check(StrEnum):
    """What can be found, in the order in which it is shown."""

    CONTRACT_DRIFT = "contract_drift"  # the index was built with something else than what is configured
    REFRESH_OVERDUE = "refresh_overdue"
    CLOCK = "clock"  # a refresh is dated in the future, so that it never seems to be overdue
    INDEX_DRIFT = "index_drift"  # a source changed, vanished, or was never indexed
    STALE = "stale"
    DUE_SOON = "due_soon"
    PENDING_VECTORS = "pending_vectors"
    ROOM_UPGRADED = "room_upgraded"  # people talk on in a room that nobody reads
    CHAT_GAP = "chat_gap"
    COVERAGE = "coverage"


class Drift(StrEnum):
    """What a look at a source shows against what is indexed of it."""

    NONE = "none"
    CHANGED = "changed"
    VANISHED = "vanished"
    UNKNOWN = "unknown"  # it could not be asked
    NEVER = "never"  # it is configured and was never indexed
    UNCONFIGURED = "unconfigured"  # it is indexed and no longer configured
    SUSPENDED = "suspended"  # as that, and kept for a while, out of every search


@dataclass(frozen=True, slots=True)
class Page:
    """A page that says when somebody last verified it, as ISO date."""

    source: SourceId
    path: str
    last_verified: str


@dataclass(frozen=True, slots=True)
class Upkeep:
    """When a source was last brought up to date; None: never. `fault` is of a later try."""

    source: SourceId
    succeeded_ms: int | None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Look:
    source: SourceId
    drift: Drift
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of a room's history that is still to be read."""

    room: str
    opened_ms: int


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A room that is read and was upgraded to one that the reader is not in."""

    room: str
    heir: RoomId


@dataclass(frozen=True, slots=True)
class Facts:
    """`contract` are differences between the index and the configuration; `mending` those that a refresh mends.

    `gathered_ms` is when the facts were gathered: they may be judged as on another day.
    """

    pages: Sequence[Page] = ()
    upkeep: Sequence[Upkeep] = ()
    looks: Sequence[Look] = ()
    contract: Sequence[str] = ()
    mending: Sequence[str] = ()
    uncovered: Sequence[str] = ()
    gaps: Sequence[Gap] = ()
    upgrades: Sequence[Upgrade] = ()
    pending: int = 0
    pending_since_ms: int | None = None
    gathered_ms: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    horizon: timedelta = timedelta(days=180)
    due_soon: timedelta = timedelta(days=30)
    refresh_overdue_ms: int = 26 * _HOUR_MS
    pending_overdue_ms: int = DAY_MS


@dataclass(frozen=True, slots=True)
class Finding:
    """`subject` is a source, a page of one, a room, a folder or the index."""

    check: Check
    severity: Severity
    subject: str
    detail: str
    remedy: str


def findings(facts: Facts, limits: Limits, *, now_ms: int) -> tuple[Finding, ...]:
    """Everything that is wrong, worst first."""
    found = [
        *_contract(facts),
        *_overdue(facts.upkeep, limits, now_ms),
        *_ahead(facts.upkeep, max(now_ms, facts.gathered_ms)),
        *_drift(facts.looks),
        *_pages(facts.pages, limits, day_of(now_ms)),
        *_pending(facts, limits, now_ms),
        *_upgrades(facts.upgrades),
        *_gaps(facts.gaps, now_ms),
        *_uncovered(facts.uncovered),
    ]
    order = {check: number for number, check in enumerate(Check)}
    return tuple(sorted(found, key=lambda one: (one.severity is not Severity.ERROR, order[one.check], one.subject)))


def day_of(time_ms: int) -> date:
    """In UTC, as `last_verified` knows no zone."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).date()


def _contract(facts: Facts) -> Iterator[Finding]:
    if facts.contract:
        remedy = "run `sources refresh --full`, or set it back"
        yield Finding(Check.CONTRACT_DRIFT, Severity.ERROR, "index", ", ".join(facts.contract), remedy)
    if facts.mending:
        remedy = "the next `sources refresh` mends it"
        yield Finding(Check.CONTRACT_DRIFT, Severity.WARNING, "index", ", ".join(facts.mending), remedy)


def _overdue(upkeep: Sequence[Upkeep], limits: Limits, now_ms: int) -> Iterator[Finding]:
    limit_ms = limits.refresh_overdue_ms
    late = [one for one in upkeep if one.succeeded_ms is not None and now_ms - one.succeeded_ms > limit_ms]
    for group, members in _grouped(late).items():
        oldest = min(members, key=lambda one: one.succeeded_ms or 0)
        detail = f"up to date {_length(now_ms - (oldest.succeeded_ms or 0))} ago"
        if len(members) > 1:
            detail = f"{len(members)} sources, the oldest {detail}"
        if oldest.fault:
            detail += f"; since then: {oldest.fault}"
        remedy = "see to that" if oldest.fault else "is the timer of `sources refresh` running?"
        yield Finding(
            Check.REFRESH_OVERDUE, Severity.ERROR, group if len(members) > 1 else oldest.source, detail, remedy
        )


def _ahead(upkeep: Sequence[Upkeep], now_ms: int) -> Iterator[Finding]:
    ahead = [one for one in upkeep if (one.succeeded_ms or 0) - now_ms > AHEAD_MS]
    for group, members in _grouped(ahead).items():
        last = max(members, key=lambda one: one.succeeded_ms or 0)
        detail = f"its refresh is dated {moment(last.succeeded_ms or 0)}, which is still to come: it cannot grow old"
        if len(members) > 1:
            detail = f"{len(members)} sources, the furthest: {detail}"
        yield Finding(Check.CLOCK, Severity.ERROR, group if len(members) > 1 else last.source, detail, CLOCK_REMEDY)


UPGRADE_REMEDY: Final = "have the reader join it (`sources roster`), or add it to chat.exclude"
CLOCK_REMEDY: Final = "set the clock of this machine, then run `sources refresh`, which dates it anew"


def moment(time_ms: int) -> str:
    """To the minute, in UTC; a clock may have said anything."""
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return "beyond all calendars"


def _grouped(upkeep: Iterable[Upkeep]) -> dict[str, list[Upkeep]]:
    """One group for each source, but only one for all rooms, and for all repositories of a forge."""
    groups: dict[str, list[Upkeep]] = {}
    for one in upkeep:
        groups.setdefault(_group(one.source), []).append(one)
    return groups


def _group(source: SourceId) -> str:
    if corpus_of(source) is Corpus.CHAT:
        return "chat"
    return source.partition("/")[0] if source.startswith("forge:") else source


_DRIFTS: Final = {
    Drift.CHANGED: (Severity.WARNING, "changed since it was indexed", "run `sources refresh`"),
    Drift.VANISHED: (Severity.ERROR, "is gone, and its text is still found", "bring it back, or take the source out"),
    Drift.UNKNOWN: (Severity.WARNING, "cannot be asked", "see `sources check`"),
    Drift.NEVER: (Severity.ERROR, "was never indexed", "run `sources refresh`"),
    Drift.UNCONFIGURED: (
        Severity.WARNING,
        "is indexed and no longer configured",
        "the next `sources refresh` drops it",
    ),
    Drift.SUSPENDED: (
        Severity.WARNING,
        "is no longer configured, out of every search from the next refresh on, and erased after its grace time",
        "put [chat] back to keep it",
    ),
}


def _drift(looks: Sequence[Look]) -> Iterator[Finding]:
    for look in looks:
        if look.drift is not Drift.NONE:
            severity, what, remedy = _DRIFTS[look.drift]
            detail = f"{what}: {look.detail}" if look.detail else what
            yield Finding(Check.INDEX_DRIFT, severity, look.source, detail, remedy)


def _pages(pages: Sequence[Page], limits: Limits, today: date) -> Iterator[Finding]:
    remedy = "verify it and set last_verified"
    for page in pages:
        subject = f"{page.source} {page.path}"
        try:
            verified = date.fromisoformat(page.last_verified)
        except ValueError:
            yield Finding(Check.STALE, Severity.ERROR, subject, "last_verified is no date", "write it like 2026-11-29")
            continue
        age = today - verified
        if age < timedelta():
            yield Finding(Check.STALE, Severity.ERROR, subject, f"last_verified {verified} is still to come", remedy)
        elif age > limits.horizon:
            detail = f"verified {verified}, {_days(age)} ago"
            yield Finding(Check.STALE, Severity.ERROR, subject, detail, remedy)
        elif age >= limits.horizon - limits.due_soon:
            left = limits.horizon - age
            yield Finding(
                Check.DUE_SOON, Severity.WARNING, subject, f"verified {verified}, stale in {_days(left)}", remedy
            )


def _pending(facts: Facts, limits: Limits, now_ms: int) -> Iterator[Finding]:
    if not facts.pending or facts.pending_since_ms is None:
        return
    age_ms = now_ms - facts.pending_since_ms
    if age_ms > limits.pending_overdue_ms:
        waiting = counted(facts.pending, "text waits for its vector", "texts wait for their vectors")
        detail = f"{waiting}, the first for {_length(age_ms)}"
        yield Finding(
            Check.PENDING_VECTORS, Severity.WARNING, "index", detail, "see `sources check`: does [embed] answer?"
        )


def _gaps(gaps: Sequence[Gap], now_ms: int) -> Iterator[Finding]:
    rooms: dict[str, list[Gap]] = {}
    for gap in gaps:
        rooms.setdefault(gap.room, []).append(gap)
    for room, open_gaps in rooms.items():
        length = _length(now_ms - min(gap.opened_ms for gap in open_gaps))
        count = f"{len(open_gaps)} parts" if len(open_gaps) > 1 else "a part"
        detail = f"{count} of its history still to be read, for {length}"
        yield Finding(Check.CHAT_GAP, Severity.WARNING, room, detail, "the next `sources refresh` reads on")


def _upgrades(upgrades: Sequence[Upgrade]) -> Iterator[Finding]:
    for one in upgrades:
        detail = f"was upgraded to {one.heir}, where the reader is not: what is said there is missing"
        yield Finding(Check.ROOM_UPGRADED, Severity.WARNING, one.room, detail, UPGRADE_REMEDY)


def _uncovered(folders: Sequence[str]) -> Iterator[Finding]:
    for folder in folders:
        remedy = "add it to the paths of a [[notes]], or exclude it"
        yield Finding(Check.COVERAGE, Severity.WARNING, folder, "holds Markdown that no source reads", remedy)


def _length(age_ms: int) -> str:
    return counted(age_ms // DAY_MS, "day") if age_ms >= 2 * DAY_MS else counted(max(0, age_ms) // _HOUR_MS, "hour")


def _days(length: timedelta) -> str:
    return counted(length.days, "day")


def failing(found: Sequence[Finding], fail_on: Severity | None) -> tuple[Finding, ...]:
    """Those that make an audit fail; None: none does."""
    if fail_on is None:
        return ()
    return tuple(one for one in found if fail_on is Severity.WARNING or one.severity is Severity.ERROR)
