"""The embedder in this process: a model directory, no network. The model loads at the first text, not before."""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Self

from index.embed.base import Embedded, EmbedderIdentity, Refusal, Role
from index.embed.folder import ModelFolder
from index.errors import EmbedderError

if TYPE_CHECKING:
    from index.embed.onnx_model import OnnxModel


class LocalEmbedder:
    """One thread for each of several texts, never several for one: that is faster by a third with many texts, and with
    a single query on a busy machine, where threads that share a text wait for the slowest (docs/embedding.md)."""

    def __init__(self, identity: EmbedderIdentity, folder: Callable[[], ModelFolder], *, threads: int = 0) -> None:
        """`folder` is called once, in a worker thread, and may take its time: the model may have to be built first."""
        self._identity = identity
        self._folder = folder
        self._threads = threads or usable_cores()
        self._model: OnnxModel | None = None
        self._loading = Lock()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="embed")

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        loop = asyncio.get_running_loop()
        # The longest first: then no thread is left with a long one at the end, while the others have nothing to do.
        places = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        running = [loop.run_in_executor(self._pool, self._vector, texts[at], role) for at in places]
        try:
            vectors = dict(zip(places, await asyncio.gather(*running), strict=True))
        except BaseException:
            for waiting in running:
                waiting.cancel()
            raise
        return [vectors[at] for at in range(len(texts))]

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        self._model = None

    def _vector(self, text: str, role: Role) -> Embedded:
        vector = self._loaded().vector(text, role)
        if not isinstance(vector, Refusal) and len(vector) != 4 * self._identity.dimension:
            raise EmbedderError(
                f"model {self._identity.name!r}: gives {len(vector) // 4} dimensions, {self._identity.dimension} were"
                " announced (set dimension, or mend hidden_size in its config.json)"
            )
        return vector

    def _loaded(self) -> "OnnxModel":
        with self._loading:
            if self._model is None:
                from index.embed.onnx_model import OnnxModel  # numpy and onnxruntime: half a second

                self._model = OnnxModel(
                    self._folder(),
                    query_prefix=self._identity.query_prefix,
                    document_prefix=self._identity.document_prefix,
                )
            return self._model


def usable_cores() -> int:
    """Fewer than the machine has where this process is bound to some of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
