"""`sources refresh`: the one command that writes the index."""

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Final

import click

from index.errors import BusyError, SourcesError
from ingest.refresh import Progress
from ingest.report import Outcome, Report
from sources.app import run_refresh
from sources.cli.common import Invocation, common_options
from sources.cli.completing import source_names
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.progress import Bars, Lines
from sources.cli.report import exit_code, report_record, report_text
from sources.cli.style import one_line
from sources.metrics.recording import recorded
from sources.status import configured

_ASK_AGAIN_S: Final = 1.0


@click.command()
@common_options
@click.option(
    "--source",
    "only",
    multiple=True,
    metavar="NAME",
    shell_complete=source_names,
    help="Only this one: docs, repo:docs; repeatable.",
)
@click.option("--full", "is_full", is_flag=True, help="Read everything again, under the present configuration.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Contact nothing, write nothing, list what would be indexed.")
@click.option(
    "--if-busy",
    type=click.Choice(["fail", "skip", "wait"]),
    default="fail",
    show_default=True,
    help="While another refresh is running: end with code 6, end well without a word, or wait for it.",
)
@click.pass_obj
def command(invocation: Invocation, only: tuple[str, ...], if_busy: str, *, is_full: bool, is_dry: bool) -> int:
    """Bring the index up to date with all sources.

    Says nothing when nothing changed, so that a timer or cron stays quiet. Without a terminal what happened is logged
    instead of shown. Exit code 3 says that some source failed while the others are done, 4 that a credential was
    refused, 5 that `--full` is needed, 6 that another refresh is running.
    """
    if only and is_full:
        raise click.UsageError("--full is about the whole index: leave --source out")
    if is_dry:
        return _rehearse(invocation, only, is_full=is_full)
    _start_logging(invocation)
    while True:
        try:
            report = asyncio.run(_recorded(invocation, only, is_full=is_full))
            break
        except BusyError:
            if if_busy == "fail":
                raise
            if if_busy == "skip":
                return Exit.FINE
            time.sleep(_ASK_AGAIN_S)
    if invocation.as_json:
        put_json(report_record(report))
    elif sys.stdout.isatty():
        is_verbose, is_quiet = invocation.verbosity > 0, invocation.is_quiet
        if told := report_text(report, style=invocation.style, is_verbose=is_verbose, is_quiet=is_quiet):
            click.echo(told)
    elif report.has_changed or report.vectors.pending or exit_code(report) or invocation.verbosity:
        _log(invocation, report)
    return exit_code(report)


def _start_logging(invocation: Invocation) -> None:
    """Before anything can be logged: standard output is the report's. A terminal shows that, and faults alone."""
    if sys.stdout.isatty() and not invocation.verbosity and not invocation.is_quiet:
        from sources import logs

        logs.configure("warning", invocation.config.log.format)
    else:
        invocation.start_logging()


def _rehearse(invocation: Invocation, only: Sequence[str], *, is_full: bool) -> Exit:
    from sources.cli.dry_report import dry_record, dry_text
    from sources.dry_run import dry_run

    expected = asyncio.run(dry_run(invocation.config, only=only, is_full=is_full))
    if invocation.as_json:
        put_json(dry_record(expected))
    else:
        click.echo(dry_text(expected, invocation.style))
    return Exit.FINE


async def _recorded(invocation: Invocation, only: Sequence[str], *, is_full: bool) -> Report:
    def complain(error: SourcesError) -> None:
        if sys.stderr.isatty():
            click.echo(f"sources: {one_line(str(error))}", err=True)
            return
        import structlog

        structlog.get_logger().warning("metrics.not_written", why=str(error))

    return await recorded(
        invocation.config,
        lambda: _refresh(invocation, only, is_full=is_full),
        is_whole=not only,
        on_trouble=complain,
    )


async def _refresh(invocation: Invocation, only: Sequence[str], *, is_full: bool) -> Report:
    config, credentials = invocation.config, invocation.credentials
    if invocation.is_quiet:
        return await run_refresh(config, credentials, only=only, is_full=is_full)
    if not sys.stderr.isatty():
        progress = Progress(vectors_done=Lines().vectors_done)
        return await run_refresh(config, credentials, only=only, is_full=is_full, progress=progress)
    with Bars(len(only) or len(configured(config))) as bars:
        return await run_refresh(
            config,
            credentials,
            only=only,
            is_full=is_full,
            progress=Progress(bars.source_done, bars.vectors_done),
            model_progress=bars.model_built,
        )


def _log(invocation: Invocation, report: Report) -> None:
    """One line for each source that something happened to, and one for the run."""
    import structlog

    log = structlog.get_logger()
    for one in report.sources:
        if one.outcome is Outcome.FAILED:
            log.error("refresh.source_failed", source=one.source, fault=one.fault, seconds=round(one.seconds, 2))
        elif one.outcome is not Outcome.UNCHANGED or invocation.verbosity:
            log.info(
                "refresh.source_done",
                source=one.source,
                outcome=one.outcome.value,
                documents=one.documents,
                documents_removed=one.documents_removed,
                chunks_added=one.chunks_added,
                chunks_changed=one.chunks_changed,
                chunks_removed=one.chunks_removed,
                skipped=sum(one.skipped.values()),
                seconds=round(one.seconds, 2),
            )
    if report.vectors.fault:
        log.warning("refresh.vectors_pending", pending=report.vectors.pending, fault=report.vectors.fault)
    if report.copy is not None and report.copy.fault:
        log.error(
            "refresh.copy_failed",
            fault=report.copy.fault,
            waiting=report.copy.waiting,
            seconds=round(report.copy.seconds, 2),
        )
    elif report.copy is not None:
        log.info(
            "refresh.copied",
            sent=report.copy.sent,
            removed=report.copy.removed,
            settled=report.copy.is_settled,
            seconds=round(report.copy.seconds, 2),
        )
    log.info(
        "refresh.done",
        sources=len(report.sources),
        failed=len(report.failed),
        embedded=report.vectors.embedded,
        pending=report.vectors.pending,
        uncovered=len(report.uncovered),
        seconds=round(report.seconds, 2),
    )
