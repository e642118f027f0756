"""`sources check`: what works and what does not, before a refresh finds out."""

import asyncio
from collections.abc import Sequence

import click

from sources.checks.base import Finding, Verdict
from sources.checks.registry import check
from sources.cli.common import Invocation, common_options
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import Style, table
from sources.config.load import find
from sources.config.model import Config

_COLOURS = {Verdict.OK: "", Verdict.WARN: "yellow", Verdict.FAIL: "red"}


@click.command()
@common_options
@click.pass_obj
def command(invocation: Invocation) -> int:
    """Read the configuration and try everything it names.

    Each source, credential and endpoint is contacted once; nothing is fetched and nothing is written. Exit code 1 says
    that something in the table fails.
    """
    file = find(invocation.config_file)
    config = invocation.config
    invocation.start_logging()
    findings = [
        _configuration(str(file), config),
        *asyncio.run(check(config, invocation.credentials)),
    ]
    has_failed = any(finding.verdict is Verdict.FAIL for finding in findings)
    if invocation.as_json:
        put_json(record(findings))
    elif not invocation.is_quiet or has_failed:
        click.echo(drawn(findings, invocation.style, is_quiet=invocation.is_quiet))
    return Exit.NOTHING if has_failed else Exit.FINE


def _configuration(file: str, config: Config) -> Finding:
    if config.repo or config.forge or config.notes or config.chat:
        return Finding("configuration", Verdict.OK, file)
    detail = f"{file} names nothing to read"
    return Finding("configuration", Verdict.WARN, detail, "add [[repo]], [[forge]], [[notes]] or [chat]")


def drawn(findings: Sequence[Finding], style: Style, *, is_quiet: bool = False) -> str:
    """The table, and what to do about the rows that are not well; the failing rows alone when quiet."""
    shown = [finding for finding in findings if not is_quiet or finding.verdict is Verdict.FAIL]
    rows = [
        (finding.name, finding.verdict.value, finding.detail + (f"  → {finding.remedy}" if finding.remedy else ""))
        for finding in shown
    ]
    return table(("what", "is", "found"), rows, style, colours=[_COLOURS[finding.verdict] for finding in shown])


def record(findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "version": 1,
        "ok": all(finding.verdict is not Verdict.FAIL for finding in findings),
        "findings": [
            {"name": one.name, "verdict": one.verdict.value, "detail": one.detail, "remedy": one.remedy}
            for one in findings
        ],
    }
