"""Logging: one line per event on standard error, a name and flat keys, scrubbed. Loaded late: structlog is slow.

Below systemd each event is an entry of the journal with fields of its own instead: see `journal`.

Our events say ids, counts and durations. Libraries are let in from INFO, since below that they print whole
responses, and their lines pass the scrubber like ours.
"""

import logging
import os
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, Final, TextIO, cast

import structlog
from structlog.typing import Processor

from sources.journal import SOCKET, JournalRenderer, JournalStream, is_below_systemd
from sources.redact import redact

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}
# Prints the content of events it does not know; the request lines of httpx hold URLs with what was asked in them.
_SILENCED: Final = {"nio.events.misc": logging.CRITICAL, "httpx": logging.WARNING, "httpcore": logging.WARNING}
_MAX_VALUE_CHARS: Final = 2_000


def configure(
    level: str = "info", format: str = "auto", stream: TextIO | None = None, *, journal: Path = SOCKET
) -> None:
    """Set up once, at start. `level` and `format` as in `[log]`; repeated calls replace what was there."""
    output = stream or sys.stderr
    is_journal = format == "auto" and is_below_systemd(output, os.environ)
    least = _LEVELS[level]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redacted,
    ]
    renderer = _renderer(format, output)
    if is_journal:
        renderer = JournalRenderer(renderer)
        output = cast(TextIO, JournalStream(output, journal))
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.WriteLoggerFactory(file=output),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(output)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(least, logging.INFO))
    for name, silenced in _SILENCED.items():
        logging.getLogger(name).setLevel(silenced)


def _renderer(format: str, output: TextIO) -> Processor:
    if format == "json":
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    if format == "auto" and output.isatty():
        return structlog.dev.ConsoleRenderer(colors=True)
    return structlog.processors.LogfmtRenderer(
        key_order=["level", "event"], drop_missing=True, bool_as_flag=False, sort_keys=False
    )


def redacted(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Scrub every value that can hold text, and keep each on one line and short."""
    for key, value in event.items():
        if value is not None and not isinstance(value, bool | int | float):
            event[key] = _short(redact(value if isinstance(value, str) else str(value)))
    return event


def _short(text: str) -> str:
    line = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text).replace("\n", " ⏎ ")
    return line if len(line) <= _MAX_VALUE_CHARS else f"{line[:_MAX_VALUE_CHARS]}…"
