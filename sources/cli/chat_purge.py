"""`sources chat-purge`: messages that must be forgotten, by order of the host."""

import asyncio
import re
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import click

from index.errors import StoreError
from index.model import EventId, UserId
from index.store.purges import PurgeRecord
from index.store.sweeps import Matched
from index.text.filters import read_time
from index.wording import counted
from sources.cli.common import Invocation, common_options, utf8
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import PLAIN, Style, one_line, table
from sources.config.units import DAY_MS
from sources.purging import Purge, give, given, host_user, preview, room_named
from sources.redact import redact

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_USER: Final = re.compile(r"@[^\s:]*:\S+")
_WHEN: Final = "write a day like 2026-11-01, a time like 2026-11-01T18:30, or a span like 12h 7d 2w 3m 1y"


@click.command()
@common_options
@click.option("--room", metavar="ROOM", callback=utf8, help="In this room: its id, or an alias that the index knows.")
@click.option("--event", metavar="ID", callback=utf8, help="This message, with its edits and the replies to it.")
@click.option("--sender", metavar="USER", callback=utf8, help="What this person sent, like @alice:example.org.")
@click.option("--since", metavar="WHEN", help="Sent then or later, by the server's time: a day (UTC), a time, or 7d.")
@click.option("--until", metavar="WHEN", help="Sent then or earlier; a day counts to its end.")
@click.option("--all", "is_all", is_flag=True, help="Everything that was said in the room until now.")
@click.option(
    "--with-replies/--keep-replies",
    "takes_replies",
    default=None,
    help="What answers a message that goes: forget it as well, or keep it without what it quotes. The default is to"
    " forget it, but with --sender to keep it, for it is somebody else's.",
)
@click.option(
    "--reason", default="", metavar="TEXT", callback=utf8, help="Kept with the order; say why, and quote nothing."
)
@click.option("--dry-run", "is_dry", is_flag=True, help="Only count what would go.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@click.option("--list", "is_list", is_flag=True, help="Show every order given so far, with its proof.")
@click.pass_obj
def command(
    invocation: Invocation, room: str | None, event: str | None, sender: str | None, since: str | None,
    until: str | None, reason: str, *, takes_replies: bool | None, is_all: bool, is_dry: bool, is_sure: bool,
    is_list: bool,
) -> int:  # fmt: skip
    """Forget messages for good, by the host's order.

    Name a room and what of it: --event, --sender, --since and --until, or --all. --sender without a room means all
    rooms, and what the person may send later as well. The order stands for ever: it outlives the index, and what it
    names is not taken in again. Nothing is changed on the homeserver.

    Edits go with their message. Direct replies go as well, those to come too; of what a --sender sent they stay, but
    lose their quotations, as does what answers a reply that went. Messages of a thread answer its first one only where
    they say so.

    Exit code 1 says that something is not erased yet, 6 that a running refresh will carry the order out.
    """
    if is_list:
        return _list(invocation)
    record = order_of(
        invocation, room=room, event=event, sender=sender, since=since, until=until, reason=reason, is_all=is_all,
        takes_replies=takes_replies,
    )  # fmt: skip
    found = _preview(invocation, record)
    if is_dry:
        if invocation.as_json:
            put_json({"version": 1, "order": order_record(record), "matched": matched_record(found)})
        else:
            click.echo(f"{scope(record)}: {reach(found, record)}")
        return Exit.FINE
    if not is_sure:
        if not sys.stdin.isatty() or invocation.as_json:
            raise click.UsageError("nobody can be asked here: say --yes, or --dry-run to see what would go")
        click.confirm(f"{one_line(scope(record))}: {reach(found, record)}. Forget that for good?", abort=True)
    done = asyncio.run(give(invocation.config, invocation.credentials, record))
    if invocation.as_json:
        put_json({"version": 1, "matched": matched_record(found), **purge_record(done)})
    elif not invocation.is_quiet or not done.is_erased:
        click.echo(told(done, found))
    if not done.is_applied:
        return Exit.BUSY
    return Exit.FINE if done.is_erased else Exit.NOTHING


def order_of(
    invocation: Invocation, *, room: str | None, event: str | None, sender: str | None, since: str | None,
    until: str | None, reason: str, is_all: bool, takes_replies: bool | None = None,
) -> PurgeRecord:  # fmt: skip
    """The order that the options give; `UsageError` unless it is plain what is meant."""
    now_ms = time.time_ns() // 1_000_000
    narrowed = any(value is not None for value in (event, sender, since, until))
    if room is None and sender is None:
        raise click.UsageError("say what: --room with one of the others, or --sender")
    if room is None and (event is not None or is_all):
        raise click.UsageError("--event and --all need --room")
    if is_all == narrowed:
        raise click.UsageError("--all stands alone with --room" if is_all else "say what of the room, or --all")
    if event is not None and not event.startswith("$"):
        raise click.UsageError(f"--event {event}: an event's id begins with $")
    if sender is not None and not _USER.fullmatch(sender):
        raise click.UsageError(f"--sender {sender}: write the full id, like @alice:example.org")
    after_ms = None if since is None else _moment("--since", since, now_ms)
    before_ms = None if until is None else _moment("--until", until, now_ms)
    if before_ms is not None and until is not None and _DAY.fullmatch(until):
        before_ms += DAY_MS - 1
    if before_ms is None and event is None and (sender is None or after_ms is not None):
        before_ms = now_ms
    if after_ms is not None and before_ms is not None and after_ms > before_ms:
        raise click.UsageError("--since lies after --until")
    return PurgeRecord(
        room=None if room is None else asyncio.run(room_named(invocation.config, room)),
        event=None if event is None else EventId(event),
        sender=None if sender is None else UserId(sender),
        after_ms=after_ms,
        before_ms=before_ms,
        ordered_ms=now_ms,
        ordered_by=host_user(),
        reason=redact(reason),
        takes_replies=sender is None if takes_replies is None else takes_replies,
    )


def _moment(option: str, text: str, now_ms: int) -> int:
    found = read_time(text, now_ms=now_ms)
    if found is None:
        raise click.UsageError(f"{option} {text}: {_WHEN}")
    return found


def _preview(invocation: Invocation, record: PurgeRecord) -> Matched | None:
    """None: the index cannot be looked into, which is no reason not to give an order."""
    try:
        return asyncio.run(preview(invocation.config, record))
    except StoreError:
        return None


def _list(invocation: Invocation) -> int:
    records = asyncio.run(given(invocation.config))
    if invocation.as_json:
        put_json({"version": 1, "orders": [order_record(record) for record in records]})
    elif records:
        click.echo(drawn(records, invocation.style))
    elif not invocation.is_quiet:
        click.echo("No order was ever given.")
    return Exit.FINE


def drawn(records: Sequence[PurgeRecord], style: Style = PLAIN) -> str:
    rows = [
        (
            shown(record.ordered_ms),
            record.ordered_by,
            "not yet" if record.applied_ms is None else shown(record.applied_ms),
            str(record.removed),
            record.proof,
            scope(record) + (f" ({record.reason})" if record.reason else ""),
        )
        for record in records
    ]
    return table(("ordered", "by", "carried out", "messages", "proof", "what"), rows, style)


def scope(record: PurgeRecord) -> str:
    """In one line, by ids."""
    parts = [record.room or "all rooms"]
    if record.event is not None:
        parts.append(f"event {record.event}")
    if record.sender is not None:
        parts.append(f"sent by {record.sender}")
    if record.after_ms is not None:
        parts.append(f"since {shown(record.after_ms)}")
    if record.before_ms is not None:
        parts.append(f"until {shown(record.before_ms)}")
    if record.takes_replies:
        parts.append("with replies")
    return ", ".join(parts)


def reach(found: Matched | None, record: PurgeRecord) -> str:
    if found is None:
        return "the index cannot be looked into now"
    said = "nothing of it is stored now"
    if found.first_ms is not None and found.last_ms is not None:
        said = (
            f"{counted(found.events, 'message or edit', 'messages and edits')} in {counted(found.windows, 'window')}"
            f" of {counted(found.rooms, 'room')},"
            f" sent {shown(found.first_ms)} to {shown(found.last_ms)}"
        )
    if found.replies:
        is_one = found.replies == 1
        if record.takes_replies:
            fate = "goes as well" if is_one else "go as well"
        else:
            fate = "stays, without what it quotes" if is_one else "stay, without what they quote"
        said += f"; {found.replies:,} more that {'answers' if is_one else 'answer'} (edits counted) {fate}"
    return f"{said}{unasked(found)}"


def unasked(found: Matched) -> str:
    """What is missing until the refresh after an upgrade has gone through the rooms once more."""
    if not found.unasked:
        return ""
    answer = counted(found.unasked, "older message of these rooms answers", "older messages of these rooms answer")
    return f"; what {answer} is found out by the next refresh"


def told(done: Purge, found: Matched | None) -> str:
    if not done.is_applied:
        return (
            f"Written down, not carried out yet: {one_line(done.busy.partition(' (')[0])}. It or the next one does it."
        )
    forgotten = counted(done.record.removed, "message or edit", "messages and edits")
    lines = [f"Forgot {forgotten}. Proof: {done.record.proof or 'nothing went'}"]
    if found is not None and found.unasked:
        lines.append(unasked(found).removeprefix("; ").capitalize() + ": replies among them follow then.")
    if done.copy_fault:
        lines.append(f"Not yet erased from the cluster: {one_line(done.copy_fault)}. The next refresh does it.")
    elif not done.is_erased:
        who = f" (process {', '.join(map(str, done.readers))})" if done.readers else ""
        lines.append(f"Not yet erased from the file: somebody is reading it{who}. The next refresh does it.")
    return "\n".join(lines)


def shown(time_ms: int) -> str:
    """To the second, in UTC."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{time_ms} ms"


def order_record(record: PurgeRecord) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "room": record.room,
        "event": record.event,
        "sender": record.sender,
        "after_ms": record.after_ms,
        "before_ms": record.before_ms,
        "ordered_ms": record.ordered_ms,
        "ordered_by": record.ordered_by,
        "reason": record.reason,
        "takes_replies": record.takes_replies,
        "applied_ms": record.applied_ms,
        "removed": record.removed,
        "proof": record.proof,
    }


def matched_record(found: Matched | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "events": found.events,
        "rooms": found.rooms,
        "windows": found.windows,
        "first_ms": found.first_ms,
        "last_ms": found.last_ms,
        "replies": found.replies,
        "unasked": found.unasked,
    }


def purge_record(done: Purge) -> dict[str, object]:
    return {
        "order": order_record(done.record),
        "applied": done.is_applied,
        "erased": done.is_erased,
        "readers": list(done.readers),
        "copy_fault": done.copy_fault,
    }
