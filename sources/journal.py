"""Log events as entries of systemd's journal, with fields of their own: `journalctl SOURCES_EVENT=chat.gap_given_up`.

systemd sets `JOURNAL_STREAM` to the device and inode of the stream it gave a service as standard error. Where those are
those of ours, events go to the journal's socket instead, in its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL).
"""

import os
import re
import socket
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final, TextIO

from structlog.typing import Processor

SOCKET: Final = Path("/run/systemd/journal/socket")
_PRIORITIES: Final = {"debug": 7, "info": 6, "warning": 4, "error": 3, "exception": 3, "critical": 2}
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Z0-9_]")
_MAX_NAME_CHARS: Final = 64
_OWN_FIELDS: Final = frozenset({"timestamp", "level"})  # the journal has fields for these


def is_below_systemd(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether what is written to `stream` ends in the journal, directly."""
    device, _, inode = environment.get("JOURNAL_STREAM", "").partition(":")
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return (device, inode) == (str(status.st_dev), str(status.st_ino))


def entry(event: Mapping[str, Any], line: str) -> str:
    """One entry. `line` is the event as text; values are on one line each, as `logs.redacted` leaves them."""
    fields = {
        "MESSAGE": line,
        "PRIORITY": str(_PRIORITIES.get(str(event.get("level")), 6)),
        "SYSLOG_IDENTIFIER": "sources",
    }
    for key, value in event.items():
        if key not in _OWN_FIELDS and value is not None:
            name = _NOT_IN_A_NAME.sub("_", f"SOURCES_{key}".upper())[:_MAX_NAME_CHARS]
            fields[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return "".join(f"{name}={one_line(value)}\n" for name, value in fields.items())


def one_line(value: str) -> str:
    return value.replace("\n", " ⏎ ")


class JournalRenderer:
    """The last processor of structlog: an entry made of the event and of the line that `plain` makes of it."""

    def __init__(self, plain: Processor) -> None:
        self._plain = plain

    def __call__(self, logger: object, method: str, event: MutableMapping[str, Any]) -> str:
        own = {key: value for key, value in event.items() if key not in _OWN_FIELDS and value is not None}
        return entry(event, str(self._plain(logger, method, dict(own))))


class JournalStream:
    """Takes entries as a file takes lines. Where the journal takes none, their text goes to `fallback`."""

    def __init__(self, fallback: TextIO, path: Path) -> None:
        self._fallback = fallback
        self._path = str(path)

    def write(self, text: str) -> int:
        """One whole entry; blank ends are dropped, since the journal would take them for another entry."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.sendto(f"{text.rstrip()}\n".encode("utf-8", "replace"), self._path)
        except OSError:  # it starts again, or an entry is too large for it
            self._fallback.write(text.partition("\n")[0].removeprefix("MESSAGE=") + "\n")
            self._fallback.flush()
        return len(text)

    def flush(self) -> None:
        """Nothing waits here."""
