"""Probe of the embedder: three fixed texts are embedded, unless that would first build the model."""

from collections.abc import Sequence

from index.embed.base import Embedder, EmbedSettings, Kind
from index.embed.probe import probe as embed_probes
from index.errors import SourcesError
from sources.app import embedder_of
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.config.settings import embed_settings, models_folder
from sources.credentials import Credentials

_NAME = "embed"


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    settings = embed_settings(config, credentials)
    try:
        async with embedder_of(settings) as embedder:
            if embedder is None:
                return [Finding(_NAME, Verdict.OK, "off: searches go by words alone")]
            if _is_to_be_built(config, settings):
                detail = f"{settings.model}, built by the first refresh, in some 20 seconds"
                return [Finding(_NAME, Verdict.OK, detail)]
            return [await _try(embedder, settings)]
    except SourcesError as error:
        return [failure(_NAME, error)]


async def _try(embedder: Embedder, settings: EmbedSettings) -> Finding:
    await embed_probes(embedder)
    detail = f"{embedder.identity.name} answers with {embedder.identity.dimension} numbers"
    if settings.kind is Kind.HASHING:
        return Finding(_NAME, Verdict.WARN, detail, 'for trials only: write kind = "local" or "http"')
    return Finding(_NAME, Verdict.OK, detail)


def _is_to_be_built(config: Config, settings: EmbedSettings) -> bool:
    if settings.kind is not Kind.LOCAL or settings.model != "e5":
        return False
    from index.embed.e5 import BUILD

    return not (models_folder(config) / f"e5-{BUILD}").is_dir()
