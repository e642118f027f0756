"""How many words chunks have, each asked for once in a ranking."""

from collections.abc import Mapping, Sequence

from index.store import postings
from index.store.driver import Connection


class Sizes:
    """Inside one read transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[int, int] = {}

    def learn(self, sizes: Mapping[int, int]) -> None:
        self._known.update(sizes)

    def of(self, chunks: Sequence[int]) -> Mapping[int, int]:
        """Of these chunks, as far as they are there, and maybe of others."""
        if unknown := [chunk for chunk in chunks if chunk not in self._known]:
            self._known.update(postings.sizes(self._connection, unknown))
        return self._known
