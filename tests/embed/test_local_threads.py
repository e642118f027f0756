"""The embedder of this process keeps all of its threads busy, and begins with what takes longest."""

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from index.embed.base import EmbedderIdentity, Role
from index.embed.local import LocalEmbedder
from index.model import Vector

THREADS = 3


class Watched(LocalEmbedder):
    """The model is a function here."""

    def __init__(self, vector: Callable[[str, Role], Vector], threads: int = THREADS) -> None:
        identity = EmbedderIdentity("watched", 1, "", "", 0)
        super().__init__(identity, lambda: pytest.fail("nothing is loaded"), threads=threads)
        self._watched = SimpleNamespace(vector=vector)

    def _loaded(self) -> SimpleNamespace:  # type: ignore[override]
        return self._watched


async def test_every_thread_has_a_text_all_the_time() -> None:
    together = threading.Barrier(THREADS)

    def vector(text: str, role: Role) -> Vector:
        together.wait(timeout=30)  # until all threads are here
        return Vector(b"\0\0\x80\x3f")

    async with Watched(vector) as embedder:
        assert len(await embedder.embed(["text"] * THREADS * 50, Role.DOCUMENT)) == THREADS * 50


async def test_the_longest_come_first_and_vectors_stand_where_their_texts_do() -> None:
    begun: list[int] = []

    def vector(text: str, role: Role) -> Vector:
        begun.append(len(text))
        return Vector(len(text).to_bytes(4, "little"))

    lengths = [3, 90, 1, 200, 17, 90, 4, 150] * 30
    async with Watched(vector, threads=1) as embedder:
        made = await embedder.embed(["x" * length for length in lengths], Role.DOCUMENT)
    assert [int.from_bytes(one, "little") for one in made] == lengths  # type: ignore[arg-type]
    assert begun == sorted(lengths, reverse=True)


async def test_what_was_not_begun_when_a_run_is_stopped_is_never_begun() -> None:
    begun = threading.Semaphore(0)
    may_end = threading.Event()
    count = 0

    def vector(text: str, role: Role) -> Vector:
        nonlocal count
        count += 1
        begun.release()
        may_end.wait(timeout=30)
        return Vector(b"\0\0\x80\x3f")

    embedder = Watched(vector)
    embedding = asyncio.create_task(embedder.embed(["text"] * 500, Role.DOCUMENT))
    for _ in range(THREADS):
        assert await asyncio.to_thread(begun.acquire, timeout=30)
    embedding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await embedding
    may_end.set()
    await embedder.close()
    assert count == THREADS
