"""Hits made by hand, and a chat endpoint on loopback."""

from collections.abc import AsyncIterator

import pytest

from index.model import ChunkId, Corpus, DocumentId, Hit, Kind, Snippet, SourceId
from tests.ask.model_server import FakeModelServer


@pytest.fixture
async def server() -> AsyncIterator[FakeModelServer]:
    async with FakeModelServer() as server:
        yield server


def plain_hit(number: int, *, path: str = "ops/keys.md", is_weak: bool = False) -> Hit:
    return Hit(
        chunk=ChunkId(number),
        document=DocumentId(f"repo:handbook {path}"),
        source=SourceId("repo:handbook"),
        corpus=Corpus.FORGE,
        kind=Kind.DOC,
        title="Keys",
        score=1.0 / number,
        origins=(),
        boosts=(),
        is_weak=is_weak,
        snippet=Snippet("Keys"),
        path=path,
        room=None,
        heading=("Keys",),
        section=None,
        paragraph=None,
        lines=(1, 3),
        messages=(),
        best_message=None,
        first_ms=None,
        last_ms=None,
        revision="r",
        payload={},
    )
