"""While a refresh runs: bars on a terminal, and elsewhere a line in the log now and then, with the time that is left.

rich and structlog are loaded only when there is something to wait for.
"""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from ingest.report import SourceReport
from sources.cli.pace import WINDOW_S, Pace

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_S: Final = 0.4  # a refresh with nothing to do is over by then, and shows nothing
_TOLD_EVERY_S: Final = 60.0


class Lines:
    """Tells in the log how far vectors are: once a minute, so nothing of a refresh that takes less."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pace = Pace()
        self._told_s: float | None = None

    def vectors_done(self, done: int, total: int) -> None:
        now_s = self._clock()
        self._pace.note(now_s, done)
        if self._told_s is None:
            self._told_s = now_s
        elif now_s - self._told_s >= _TOLD_EVERY_S and done < total:
            import structlog

            self._told_s = now_s
            left_s = self._pace.left_s(total)
            structlog.get_logger().info(
                "refresh.filling_vectors", done=done, total=total, left_s=None if left_s is None else round(left_s)
            )


class Bars:
    """Shows sources, the building of a model, and vectors. Everything is gone from the screen at the end."""

    def __init__(self, sources: int) -> None:
        self._sources = sources
        self._done = 0
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE_S, self._show, "sources", 0, self._sources)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._progress is not None:
            self._progress.stop()

    def source_done(self, _report: SourceReport) -> None:
        self._done += 1
        if self._progress is not None:
            self._show("sources", self._done, max(self._sources, self._done))

    def vectors_done(self, done: int, total: int) -> None:
        self._show("vectors", done, total)

    def model_built(self, what: str, share: float) -> None:
        """From the thread that builds."""
        self._show(f"model, once: {what}", round(share * 100), 100)

    def _show(self, name: str, done: int, total: int) -> None:
        if self._progress is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeRemainingColumn,
            )

            self._progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                speed_estimate_period=WINDOW_S,
                transient=True,
            )
            self._progress.start()
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[name], completed=done, total=total)
