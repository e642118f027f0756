"""`sources status`: what is in the index, how old it is, and what it lacks."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

import click

from index.model import NO_EMBEDDER, Corpus
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import PLAIN, Style, one_line, table
from sources.config.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from sources.status import SourceStatus, Status, status

_AGES: Final = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (SECOND_MS, "s"))


@click.command()
@common_options
@click.pass_obj
def command(invocation: Invocation) -> int:
    """Show what is in the index, how old it is and what it lacks.

    Exit code 1 says that something is lacking: a source that failed or was never indexed, or pending vectors.
    """
    found = asyncio.run(status(invocation.config))
    if invocation.as_json:
        put_json(record(found))
    elif not (invocation.is_quiet and found.is_well):
        click.echo(drawn(found, now_ms=time.time_ns() // 1_000_000, style=invocation.style))
    return Exit.FINE if found.is_well else Exit.NOTHING


def drawn(found: Status, *, now_ms: int, style: Style = PLAIN) -> str:
    rows = [_row(one, now_ms) for one in found.sources]
    rows += [(name, "never indexed", "", "", "") for name in found.missing]
    colours = ["red" if one.fault else "yellow" if one.is_hidden else "" for one in found.sources]
    colours += ["yellow"] * len(found.missing)
    blocks = (
        [table(("source", "is", "documents", "up to date", "seen by"), rows, style, colours=colours)] if rows else []
    )
    blocks += list(_tail(found, style))
    return "\n".join(blocks)


def _row(one: SourceStatus, now_ms: int) -> tuple[str, ...]:
    state = "hidden" if one.is_hidden else "failed" if one.fault else "ok"
    since = "never" if one.succeeded_ms is None else age(now_ms - one.succeeded_ms)
    name = f"chat {one.label}" if one.corpus is Corpus.CHAT and one.label else one.source
    return (name, state, f"{one.documents:,}", since, "everyone" if one.is_public else "listed rooms")


def _tail(found: Status, style: Style) -> Iterator[str]:
    for one in found.sources:
        if one.fault:
            yield style.paint(f"failed: {one_line(one.fault)}", "red")
    if not found.sources and not found.missing:
        yield style.paint("no source is configured: add a [[repo]] or [[notes]] to the configuration", "yellow")
    for room in found.unread:
        yield style.paint(f"{room.outcome}: {one_line(room.label)}: {one_line(room.text)}", "dim")
    if found.pending:
        yield style.paint(f"vectors: {found.pending:,} pending; the next refresh tries again", "yellow")
    kept = f"index: {found.size_bytes / 1e6:,.1f} MB, {found.file}"
    yield style.paint(f"vectors: {_vectors(found)}; {kept}", "dim")


def _vectors(found: Status) -> str:
    if found.fingerprint is None:
        return "none yet"
    return "off" if found.fingerprint.embedder == NO_EMBEDDER else f"{found.vectors:,} of {found.fingerprint.embedder}"


def age(duration_ms: int) -> str:
    """How long ago, in the largest unit that fits twice or at least once: `3 h ago`."""
    for unit_ms, name in _AGES:
        if duration_ms >= unit_ms:
            return f"{duration_ms // unit_ms} {name} ago"
    return "now"


def record(found: Status) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "well": found.is_well,
        "file": str(found.file),
        "size_bytes": found.size_bytes,
        "fingerprint": None if found.fingerprint is None else asdict(found.fingerprint),
        "vectors": found.vectors,
        "pending": found.pending,
        "missing": list(found.missing),
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
        "unread": [asdict(room) for room in found.unread],
    }
