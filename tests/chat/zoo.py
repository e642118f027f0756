"""One table of made-up words, each in one place of one message, and what an index must know of every one of them.

    words = Words(seed)
    gone = words.new("12: redacted")
    ...
    words.now(Kept.NOWHERE, gone)
    assert not await words.differences(host)

A word is a message of its own kind: where it turns up, or is missing, tells which promise was broken.
"""

import random
from dataclasses import dataclass, field
from enum import Enum

from index.engines.sqlite.engine import SqliteEngine
from index.search import Mode, Searcher, SearchSettings
from index.store import reading
from tests.chat.host import KEYS, Host

_LETTERS = "aioubdfgklmnprtvz"
_HEAD, _CORE, _TAIL = 5, 7, 3


class Kept(Enum):
    """What is known of a word."""

    FOUND = "found"
    UNSEEN = "kept, and found by no search"  # an older revision, or a room that the reader may come back to
    NOWHERE = "in no byte"


@dataclass(slots=True)
class Words:
    """`seed` and the kind decide a word, whatever is said at the same time."""

    seed: int
    table: dict[str, Kept] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def new(self, kind: str, kept: Kept = Kept.FOUND) -> str:
        chance = random.Random(f"{self.seed} {kind} {len(self.of(kind))}")
        word = "".join(chance.choice(_LETTERS) for _ in range(_HEAD + _CORE + _TAIL))
        assert word not in self.table
        self.table[word], self.kinds[word] = kept, kind
        return word

    def now(self, kept: Kept, *words: str) -> None:
        """From here on this is to be known of them."""
        for word in words:
            assert word in self.table
            self.table[word] = kept

    def of(self, kind: str) -> list[str]:
        return [word for word, one in self.kinds.items() if one == kind]

    async def differences(self, host: Host) -> list[str]:
        """Where the index and the table disagree, as lines for a reader.

        Full-text tables store a word without its stem's end and without what it shares with its neighbour: so it is
        the middle of a word that no file may spell.
        """
        held = b"\0".join(path.read_bytes() for path in sorted(host.folder.iterdir()) if path.is_file())
        lines = []
        async with host.opened() as store:
            searcher = Searcher(SqliteEngine(store, KEYS), KEYS, None, SearchSettings(routes=()), scrub=host.scrub)
            for word, kept in self.table.items():
                answer = await searcher.search([word], limit=50, mode=Mode.LEXICAL)
                chunks = await reading.chunks_by_id(store.connection, [hit.chunk for hit in answer.hits])
                is_found = bool(answer.hits) and all(word in chunk.chunk.text for chunk in chunks.values())
                is_held = word[_HEAD:-_TAIL].encode() in held
                seen = Kept.FOUND if is_found else Kept.UNSEEN if is_held else Kept.NOWHERE
                if seen != kept or (answer.hits and not is_found):
                    said = f"{seen.value}, with {len(answer.hits)} hits"
                    lines.append(f"{self.kinds[word]}: {word} must be {kept.value!r}, and is {said!r}")
        return lines
