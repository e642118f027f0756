"""A clock that stands still until somebody sleeps: waiting costs a test nothing, and can be measured."""

import asyncio

from matrix.budget import Timing


class FakeTime:
    def __init__(self, now_s: float = 1_800_000_000.0) -> None:
        self.at_s = 0.0
        self.now_s = now_s
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at_s += seconds
        await asyncio.sleep(0)

    def timing(self) -> Timing:
        """Jitter is at its highest, so that back-off shows its ceiling."""
        return Timing(clock=lambda: self.at_s, now=lambda: self.now_s + self.at_s, sleep=self.sleep, jitter=lambda: 1.0)
