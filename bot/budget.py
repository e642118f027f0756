"""How much is answered: so many commands in a minute for each person and each room, and one note about it.

Pure but for what it remembers; the time comes in.
"""

from collections import deque
from collections.abc import Hashable, Iterable
from enum import Enum
from typing import Final

from index.model import RoomId, UserId

WINDOW_MS: Final = 60_000
_TIDY_FROM: Final = 5_000


class Verdict(Enum):
    ANSWER = "answer"
    NOTE = "note"  # too many; say so, this once
    SILENCE = "silence"


class Budget:
    """What was refused does not count: whoever goes on asking is answered again as soon as there is room."""

    def __init__(self, *, per_user: int, per_room: int) -> None:
        self.per_user = per_user
        self.per_room = per_room
        self._times: dict[Hashable, deque[int]] = {}
        self._noted_ms: dict[Hashable, int] = {}

    def recall(self, asked: Iterable[tuple[UserId, RoomId, int, Verdict]]) -> None:
        """Commands of before a restart, in the order of their times, with what was decided then."""
        for user, room, time_ms, verdict in asked:
            keys: tuple[Hashable, Hashable] = (user, room)
            for key in keys:
                if verdict is Verdict.ANSWER:
                    self._times.setdefault(key, deque()).append(time_ms)
                elif verdict is Verdict.NOTE:
                    self._noted_ms[key] = time_ms

    def ask(self, user: UserId, room: RoomId, now_ms: int) -> Verdict:
        self._tidy(now_ms)
        keys: tuple[Hashable, Hashable] = (user, room)
        full: list[Hashable] = []
        for key, most in zip(keys, (self.per_user, self.per_room), strict=True):
            times = self._times.setdefault(key, deque())
            while times and times[0] <= now_ms - WINDOW_MS:
                times.popleft()
            if len(times) >= most:
                full.append(key)
        if not full:
            for key in keys:
                self._times[key].append(now_ms)
            return Verdict.ANSWER
        if any(now_ms - self._noted_ms.get(key, now_ms - WINDOW_MS) < WINDOW_MS for key in full):
            return Verdict.SILENCE
        for key in full:
            self._noted_ms[key] = now_ms
        return Verdict.NOTE

    def _tidy(self, now_ms: int) -> None:
        """So that a million people leave nothing behind."""
        if len(self._times) + len(self._noted_ms) < _TIDY_FROM:
            return
        self._times = {key: times for key, times in self._times.items() if times and times[-1] > now_ms - WINDOW_MS}
        self._noted_ms = {key: at_ms for key, at_ms in self._noted_ms.items() if at_ms > now_ms - WINDOW_MS}
