"""From settings to an embedder. Whatever is missing is named here, before anything heavy is loaded."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from index.embed.base import Embedder, EmbedderIdentity, EmbedSettings, Kind, Progress
from index.errors import ConfigError, EmbedderError

if TYPE_CHECKING:
    import httpx

_LIBRARIES: Final = ("numpy", "onnxruntime", "tokenizers")


def open_embedder(
    settings: EmbedSettings, *, client: "httpx.AsyncClient | None" = None, progress: Progress | None = None
) -> Embedder | None:
    """None when vectors are not wanted. Cheap: models load, and servers are asked, at the first `embed`.

    `client` is needed for HTTP alone; `progress` hears of a model being built. Raises EmbedderError when the embedder
    cannot work here, and ConfigError when the settings contradict themselves.
    """
    match settings.kind:
        case Kind.OFF:
            return None
        case Kind.HASHING:
            from index.embed.hashing import HashingEmbedder

            return HashingEmbedder(settings.dimension or 64)
        case Kind.LOCAL:
            return _open_local(settings, progress)
        case Kind.HTTP:
            return _open_http(settings, client)


def _open_local(settings: EmbedSettings, progress: Progress | None) -> Embedder:
    for library in _LIBRARIES:
        if find_spec(library) is None:
            raise EmbedderError(
                f"embed.kind local: package {library} is not installed (install the extra local: docs/install.md,"
                " or set kind to http or off; search stays lexical until then)"
            )
    from index.embed.local import LocalEmbedder

    if settings.model == "e5":
        return _open_e5(settings, progress)
    from index.embed.folder import read_folder

    path = Path(settings.model).expanduser()
    folder = read_folder(path)
    dimension = settings.dimension or folder.dimension
    if dimension is None:
        raise ConfigError(f"embed: model directory {path} does not say its dimension (set dimension)")
    identity = EmbedderIdentity(
        name=f"local:{path.name}",
        dimension=dimension,
        query_prefix=_chosen(settings.query_prefix, folder.query_prefix),
        document_prefix=_chosen(settings.document_prefix, folder.document_prefix),
        max_tokens=folder.max_tokens,
    )
    return LocalEmbedder(identity, lambda: folder, threads=settings.threads)


def _open_e5(settings: EmbedSettings, progress: Progress | None) -> Embedder:
    from index.embed.e5 import IDENTITY
    from index.embed.e5.build import build_e5, require_e5
    from index.embed.folder import read_folder
    from index.embed.local import LocalEmbedder

    cache_dir = settings.cache_dir
    if cache_dir is None:
        raise ConfigError("embed: model e5 is built once into a cache (set cache_dir)")
    require_e5(cache_dir)
    identity = replace(
        IDENTITY,
        query_prefix=_chosen(settings.query_prefix, IDENTITY.query_prefix),
        document_prefix=_chosen(settings.document_prefix, IDENTITY.document_prefix),
    )
    return LocalEmbedder(identity, lambda: read_folder(build_e5(cache_dir, progress)), threads=settings.threads)


def _open_http(settings: EmbedSettings, client: "httpx.AsyncClient | None") -> Embedder:
    from index.embed.http import HttpEmbedder
    from index.embed.prefixes import known_prefixes

    if client is None:
        raise ValueError("the program's HTTP client must be passed in")
    address = urlsplit(settings.url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ConfigError("embed.url: expected http://host:port or https://host (write the base of the service)")
    if address.username or address.password:
        raise ConfigError("embed.url: holds a user name or password (put the key into the credential directory)")
    if not settings.model or settings.dimension is None:
        missing = "dimension" if settings.model else "model"
        raise ConfigError(f"embed.{missing}: required with kind http (the server's documentation names it)")
    query_prefix, document_prefix = known_prefixes(settings.model)
    identity = EmbedderIdentity(
        name=settings.model.removesuffix(":latest"),
        dimension=settings.dimension,
        query_prefix=_chosen(settings.query_prefix, query_prefix),
        document_prefix=_chosen(settings.document_prefix, document_prefix),
        max_tokens=settings.max_tokens,
    )
    return HttpEmbedder(settings, identity, client)


def _chosen(wanted: str | None, own: str) -> str:
    return own if wanted is None else wanted
