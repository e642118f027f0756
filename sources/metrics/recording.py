"""A refresh that leaves its metrics, whether it went well or not. What it gives and raises is the refresh's own."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version

from index.errors import SourcesError
from index.store.driver import DatabaseError
from ingest.report import Report
from sources.cli.exits import DISK_TROUBLES, Exit, exit_of
from sources.cli.report import exit_code
from sources.config.model import Config
from sources.metrics.samples import Run, samples
from sources.metrics.textfile import ensure_library, update
from sources.status import Status, status


async def recorded(
    config: Config,
    run: Callable[[], Awaitable[Report]],
    *,
    is_whole: bool,
    on_trouble: Callable[[SourcesError], None],
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> Report:
    """`on_trouble` is called where the metrics cannot be written, which fails no refresh. A run that found another one
    at work leaves the metrics to that one.
    """
    if config.metrics.textfile is None:
        return await run()
    ensure_library()
    start = time.monotonic()
    report: Report | None = None
    code = Exit.BUG
    try:
        report = await run()
        code = exit_code(report)
        return report
    except SourcesError as error:
        code = exit_of(error)
        raise
    except OSError as error:
        code = Exit.SOURCE_FAILED if error.errno in DISK_TROUBLES else Exit.BUG
        raise
    except (KeyboardInterrupt, asyncio.CancelledError):
        code = Exit.INTERRUPTED
        raise
    finally:
        if code is not Exit.BUSY:
            done = Run(
                exit=code,
                ended_ms=now_ms(),
                seconds=time.monotonic() - start,
                version=version("sources"),
                is_whole=is_whole,
                report=report,
                status=await _status(config),
            )
            try:
                update(config.metrics.textfile, lambda before: samples(before, done))
            except SourcesError as error:
                on_trouble(error)


async def _status(config: Config) -> Status | None:
    """None where the index cannot be read: what was last known of it stays."""
    try:
        return await status(config)
    except (SourcesError, DatabaseError):
        return None
