"""Probe of the embedder: three fixed texts are embedded, unless that would first build the model."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from index.embed.base import Embedder, EmbedSettings, Kind
from index.embed.factory import open_embedder
from index.embed.probe import probe as embed_probes
from index.errors import SourcesError
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.config.settings import embed_settings, models_folder
from sources.credentials import Credentials

if TYPE_CHECKING:
    import httpx

_NAME = "embed"


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    settings = embed_settings(config, credentials)
    if settings.kind is Kind.OFF:
        return [Finding(_NAME, Verdict.OK, "off: searches go by words alone")]
    try:
        async with _client(settings) as client:
            embedder = open_embedder(settings, client=client)
            if embedder is None or _is_to_be_built(config, settings):
                detail = f"{settings.model}, built by the first refresh, in some 20 seconds"
                return [Finding(_NAME, Verdict.OK, detail)]
            return [await _try(embedder, settings)]
    except SourcesError as error:
        return [failure(_NAME, error)]


async def _try(embedder: Embedder, settings: EmbedSettings) -> Finding:
    try:
        await embed_probes(embedder)
    finally:
        await embedder.close()
    detail = f"{embedder.identity.name} answers with {embedder.identity.dimension} numbers"
    if settings.kind is Kind.HASHING:
        return Finding(_NAME, Verdict.WARN, detail, 'for trials only: write kind = "local" or "http"')
    return Finding(_NAME, Verdict.OK, detail)


def _is_to_be_built(config: Config, settings: EmbedSettings) -> bool:
    if settings.kind is not Kind.LOCAL or settings.model != "e5":
        return False
    from index.embed.e5 import BUILD

    return not (models_folder(config) / f"e5-{BUILD}").is_dir()


@asynccontextmanager
async def _client(settings: EmbedSettings) -> "AsyncIterator[httpx.AsyncClient | None]":
    if settings.kind is not Kind.HTTP:
        yield None
        return
    import httpx

    async with httpx.AsyncClient() as client:
        yield client
