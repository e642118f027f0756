"""What is wrong with an index, in words, worst first, each with what to do. Pure.

The index file alone is judged, so that it can be done at any time and costs nothing; `sources audit` looks at the
sources themselves, and `sources check` at everything that they need.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from index.audit import AHEAD_MS, CLOCK_REMEDY, UPGRADE_REMEDY, moment
from index.wording import counted
from sources.config.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from sources.remedies import parted
from sources.status import SourceStatus, Status, group_of

SCARCE_BYTES: Final = 1 << 30
"""Free space that the wipe of a large index, a model and a few clones may need."""
_UNITS: Final = ((DAY_MS, "day"), (HOUR_MS, "hour"), (MINUTE_MS, "minute"), (SECOND_MS, "second"))
_MOST_OF_A_GROUP: Final = 3


class Trouble(Struct, frozen=True):
    """`subject` is a source, all rooms, a forge, the disk or the index."""

    subject: str
    what: str
    remedy: str


def troubles(found: Status, *, overdue_ms: int, now_ms: int) -> tuple[Trouble, ...]:
    """Empty when all is well. `overdue_ms` is `audit.refresh_overdue`."""
    if not found.sources and not found.missing:
        remedy = "add a [[repo]], [[forge]], [[notes]] or [chat] to the configuration, then run `sources refresh`"
        return (Trouble("configuration", "no source is configured, so nothing can be found", remedy),)
    return (
        *_disk(found),
        *_overdue(found, overdue_ms, now_ms),
        *_ahead(found, now_ms),
        *_failing(found, now_ms),
        *_missing(found),
        *_no_rooms(found),
        *_absent(found, now_ms),
        *_erasure(found),
        *_cluster(found),
        *_suspended(found),
        *_upgrades(found),
        *_vectors(found),
    )


def _disk(found: Status) -> Iterator[Trouble]:
    if found.free_bytes is not None and found.free_bytes < SCARCE_BYTES:
        what = f"only {found.free_bytes / 1e6:,.0f} MB are free on the disk of the index"
        yield Trouble("disk", what, f"make room on the disk that holds {found.file.parent}")


def _overdue(found: Status, overdue_ms: int, now_ms: int) -> Iterator[Trouble]:
    """Of sources that do not fail: those tell more of themselves."""
    times = [one.succeeded_ms for one in found.sources if one.succeeded_ms is not None]
    newest = max((time_ms for time_ms in times if not is_ahead(time_ms, now_ms)), default=None)
    if newest is None:
        return
    if now_ms - newest > overdue_ms:
        if found.running is None:
            remedy = "is the timer on? `systemctl list-timers sources-refresh.timer`, `journalctl -u sources-refresh`"
        else:
            remedy = f"the refresh at work may be a first or full one; if it stands still, stop process {found.running}"
        yield Trouble("refresh", f"nothing was brought up to date for {span(now_ms - newest)}", remedy)
        return
    late: dict[str, int] = {}
    for one in found.sources:
        if one.succeeded_ms is not None and not one.fault and not one.is_hidden:
            group = group_of(one.source)
            late[group] = max(late.get(group, 0), now_ms - one.succeeded_ms)
    for group, late_ms in late.items():
        if late_ms > overdue_ms:
            what = f"was not brought up to date for {span(late_ms)}, though others were"
            yield Trouble(group, what, f"run `sources refresh --source {group}` and read what it says")


def _ahead(found: Status, now_ms: int) -> Iterator[Trouble]:
    """What is dated in the future is never overdue, however long nobody brings it up to date."""
    last: dict[str, int] = {}
    for one in found.sources:
        if one.succeeded_ms is not None and is_ahead(one.succeeded_ms, now_ms):
            group = group_of(one.source)
            last[group] = max(last.get(group, 0), one.succeeded_ms)
    for group, time_ms in last.items():
        what = f"its last refresh is dated {moment(time_ms)}, which is still to come: the clock was wrong"
        yield Trouble(group, what, CLOCK_REMEDY)


def _failing(found: Status, now_ms: int) -> Iterator[Trouble]:
    groups: dict[str, list[SourceStatus]] = {}
    for one in found.sources:
        if one.fault:
            groups.setdefault(group_of(one.source), []).append(one)
    for group, members in groups.items():
        for one in members[:_MOST_OF_A_GROUP]:
            detail, remedy = parted(one.fault or "")
            since = "has never worked" if one.succeeded_ms is None else f"last worked {ago(now_ms - one.succeeded_ms)}"
            yield Trouble(name_of(one), f"fails, {since}: {detail}", remedy or "`sources check` tries what it needs")
        if len(members) > _MOST_OF_A_GROUP:
            what = counted(len(members) - _MOST_OF_A_GROUP, "more of its sources fails", "more of its sources fail")
            yield Trouble(group, what, "`sources status -v` lists them")


def _missing(found: Status) -> Iterator[Trouble]:
    for source in found.missing:
        name = "chat" if group_of(source) == "chat" else source
        remedy = "wait for the refresh that is running" if found.running is not None else "run `sources refresh`"
        yield Trouble(name, "is configured and was never indexed", remedy)


def _no_rooms(found: Status) -> Iterator[Trouble]:
    """An account that reads well and is nowhere: joined to nothing, or the wrong one."""
    if found.rooms or found.absent_rooms:
        return
    for one in found.sources:
        if one.source.startswith("chat:@") and one.succeeded_ms is not None and not one.fault:
            remedy = "invite it, then let it join with `sources roster`; docs/chat.md says how"
            yield Trouble("chat", f"{one.source.removeprefix('chat:')} is in no room, so nothing is read", remedy)


def _absent(found: Status, now_ms: int) -> Iterator[Trouble]:
    """A table that was taken out, or mistyped."""
    if not found.absent_rooms:
        return
    if found.absent_until_ms is None:
        rooms = counted(found.absent_rooms, "room")
        what = f"[chat] is not configured any more: the next refresh takes {rooms} out of every search"
    else:
        when = span(found.absent_until_ms - now_ms)
        rooms = counted(found.absent_rooms, "room is", "rooms are")
        what = f"[chat] is not configured any more: {rooms} out of every search, and erased in {when}"
    yield Trouble("chat", what, "put [chat] back to keep them; docs/chat.md says how to be rid of them at once")


def _erasure(found: Status) -> Iterator[Trouble]:
    if found.orders_fault is not None:
        detail, remedy = parted(found.orders_fault)
        yield Trouble("erasure", f"orders to forget cannot be read, so chat stands still: {detail}", remedy)
    if found.waiting_orders:
        orders = counted(found.waiting_orders, "order to forget is", "orders to forget are")
        what = f"{orders} not carried out in this index"
        remedy = "wait for the refresh that is running" if found.running is not None else "run `sources refresh` now"
        yield Trouble("erasure", what, remedy)
    if found.owes_erasure:
        what = "deleted text may still be in the bytes of the file: the last run ended before it was wiped"
        yield Trouble("erasure", what, "run `sources refresh`; if it stays, it names the process that holds the file")


def _cluster(found: Status) -> Iterator[Trouble]:
    if found.uncopied and found.running is None:
        changed = counted(found.uncopied, "changed chunk is", "changed chunks are")
        what = f"{changed} not in the cluster, where what was erased since can still be found"
        yield Trouble(
            "cluster", what, "run `sources refresh`; if the number stays, `sources check` tries [index.qdrant]"
        )


def _suspended(found: Status) -> Iterator[Trouble]:
    suspended = [room for room in found.unread if room.outcome == "suspended"]
    for room in suspended[:_MOST_OF_A_GROUP]:
        yield Trouble(room.label, f"is out of every search for now: {room.text}", "`sources rooms` says more")
    if len(suspended) > _MOST_OF_A_GROUP:
        more = (
            counted(len(suspended) - _MOST_OF_A_GROUP, "more room is", "more rooms are")
            + " out of every search for now"
        )
        yield Trouble("chat", more, "`sources rooms` lists them")


def _upgrades(found: Status) -> Iterator[Trouble]:
    for one in found.upgrades[:_MOST_OF_A_GROUP]:
        what = f"was upgraded to {one.heir}, where the reader is not: what is said there is missing"
        yield Trouble(one.room, what, UPGRADE_REMEDY)
    if len(found.upgrades) > _MOST_OF_A_GROUP:
        left = counted(len(found.upgrades) - _MOST_OF_A_GROUP, "more room")
        yield Trouble("chat", f"{left} upgraded to where the reader is not", "`sources audit` lists them")


def _vectors(found: Status) -> Iterator[Trouble]:
    if found.is_drifted:
        what = "the model answers otherwise than when the index was built, so only words are searched"
        yield Trouble("vectors", what, "run `sources refresh --full`, or bring the former model back")
    if found.pending:
        counts = counted(found.pending, "text waits for its vector", "texts wait for their vectors")
        what = f"{counts}, found by words alone until then"
        yield Trouble("vectors", what, "the next refresh goes on; if the number stays, `sources check` tries [embed]")


def name_of(one: SourceStatus) -> str:
    """For people: a room by what it is called."""
    return one.label if group_of(one.source) == "chat" and one.label else one.source


def span(duration_ms: int) -> str:
    """In the largest unit that fits: `3 hours`, `1 day`."""
    for unit_ms, name in _UNITS:
        if duration_ms >= unit_ms:
            count = duration_ms // unit_ms
            return f"{count:,} {name}{'' if count == 1 else 's'}"
    return "a moment"


def ago(duration_ms: int) -> str:
    """`3 hours ago`; a little to come, as of another clock, is now."""
    if duration_ms < -AHEAD_MS:
        return "at a time still to come"
    return "now" if duration_ms < SECOND_MS else f"{span(duration_ms)} ago"


def is_ahead(time_ms: int, now_ms: int) -> bool:
    """Whether a time was taken from a clock that was wrong."""
    return time_ms - now_ms > AHEAD_MS
