"""The real model, built once: the cache in the clone outlives the run, and a kernel lock lets workers wait."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from index.embed import Embedder, EmbedSettings, open_embedder


@pytest.fixture(scope="session")
def cache_dir() -> Path:
    return Path(__file__).parents[2] / ".cache" / "embed"


@pytest.fixture(scope="session")
def e5(cache_dir: Path) -> Iterator[Embedder]:
    """Loaded once for all: it is bound to no event loop."""
    embedder = open_embedder(EmbedSettings(cache_dir=cache_dir, threads=2))
    assert embedder is not None
    yield embedder
    asyncio.run(embedder.close())
