"""Not asking a server again that just failed: a search must not wait for a dead one each time. Pure but for a clock."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic


@dataclass(slots=True)
class Breaker:
    """Opens after `failures_allowed` in a row; each `pause_s` later one call may try again, and success closes it."""

    failures_allowed: int = 3
    pause_s: float = 30.0
    clock: Callable[[], float] = monotonic
    _failures: int = 0
    _shut_until: float = 0.0
    _reason: str = ""

    def refusal(self) -> str | None:
        """Why not to ask now, or None. In None after a pause lies the one trial: the next caller waits again."""
        if self._failures < self.failures_allowed:
            return None
        left = self._shut_until - self.clock()
        if left <= 0:
            self._shut_until = self.clock() + self.pause_s
            return None
        return f"{self._reason}; not asked again for {left:.0f} s"

    def failed(self, reason: str) -> None:
        self._failures += 1
        self._reason = reason
        self._shut_until = self.clock() + self.pause_s

    def succeeded(self) -> None:
        self._failures = 0
