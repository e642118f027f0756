"""`sources audit`: what is old, missing or out of step, before a reader finds out."""

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import click

from index.audit import DAY_MS, Finding, Severity, day_of, failing, findings
from sources.auditing import gather, limits
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import PLAIN, Style, one_line, table
from sources.redact import redact

_NEVER: Final = "never"
_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow"}
_MOST_IN_ALERT: Final = 20


@click.command()
@common_options
@click.option(
    "--today",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Judge ages as on this day, like 2026-11-29; default: today, in UTC.",
)
@click.option(
    "--fail-on",
    type=click.Choice([Severity.WARNING.value, Severity.ERROR.value, _NEVER]),
    default=Severity.WARNING.value,
    show_default=True,
    help="The least that makes exit code 1.",
)
@click.option(
    "--alert", "is_alerting", is_flag=True, help="Send what fails to audit.alert_credential, through Apprise."
)
@click.pass_obj
def command(invocation: Invocation, today: datetime | None, fail_on: str, *, is_alerting: bool) -> int:
    """Show what is old, missing or out of step.

    Looks at the age of pages (`last_verified`) and of the index, at sources that changed, vanished or were never
    indexed, at settings the index was not built with, at texts without vectors, at gaps in rooms and at folders that no
    source covers. Each remote is asked once where it is; nothing is fetched and nothing is written.

    Exit code 1 says that there are findings. `--quiet` shows those alone that make it so, by `--fail-on`.
    """
    config = invocation.config
    invocation.start_logging()
    now_ms = _now_ms(today)
    facts = asyncio.run(gather(config, invocation.credentials))
    found = findings(facts, limits(config.audit), now_ms=now_ms)
    failed = failing(found, None if fail_on == _NEVER else Severity(fail_on))
    if invocation.as_json:
        put_json(record(found, failed, now_ms=now_ms))
    elif failed or not invocation.is_quiet:
        click.echo(drawn(failed if invocation.is_quiet else found, invocation.style))
    if is_alerting and failed:
        from sources.alerting import alert

        title = f"sources audit: {summary(failed)}"
        alert(config, invocation.credentials, title, redact(alert_text(failed)))
    return Exit.NOTHING if failed else Exit.FINE


def _now_ms(today: datetime | None) -> int:
    """The present moment, on the day that was asked for."""
    now_ms = time.time_ns() // 1_000_000
    return now_ms if today is None else now_ms + (today.date() - day_of(now_ms)).days * DAY_MS


def drawn(found: Sequence[Finding], style: Style = PLAIN) -> str:
    if not found:
        return "Nothing to report."
    rows = [(one.severity.value, one.check.value, one.subject, f"{one.detail}  → {one.remedy}") for one in found]
    colours = [_COLOURS[one.severity] for one in found]
    return "\n".join(
        (table(("is", "check", "what", "found"), rows, style, colours=colours), style.paint(summary(found), "dim"))
    )


def summary(found: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`."""
    counts = [(sum(one.severity is severity for one in found), severity.value) for severity in Severity]
    return ", ".join(f"{count} {name}{'s' * (count != 1)}" for count, name in counts if count) or "nothing"


def alert_text(failed: Sequence[Finding]) -> str:
    """One line for each of the first findings, worst first."""
    lines = [
        one_line(f"{one.severity.value}: {one.check.value}: {one.subject}: {one.detail}")
        for one in failed[:_MOST_IN_ALERT]
    ]
    if len(failed) > _MOST_IN_ALERT:
        lines.append(f"and {len(failed) - _MOST_IN_ALERT} more: run `sources audit`")
    return "\n".join(lines)


def record(found: Sequence[Finding], failed: Sequence[Finding], *, now_ms: int) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "today": day_of(now_ms).isoformat(),
        "ok": not failed,
        "counts": {severity.value: sum(one.severity is severity for one in found) for severity in Severity},
        "findings": [
            {
                "check": one.check.value,
                "severity": one.severity.value,
                "subject": one.subject,
                "detail": redact(one.detail),
                "remedy": one.remedy,
            }
            for one in found
        ],
    }
