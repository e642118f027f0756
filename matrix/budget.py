"""The bounds of everything a session does, and the clock they are measured with."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

_FIRST_BACKOFF_S: Final = 0.5
_MAX_BACKOFF_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Budget:
    """With these no call can last for ever."""

    total_s: float | None = 1500.0  # since the session was opened, waiting included; None: it serves without end
    max_attempts: int = 6  # of one call, whatever the faults
    retry_after_cap_s: float = 60.0  # a homeserver that asks for more gets asked again after this
    request_timeout_s: float = 60.0  # of one attempt, body included; a long poll's wait comes on top
    max_body_bytes: int = 64 * 1024 * 1024  # unpacked


READER_BUDGET: Final = Budget()
BOT_BUDGET: Final = Budget(total_s=None, max_attempts=3, retry_after_cap_s=10.0, request_timeout_s=20.0)
CHECK_BUDGET: Final = Budget(total_s=60.0, max_attempts=2, retry_after_cap_s=10.0, request_timeout_s=15.0)
"""Somebody sits before it and waits."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The outside world's share in waiting."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time  # seconds since the epoch
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random  # 0 to 1


REAL_TIME: Final = Timing()


def backoff_s(attempt: int, jitter: float) -> float:
    """After the `attempt`-th failure: doubling up to a ceiling, less up to half of it, so that callers spread out."""
    ceiling_s = min(_FIRST_BACKOFF_S * 2.0 ** min(attempt - 1, 16), _MAX_BACKOFF_S)
    return ceiling_s * (0.5 + jitter / 2)
