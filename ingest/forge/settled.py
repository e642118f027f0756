"""Whether a forge's own word proves that nothing was pushed, so that git need not be asked. Pure.

The word is the time of the last push in the listing. It is taken only where the forge sets it at each push (see
`listed`), only when it was old enough at the listing that no second push can have had the same time, and only for a
while, since nothing of it is a contract.
"""

import json
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from index.store.forges import ForgeRepo
from ingest.forge.listed import Listed, time_ms

_OLD_ENOUGH_MS: Final = 120_000


@dataclass(frozen=True, slots=True)
class Trust:
    """`lasts_ms` is how long the word is taken; 0: never. `reading` names how files are read: another one ends it."""

    lasts_ms: int
    reading: str

    def is_settled(self, known: ForgeRepo, listed: Listed, now_ms: int) -> bool:
        """Whether the index is where the repository is."""
        if known.position is None or known.fault is not None or not known.settled or listed.pushed_at is None:
            return False
        state, until_ms = json.loads(known.settled)
        # Nor for longer than is configured now, nor for ever because the clock was set back.
        return bool(state == self._state(listed) and now_ms < until_ms <= now_ms + self.lasts_ms)

    def settled(self, known: ForgeRepo, listed: Listed, *, told_ms: int, now_ms: int) -> str:
        """To be recorded of a repository that was just found up to date; empty when it will prove nothing.

        It lapses after half to all of `lasts_ms`, at another time for each, so that not all are asked in one run.
        """
        pushed_ms = time_ms(listed.pushed_at)
        if pushed_ms is None or told_ms - pushed_ms < _OLD_ENOUGH_MS or not self.lasts_ms:
            return ""
        share = 0.5 + crc32(known.number.encode()) / (1 << 33)
        return json.dumps([self._state(listed), now_ms + int(self.lasts_ms * share)])

    def _state(self, listed: Listed) -> list[str | None]:
        return [listed.pushed_at, listed.default_branch, listed.clone_url, self.reading]
