"""Keeping order while others talk: withdrawn answers, the list of rooms, what was remembered for too long."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import structlog

from bot.following import within
from bot.library import Library
from bot.memory import Memory
from bot.places import Places
from bot.rooms import KEPT_S, Rooms
from bot.settings import BotSettings
from bot.speaking import now_ms
from bot.withdrawal import Withdrawals
from index.errors import ConfigError, MatrixError, StoreError
from matrix.errors import RefusedError, UnavailableError

log = structlog.get_logger()

TICK_S: Final = 2.0
JUDGED_AGAIN_S: Final = 60.0
"""After a judgement for which not everything could be known."""


class Reload(Protocol):
    async def __call__(self, *, is_forced: bool) -> BotSettings | None:
        """New settings when there are any. ConfigError when they cannot be used: the old ones stay."""


class Keeper:
    def __init__(
        self,
        memory: Memory,
        library: Library,
        rooms: Rooms,
        places: Places,
        withdrawals: Withdrawals,
        *,
        reload: Reload | None,
        settle_in: Callable[[BotSettings], Awaitable[None]],
    ) -> None:
        self._memory = memory
        self._library = library
        self._rooms = rooms
        self._places = places
        self._withdrawals = withdrawals
        self._reload = reload
        self._settle_in = settle_in
        self._wake = asyncio.Event()
        self._wants_reload = False
        self._judge_at_s = 0.0
        self._judged: tuple[object, int] | None = None
        self.judgements = 0  # so far
        self._trouble = ""

    def wake(self) -> None:
        """Something may have to be withdrawn."""
        self._wake.set()

    def want_reload(self) -> None:
        self._wants_reload = True
        self.wake()

    def want_judgement(self) -> None:
        """Audiences may be others now."""
        self._judge_at_s = 0.0
        self.wake()

    async def run(self, stop: asyncio.Event) -> None:
        looked_s = tidied_s = time.monotonic()
        while not stop.is_set():
            await within(TICK_S, self._wake)
            self._wake.clear()
            await self._reload_if_wanted()
            try:
                if time.monotonic() - looked_s > KEPT_S:
                    looked_s = time.monotonic()
                    await self._rooms.look_around()
                    await self._places.resolve()
                    self.want_judgement()
                await self._withdrawals.look_again()
                await self._withdrawals.carry_out()
                if await self._judge_if_wanted():
                    await self._withdrawals.carry_out()
                self._trouble = ""
            except (UnavailableError, RefusedError, StoreError) as error:
                self._say(type(error).__name__)
            if time.monotonic() - tidied_s > KEPT_S:
                tidied_s = time.monotonic()
                await self._memory.tidy(now_ms=now_ms(), answers_kept_ms=self._places.settings.answers_kept_ms)

    def _say(self, trouble: str) -> None:
        """Once, not at every turn."""
        if trouble != self._trouble:
            self._trouble = trouble
            log.info("bot.order_not_kept", why=trouble)

    async def _judge_if_wanted(self) -> bool:
        """After a change of the index or of what syncs say of rooms, and once at the start."""
        state = (await self._library.state(), self._rooms.changes)
        now_s = time.monotonic()
        if state == self._judged and now_s < self._judge_at_s:
            return False
        self._judged = state
        self.judgements += 1
        is_complete = await self._withdrawals.judge_all()
        self._judge_at_s = float("inf") if is_complete else now_s + JUDGED_AGAIN_S
        return True

    async def _reload_if_wanted(self) -> None:
        is_asked, self._wants_reload = self._wants_reload, False
        if self._reload is None:
            return
        try:
            settings = await self._reload(is_forced=is_asked)
            if settings is None:
                return
            await self._settle_in(settings)
        except ConfigError as error:
            log.error("bot.reload_failed", problem=str(error))
        except MatrixError as error:
            self._wants_reload = True  # again at the next turn
            log.warning("bot.reload_waits", why=type(error).__name__)
        else:
            self.want_judgement()
            log.info("bot.reloaded", rooms=len(self._places.permitted))
