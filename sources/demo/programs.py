"""The program run as a host runs it: commands as from a shell, and the bot as a service."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from index.errors import SourcesError
from sources.demo.place import Place

_COMMAND: Final = "from sources.cli.main import main; main()"
_LEASHED: Final = f"from sources.leash import end_with_parent; end_with_parent(); {_COMMAND}"
_READY_S: Final = 60.0
_GOODBYE_S: Final = 10.0


def run(place: Place, arguments: Sequence[str]) -> int:
    """One command, with the streams of this process; returns its exit code."""
    with subprocess.Popen(_program(place, _LEASHED, arguments), stdin=subprocess.PIPE) as process:
        try:
            return process.wait()
        except BaseException:
            _end(process)
            raise


def _program(place: Place, code: str, arguments: Sequence[str]) -> list[str]:
    common = ["--config", str(place.config_file), "--credentials-dir", str(place.credentials)]
    return [sys.executable, "-P", "-c", code, *common, *arguments]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_GOODBYE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class BotService:
    """`sources bot`, as its unit would start it: ready when it says so. Use as a context manager."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        told = self._place.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel, self._place.bot_log.open("ab") as log:
            channel.bind(str(told))
            channel.settimeout(0.2)
            self._process = subprocess.Popen(
                _program(self._place, _LEASHED, ["bot"]),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, "NOTIFY_SOCKET": str(told)},
            )
            try:
                self._wait_until_ready(channel)
            except BaseException:
                self._stop()
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def check(self) -> None:
        """SourcesError when it has ended by itself."""
        if self._process and self._process.poll() is not None:
            raise SourcesError(
                f"demo: the bot has ended; its last words: {_last_words(self._place.bot_log)} (try again)"
            )

    def _wait_until_ready(self, channel: socket.socket) -> None:
        deadline_s = time.monotonic() + _READY_S
        while time.monotonic() < deadline_s:
            self.check()
            try:
                if b"READY=1" in channel.recv(4096).split(b"\n"):
                    return
            except TimeoutError:
                continue
        raise SourcesError(
            f"demo: the bot did not start; its last words: {_last_words(self._place.bot_log)} (try again)"
        )

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        _end(process)
        if process.stdin:
            process.stdin.close()


def _last_words(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return " | ".join(lines[-2:]) or "none"
