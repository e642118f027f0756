"""What a ranking knows of chunks, each asked for once: how many words they have, their ids, and what orders them."""

from collections.abc import Mapping, Sequence

from index.model import ChunkId
from index.store import postings, tallies
from index.store.driver import Connection
from index.store.reading import Candidate, candidates_by_key
from index.text.tally import Tallies


class Known:
    """Inside one read transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sizes: dict[int, int] = {}
        self._ids: dict[int, ChunkId] = {}
        self.candidates: dict[ChunkId, Candidate] = {}
        """Of the chunks whose ids were asked for: they stand in the same rows."""

    def tallies(self, chunks: Sequence[int]) -> Tallies:
        """Of those of the chunks that are there; their sizes come along."""
        found = tallies.read(self._connection, chunks)
        self._sizes.update(found.sizes())
        return found

    def sizes(self, chunks: Sequence[int]) -> Mapping[int, int]:
        """Of these chunks, as far as they are there, and maybe of others."""
        if unknown := [chunk for chunk in chunks if chunk not in self._sizes]:
            self._sizes.update(postings.sizes(self._connection, unknown))
        return self._sizes

    def ids(self, chunks: Sequence[int]) -> dict[int, ChunkId]:
        """Of those of the chunks that are there."""
        if unknown := [chunk for chunk in chunks if chunk not in self._ids]:
            for chunk, (identity, candidate) in candidates_by_key(self._connection, unknown).items():
                self._ids[chunk] = identity
                self.candidates[identity] = candidate
        return {chunk: self._ids[chunk] for chunk in chunks if chunk in self._ids}
