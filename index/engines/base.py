"""What an engine promises to a search. The promises are spelled out by the contract suite in tests/contract/."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from index.model import Audience, ChunkId, Filters, Query, Ranked, Vector
from index.store.reading import StoredChunk


class View(Protocol):
    """One consistent state of the index, as an audience and the reader's filters let it be seen."""

    async def lexical(self, query: Query, *, limit: int) -> list[Ranked]:
        """Chunks by their words, best first. Empty means no match; an unreachable engine raises `EngineError`."""

    async def nearest(self, vector: Vector, query: Query, *, limit: int) -> list[Ranked]:
        """Chunks by their best part, nearest first; `score` is the cosine.

        The phrases that the query demands and the words that it excludes hold here too.
        """

    async def stored(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Those of the chunks that are there."""

    async def notes(self) -> list[str]:
        """What the audience should know of what it may see: vectors that are pending."""


class Engine(Protocol):
    """Holds chunks and ranks them."""

    def view(self, audience: Audience, filters: Filters) -> AbstractAsyncContextManager[View]:
        """Opened for one ranking and closed at once: a view left open keeps old pages alive."""
