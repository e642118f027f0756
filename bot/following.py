"""Following one account's sync: from where it was left, through outages, around what the homeserver cannot serve."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog

from bot.inbox import bot_filter
from bot.memory import Memory
from bot.rooms import Eye
from matrix.budget import backoff_s
from matrix.errors import RefusedError, UnavailableError
from matrix.records import SyncBatch

log = structlog.get_logger()

POLL_MS: Final = 25_000
BLIND_AFTER: Final = 3
"""Syncs that failed in a row while the homeserver is alive: one event in them cannot be served."""

T = TypeVar("T")
Take = Callable[[SyncBatch, str | None], Awaitable[None]]
"""Handles a batch and stores its place. The other value is the place that it was asked from; None: it tells nothing."""


class Follower:
    def __init__(self, eye: Eye, memory: Memory, stop: asyncio.Event) -> None:
        self._eye = eye
        self._memory = memory
        self._stop = stop
        self.is_in_touch = False  # the last sync came back
        self.turned_s = time.monotonic()
        """When the last sync ended, well or not, or was handled."""

    async def run(self, take: Take) -> None:
        """Until the end. CredentialError for a dead token."""
        reader, user = self._eye.reader, self._eye.user
        token = await self._memory.token(user)
        filter_id = await patiently(lambda: reader.upload_filter(bot_filter()), self._stop)
        failures, is_first = 0, True
        while not self._stop.is_set() and filter_id is not None:
            self.turned_s = time.monotonic()
            try:
                batch = await unless(self._stop, self._next(token, filter_id, failures, is_first=is_first))
            except RefusedError as refused:
                # The place is lost: go on from now. What was quoted meanwhile is looked at after the next refresh.
                log.warning("bot.sync_lost", user_id=user, status=refused.status)
                token, failures = None, failures + 1
                await pause(failures, self._stop)
            except UnavailableError as error:
                self.is_in_touch, failures = False, failures + 1
                log.info("bot.sync_failed", user_id=user, failures=failures, why=str(error))
                await pause(failures, self._stop)
            else:
                if batch is None:
                    return
                await take(batch, token)
                token, failures, is_first, self.is_in_touch = batch.next_batch, 0, False, True

    async def _next(self, token: str | None, filter_id: str, failures: int, *, is_first: bool) -> SyncBatch:
        reader = self._eye.reader
        if token is None:
            return await reader.sync_blind(None)
        if failures >= BLIND_AFTER and await reader.is_alive():
            return await reader.sync_blind(token)
        # Synapse lets equal requests share one answer, and one whose asker was killed may wait out its whole time.
        # The first one only catches up: nobody should wait to hear that we are here.
        wait_ms = 0 if is_first else POLL_MS - random.randrange(1_000)
        return await reader.sync(token, filter_id=filter_id, wait_ms=wait_ms, attempts=1)


async def unless(stop: asyncio.Event, asking: Awaitable[T]) -> T | None:
    """None when the end came first; what was asked is dropped then, and asked again by the next start."""
    task = asyncio.ensure_future(asking)
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        stopped.cancel()
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def patiently(ask: Callable[[], Awaitable[T]], stop: asyncio.Event) -> T | None:
    """Through outages; None when the end came first."""
    failures = 0
    while not stop.is_set():
        try:
            return await ask()
        except UnavailableError as error:
            failures += 1
            log.info("bot.homeserver_not_there", failures=failures, why=str(error))
            await pause(failures, stop)
    return None


async def pause(failures: int, stop: asyncio.Event) -> None:
    await within(backoff_s(failures, random.random()), stop)


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for an event for so long; whether it came."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
