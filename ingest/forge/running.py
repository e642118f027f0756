"""A git process at work: waiting with limits, output in bounded memory, and an end for its whole group."""

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from ingest.forge.faults import Fault, GitError, Login, explain

_T = TypeVar("_T")
READ_BYTES: Final = 1 << 16
_STDERR_BYTES: Final = 8 << 10
_RECORD_BYTES: Final = 1 << 20
_FAREWELL_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Patience:
    """`idle_s` without a byte of output or progress, or `total_s` in all, and the process group is killed."""

    idle_s: float
    total_s: float


@dataclass(frozen=True, slots=True)
class Output:
    stdout: bytes
    stderr: str
    status: int


@dataclass(frozen=True, slots=True)
class Order:
    """What a process was started for."""

    about: str
    patience: Patience
    login: Login | None


class Running:
    """A git process in the middle of its work. Every wait is bounded; a fault names the source it was for."""

    def __init__(self, process: Process, order: Order) -> None:
        self._process = process
        self._order = order
        self._now = asyncio.get_running_loop().time
        self._end_s = self._now() + order.patience.total_s
        self._limit: asyncio.Timeout | None = None
        self._told = bytearray()
        self._listener = asyncio.create_task(self._listen())
        self._feeder: asyncio.Task[None] | None = None

    async def read(self) -> bytes:
        """The next output, up to 64 kB; empty at its end."""
        return await self._patiently(self._stdout.read(READ_BYTES))

    async def line(self) -> bytes:
        """One line with its line feed; less at the end of the output."""
        try:
            return await self._patiently(self._stdout.readuntil(b"\n"))
        except asyncio.IncompleteReadError as cut:
            return cut.partial
        except asyncio.LimitOverrunError as endless:
            raise self._too_much() from endless

    async def exactly(self, size_bytes: int) -> bytes:
        try:
            return await self._patiently(self._stdout.readexactly(size_bytes))
        except asyncio.IncompleteReadError as cut:
            raise await self.failure() from cut

    async def records(self) -> AsyncIterator[bytes]:
        """The output cut at each NUL, in memory of one read and one record."""
        rest = b""
        while data := await self.read():
            *whole, rest = (rest + data).split(b"\0")
            for record in whole:
                yield record
            if len(rest) > _RECORD_BYTES:
                raise self._too_much()
        if rest:
            yield rest

    def feed(self, lines: Iterable[bytes]) -> None:
        """Write `lines` beside the reading, as fast as git takes them, then close its input."""
        self._feeder = asyncio.create_task(self._write(lines))

    async def finish(self, *, fine: tuple[int, ...] = (0,)) -> Output:
        """Wait for the end; a status other than `fine` raises what git said about it."""
        status = await self._patiently(self._process.wait())
        await self._patiently(asyncio.shield(self._listener))
        stderr = self._told.decode("utf-8", "replace")
        if status not in fine:
            raise explain(self._order.about, status, stderr, self._order.login)
        return Output(b"", stderr, status)

    async def failure(self) -> GitError:
        """Why the output ended early."""
        try:
            await self.finish(fine=())
        except GitError as error:
            return error
        raise AssertionError("no status is fine")

    async def end(self) -> None:
        """Leave nothing running, whatever happened, and no pipe open."""
        if self._process.returncode is None or not self._listener.done():
            _kill_group(self._process.pid)
        if self._feeder is not None:
            self._feeder.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):
                while await self._stdout.read(READ_BYTES):
                    pass
                await self._process.wait()
                await self._listener
        for task in filter(None, (self._feeder, self._listener)):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @property
    def _stdout(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None
        return self._process.stdout

    async def _patiently(self, doing: Awaitable[_T]) -> _T:
        idle_s = self._order.patience.idle_s
        try:
            async with asyncio.timeout_at(min(self._now() + idle_s, self._end_s)) as self._limit:
                return await doing
        except TimeoutError as error:
            waited_s = self._order.patience.total_s if self._now() >= self._end_s else idle_s
            raise GitError(
                self._order.about,
                Fault.TIMEOUT,
                f"no answer within {waited_s:g} s",
                "check the other side, or raise the timeout; the next run tries again",
            ) from error
        finally:
            self._limit = None

    async def _listen(self) -> None:
        """Keep the end of what git says, and take its progress as a sign of life."""
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(READ_BYTES):
            self._told += data
            del self._told[:-_STDERR_BYTES]
            if self._limit is not None and not self._limit.expired():
                with suppress(RuntimeError):  # it has just expired
                    self._limit.reschedule(min(self._now() + self._order.patience.idle_s, self._end_s))

    async def _write(self, lines: Iterable[bytes]) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(BrokenPipeError, ConnectionResetError):  # git ended; its status says why
            for line in lines:
                stdin.write(line)
                await stdin.drain()
            stdin.close()
            await stdin.wait_closed()

    def _too_much(self) -> GitError:
        return GitError(self._order.about, Fault.TOO_MUCH, "git answered without end", "look at the repository by hand")


def _kill_group(leader: int) -> None:
    # The leader may be gone already while a helper of it lives on; the number is not given away before the group ends.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
