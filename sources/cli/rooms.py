"""`sources rooms`: every joined room, what was decided about it, and how far it was read."""

import asyncio
import time
from collections.abc import Iterator, Sequence

import click

from index.wording import counted
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import PLAIN, Style, one_line, table
from sources.rooms import RoomStatus, room_statuses
from sources.troubles import ago

_COLOURS = {"refused": "yellow", "hidden": "red", "reading": "cyan"}


@click.command()
@common_options
@click.pass_obj
def command(invocation: Invocation) -> int:
    """Show every joined room: read or refused, why, and how far.

    As of the last refresh, with counts and with the stretches of history that could not be read. docs/chat.md says what
    each reason means.
    """
    found = asyncio.run(room_statuses(invocation.config))
    if invocation.as_json:
        put_json(record(found))
    elif not found and invocation.config.chat is None:
        click.echo("no rooms: there is no [chat] in the configuration (see docs/chat.md)")
    elif not found:
        click.echo("no rooms yet: let the reader account join some, then run `sources refresh`")
    else:
        click.echo(drawn(found, now_ms=time.time_ns() // 1_000_000, style=invocation.style))
    return Exit.FINE


def drawn(found: Sequence[RoomStatus], *, now_ms: int, style: Style = PLAIN) -> str:
    rows = [_row(one, now_ms) for one in found]
    colours = [_COLOURS.get(one.state, "") for one in found]
    headers = ("room", "is", "messages", "windows", "skipped", "newest", "why")
    return "\n".join([table(headers, rows, style, colours=colours), *_tail(found, style)])


def _row(one: RoomStatus, now_ms: int) -> tuple[str, ...]:
    counts = one.counts
    reasons = "; ".join(finding.text for finding in one.reasons)
    lifted = "; ".join(f"set aside by your override: {finding.text}" for finding in one.judgement.lifted)
    return (
        one.record.label,
        one.state,
        f"{counts.messages:,}" if counts.messages else "",
        f"{counts.windows:,}" if counts.windows else "",
        " ".join(f"{count:,} {reason}" for reason, count in one.skipped.items()),
        "" if counts.last_ms is None else ago(now_ms - counts.last_ms),
        "; ".join(text for text in (reasons, lifted, *one.judgement.notes) if text),
    )


def _tail(found: Sequence[RoomStatus], style: Style) -> Iterator[str]:
    for one in found:
        name = one_line(one.record.label)
        if one.gaps:
            yield style.paint(f"{name}: {counted(one.gaps, 'gap is', 'gaps are')} still being filled", "yellow")
        for stretch in one.unknown:
            yield style.paint(
                f"{name}: unknown from {_time(stretch.first_ms)} to {_time(stretch.last_ms)}: {stretch.why}", "yellow"
            )
        if one.counts.odd:
            yield style.paint(f"{name}: could not be read: {', '.join(one.counts.odd)}", "dim")


def _time(time_ms: int | None) -> str:
    return "an unknown time" if time_ms is None else time.strftime("%Y-%m-%d %H:%M", time.gmtime(time_ms / 1000))


def record(found: Sequence[RoomStatus]) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {"version": 1, "rooms": [_record(one) for one in found]}


def _record(one: RoomStatus) -> dict[str, object]:
    room = one.record
    return {
        "room": room.id,
        "alias": room.alias,
        "title": room.title,
        "state": one.state,
        "joined": room.is_joined,
        "public": room.is_public,
        "outcome": room.outcome,
        "reasons": [{"reason": finding.reason.value, "text": finding.text} for finding in one.reasons],
        "lifted": [{"reason": finding.reason.value, "text": finding.text} for finding in one.judgement.lifted],
        "notes": list(one.judgement.notes),
        "override": one.override,
        "decided_ms": room.decided_ms,
        "out_since_ms": room.left_ms,
        "phase": room.phase,
        "position": room.position,
        "messages": one.counts.messages,
        "edits": one.counts.edits,
        "windows": one.counts.windows,
        "waiting": one.counts.waiting,
        "first_ms": one.counts.first_ms,
        "last_ms": one.counts.last_ms,
        "skipped": dict(one.skipped),
        "odd": list(one.counts.odd),
        "gaps": one.gaps,
        "unknown": [
            {"first_ms": stretch.first_ms, "last_ms": stretch.last_ms, "why": stretch.why, "found_ms": stretch.found_ms}
            for stretch in one.unknown
        ],
    }
