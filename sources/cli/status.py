"""`sources status`: what is wrong and what to do about it, then what is in the index and how old it is."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import click
from msgspec.structs import asdict

from index.model import NO_EMBEDDER, Corpus
from index.wording import counted
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import PLAIN, Style, one_line, table
from sources.status import SourceStatus, Status, group_of, status
from sources.troubles import Trouble, ago, name_of, troubles

_HEADERS: Final = ("source", "is", "documents", "up to date", "seen by")


@click.command()
@common_options
@click.pass_obj
def command(invocation: Invocation) -> int:
    """Show what is wrong and what to do about it, what is in the index, and how old it is.

    All rooms are one line, and so are all repositories of a forge; `-v` shows each. Reads the index file alone:
    `sources check` tries what the sources need, `sources audit` looks at the sources themselves. Exit code 1 says that
    something is wrong.
    """
    config = invocation.config
    found = asyncio.run(status(config))
    now_ms = time.time_ns() // 1_000_000
    wrong = troubles(found, overdue_ms=config.audit.refresh_overdue_ms, now_ms=now_ms)
    if invocation.as_json:
        put_json(record(found, wrong))
    elif wrong or not invocation.is_quiet:
        page = drawn(found, wrong, now_ms=now_ms, style=invocation.style, is_verbose=invocation.verbosity > 0)
        click.echo(page)
    return Exit.NOTHING if wrong else Exit.FINE


def drawn(
    found: Status, wrong: Sequence[Trouble], *, now_ms: int, style: Style = PLAIN, is_verbose: bool = False
) -> str:
    """The verdict stands first, for whoever reads no further."""
    blocks = ["\n".join(_verdict(found, wrong, now_ms, style))]
    if found.sources or found.missing:
        blocks.append(_table(found, now_ms, style, is_verbose=is_verbose))
    blocks.append("\n".join(style.paint(line, "dim") for line in _tail(found, is_verbose=is_verbose)))
    return "\n\n".join(blocks)


def _verdict(found: Status, wrong: Sequence[Trouble], now_ms: int, style: Style) -> Iterator[str]:
    last = "never refreshed" if found.succeeded_ms is None else f"last refreshed {ago(now_ms - found.succeeded_ms)}"
    if found.running is not None:
        last += f", a refresh is running (process {found.running})"
    if not wrong:
        documents = sum(one.documents for one in found.sources)
        yield style.paint(f"All is well: {counted(documents, 'document')}, {last}.", "green")
        return
    yield (
        style.paint("One thing is wrong" if len(wrong) == 1 else f"{len(wrong)} things are wrong", "red") + f"; {last}."
    )
    for number, trouble in enumerate(wrong, 1):
        yield ""
        yield f"{number}. {style.paint(one_line(trouble.subject), 'bold')}: {one_line(trouble.what)}"
        yield f"   {style.paint('To do:', 'cyan')} {one_line(trouble.remedy)}"


def _table(found: Status, now_ms: int, style: Style, *, is_verbose: bool) -> str:
    groups: dict[str, list[SourceStatus]] = {}
    for one in found.sources:
        groups.setdefault(one.source if is_verbose else group_of(one.source), []).append(one)
    rows = [_row(name, members, now_ms) for name, members in groups.items()]
    colours = ["red" if row[1].endswith("failed") else "yellow" if row[1] == "hidden" else "" for row in rows]
    rows += [(name, "never indexed", "", "", "") for name in found.missing]
    return table(_HEADERS, rows, style, colours=[*colours, *["yellow"] * len(found.missing)])


def _row(name: str, members: Sequence[SourceStatus], now_ms: int) -> tuple[str, ...]:
    """Of several sources the oldest counts. The account and the forge themselves hold no documents."""
    failed = sum(one.fault is not None for one in members)
    shown = [one for one in members if not one.is_hidden]
    times = [one.succeeded_ms for one in shown]
    oldest = min((time_ms for time_ms in times if time_ms is not None), default=None)
    public = {one.is_public for one in members if one.documents}
    if len(members) == 1:
        state = "hidden" if members[0].is_hidden else "failed" if failed else "ok"
        name = f"chat {members[0].label}" if members[0].corpus is Corpus.CHAT and members[0].label else name
    else:
        state = f"{failed} of {len(members)} failed" if failed else "ok" if shown else "hidden"
        name = f"{name} ({len(members):,})"
    return (
        name,
        state,
        f"{sum(one.documents for one in members):,}",
        "never" if oldest is None else ago(now_ms - oldest),
        "" if not public else "everyone" if public == {True} else "listed rooms" if public == {False} else "both",
    )


def _tail(found: Status, *, is_verbose: bool) -> Iterator[str]:
    if found.rooms:
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(found.rooms.items()))
        yield f"rooms: {counts}" + _reasons(found)
    if found.gaps or found.unknown_stretches:
        gaps = counted(found.gaps, "gap is", "gaps are")
        stretches = counted(found.unknown_stretches, "stretch", "stretches")
        yield f"history: {gaps} being filled, {stretches} nobody can fill"
    if is_verbose:
        for room in found.unread:
            yield f"{room.outcome}: {one_line(room.label)}: {one_line(room.text)}"
        for one in found.sources:
            if one.fault:
                yield f"failed: {one_line(name_of(one))}: {one_line(one.fault)}"
    yield f"vectors: {_vectors(found)}"
    free = "" if found.free_bytes is None else f", {found.free_bytes / 1e9:,.1f} GB free"
    yield f"index: {found.size_bytes / 1e6:,.1f} MB{free}, {found.file}"


def _reasons(found: Status) -> str:
    reasons = Counter(room.reason for room in found.unread if room.outcome == "refused")
    if not reasons:
        return ""
    return f" ({', '.join(f'{count:,} {reason}' for reason, count in sorted(reasons.items()))}; see `sources rooms`)"


def _vectors(found: Status) -> str:
    if found.fingerprint is None:
        return "none yet"
    return "off" if found.fingerprint.embedder == NO_EMBEDDER else f"{found.vectors:,} of {found.fingerprint.embedder}"


def record(found: Status, wrong: Sequence[Trouble]) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "well": not wrong,
        "troubles": [asdict(trouble) for trouble in wrong],
        "file": str(found.file),
        "size_bytes": found.size_bytes,
        "free_bytes": found.free_bytes,
        "running": found.running,
        "fingerprint": None if found.fingerprint is None else asdict(found.fingerprint),
        "vectors": found.vectors,
        "pending": found.pending,
        "drifted": found.is_drifted,
        "owes_erasure": found.owes_erasure,
        "waiting_orders": found.waiting_orders,
        "uncopied": found.uncopied,
        "missing": list(found.missing),
        "succeeded_ms": found.succeeded_ms,
        "sources": [
            {
                "source": one.source,
                "corpus": one.corpus.value,
                "documents": one.documents,
                "public": one.is_public,
                "hidden": one.is_hidden,
                "tried_ms": one.tried_ms,
                "succeeded_ms": one.succeeded_ms,
                "fault": one.fault,
                "label": one.label,
            }
            for one in found.sources
        ],
        "rooms": dict(found.rooms),
        "upgrades": [{"room": one.room, "heir": one.heir} for one in found.upgrades],
        "gaps": found.gaps,
        "unknown_stretches": found.unknown_stretches,
        "absent_rooms": found.absent_rooms,
        "absent_until_ms": found.absent_until_ms,
        "unread": [asdict(room) for room in found.unread],
    }
