"""Refreshes in processes that can be killed: `python -m tests.chat.refresh_once` forks one for each line it is told.

A line holds, parted by blanks: FOLDER URL USER TOKEN PAGE. Answers are the process's number, and "over" at its end.
Loading the program costs more than a refresh, so it is done once.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from index.model import UserId
from ingest.chat.settings import ChatSettings
from tests.chat.host import Host


class Runner:
    """The other side: starts the process that forks, and kills what it forked."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def refresh(self, host: Host, *, kill_after_s: float) -> bool:
        """Whether it was killed."""
        told = (host.folder, host.settings.homeserver, host.settings.user, host.token, host.settings.page_limit)
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write((" ".join(map(str, told)) + "\n").encode())
        number = int(await self._process.stdout.readline())
        over = asyncio.create_task(self._process.stdout.readline())
        await asyncio.wait({over}, timeout=kill_after_s)
        was_killed = not over.done()
        if was_killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, 9)
        await over
        return was_killed


@contextlib.asynccontextmanager
async def runner() -> AsyncIterator[Runner]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.chat.refresh_once", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    try:
        yield Runner(process)
    finally:
        assert process.stdin
        process.stdin.close()
        await process.wait()


async def _refresh(folder: str, url: str, user: str, token: str, page: str) -> None:
    settings = ChatSettings(url, UserId(user), page_limit=int(page), timeline_limit=int(page))
    await Host(Path(folder), settings, token).refresh()


def _main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            asyncio.run(_refresh(*line.split()))
            os._exit(0)
        _say(child)
        os.waitpid(child, 0)
        _say("over")


def _say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
