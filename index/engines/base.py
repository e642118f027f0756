"""What an engine promises to a search. The promises are spelled out by the contract suite in tests/contract/."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from index.model import (
    Audience,
    ChunkId,
    EventId,
    Filters,
    Fingerprint,
    Query,
    Ranked,
    RoomId,
    SourceId,
    Vector,
)
from index.store.reading import Candidate, StoredChunk
from index.store.store import Source

if TYPE_CHECKING:
    from index.store.rooms import RoomRecord


class View(Protocol):
    """One consistent state of the index, as an audience and the reader's filters let it be seen."""

    async def lexical(self, query: Query, *, limit: int) -> list[Ranked]:
        """Chunks by their words, best first. Empty means no match; an unreachable engine raises `EngineError`."""

    async def nearest(self, vector: Vector, query: Query, *, limit: int) -> list[Ranked]:
        """Chunks by their best part, nearest first; `score` is the cosine.

        The phrases that the query demands and the words that it excludes hold here too.
        """

    async def newest(self, *, limit: int) -> list[ChunkId]:
        """One chunk of each document, the first that is left of it, of the document that changed last first.

        Those of which no time is known come last.
        """

    async def candidates(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, Candidate]:
        """What the order of those of the chunks that are there depends on; hundreds are asked for at once."""

    async def stored(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Those of the chunks that are there, whole."""

    async def notes(self) -> list[str]:
        """What the audience should know of what it may see: vectors that are pending."""


class Engine(Protocol):
    """Holds chunks and ranks them."""

    def view(self, audience: Audience, filters: Filters) -> AbstractAsyncContextManager[View]:
        """Opened for one ranking and closed at once: a view left open keeps old pages alive."""


class Catalogue(Protocol):
    """What is known beside chunks, for those who only read. Where the engine is a cluster, nothing else is asked."""

    @property
    def name(self) -> str:
        """For messages."""

    async def fingerprint(self) -> Fingerprint | None:
        """What the index was built with; None for one that was never written to."""

    async def fact(self, name: str) -> str | None:
        """One entry of `meta`, as far as readers need it."""

    async def sources(self) -> list[Source]:
        """All known sources, by key; those of a cluster without their cursors."""

    async def room(self, room: RoomId) -> "RoomRecord | None":
        """What was decided about a room, and who may see it."""

    async def first_ms(self, source: SourceId) -> int | None:
        """The time of the oldest thing that is held of a source; None while nothing is."""

    async def stored(self, chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
        """Those of the chunks that are there, whoever asks."""

    async def holds_event(self, source: SourceId, event: EventId) -> bool:
        """Whether any window of a room holds a message."""

    async def identity(self) -> tuple[object, ...]:
        """Equal as long as it is the same index, built with the same things."""

    async def revision(self) -> tuple[object, ...]:
        """Equal as long as nothing was written."""
