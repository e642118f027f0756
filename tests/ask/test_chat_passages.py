"""A passage of chat is sent only as the homeserver has it now."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from index.errors import MatrixError
from index.model import Answer, Chunk, ChunkId, Corpus, DocumentId, Hit, Kind, RoomId, SourceId
from index.store.reading import StoredChunk
from sources.asking.ask import Outcome, find
from sources.config.model import Ask
from tests.ask.conftest import plain_hit

CHAT = replace(plain_hit(1), corpus=Corpus.CHAT, source=SourceId("chat:!r:hs"), room=RoomId("!r:hs"), path=None)


class Found:
    """A search that found these, whatever was asked."""

    def __init__(self, *hits: Hit) -> None:
        self._hits = hits

    async def search(self, texts: Sequence[str], *, limit: int = 10, now_ms: int | None = None) -> Answer:
        return Answer(self._hits, is_certain=True, notes=(), more=0)

    async def stored(self, hits: Sequence[Hit]) -> Mapping[ChunkId, StoredChunk]:
        return {hit.chunk: stored(hit) for hit in hits}


def stored(hit: Hit) -> StoredChunk:
    return StoredChunk(
        key=1,
        chunk=Chunk(hit.chunk, 0, "as it was indexed"),
        document=DocumentId("d"),
        source=hit.source,
        corpus=hit.corpus,
        kind=Kind.WINDOW,
        title="#room:hs",
        path=hit.path,
        room=hit.room,
        revision="r",
        first_ms=None,
        last_ms=None,
        payload={},
        digest=b"",
    )


async def test_chat_is_read_afresh_and_files_are_not() -> None:
    async def fresh(chunk: StoredChunk) -> str:
        return "@a:hs: as it is now"

    asked = await find(Found(CHAT, plain_hit(2)), "keys", Ask(), fresh, now_ms=0)
    assert [passage.text for passage in asked.passages] == ["@a:hs: as it is now", "as it was indexed"]


async def test_chat_that_was_withdrawn_is_not_sent() -> None:
    async def fresh(chunk: StoredChunk) -> str:
        return ""

    asked = await find(Found(CHAT), "keys", Ask(), fresh, now_ms=0)
    assert (asked.outcome, asked.passages) == (Outcome.NOTHING, ())


async def test_chat_that_cannot_be_checked_is_left_out_and_said() -> None:
    async def fresh(chunk: StoredChunk) -> str:
        raise MatrixError("no answer")

    asked = await find(Found(CHAT, plain_hit(2)), "keys", Ask(), fresh, now_ms=0)
    assert [passage.number for passage in asked.passages] == [1]
    assert asked.notes == ("a passage of #room:hs was left out: no answer",)
