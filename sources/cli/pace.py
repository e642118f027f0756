"""How long what is left takes, by the pace of the last minutes. Pure: times come in.

A first index is filled with vectors for hours, by a machine that is busy with other things now and then.
"""

from collections import deque
from typing import Final

WINDOW_S: Final = 900.0
"""How much of the past counts; a batch takes half a minute where texts are long and cores are few."""


class Pace:
    """Told how much is done at what time, in order."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def note(self, now_s: float, done: int) -> None:
        self._seen.append((now_s, done))
        while len(self._seen) > 2 and self._seen[1][0] < now_s - WINDOW_S:
            self._seen.popleft()

    def left_s(self, total: int) -> float | None:
        """Seconds until `total` are done; None while nothing can be said."""
        if not self._seen:
            return None
        (first_s, before), (last_s, done) = self._seen[0], self._seen[-1]
        if done >= total:
            return 0.0
        if done <= before or last_s <= first_s:
            return None
        return (total - done) * (last_s - first_s) / (done - before)
