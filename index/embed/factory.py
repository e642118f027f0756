"""From settings to an embedder. Whatever is missing is named here, before anything heavy is loaded."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
            raise ConfigError("embed: not yet")


def _open_local(settings: EmbedSettings, progress: Progress | None) -> Embedder:
    for library in _LIBRARIES:
        if find_spec(library) is None:
            raise EmbedderError(
                f"embed.kind local: package {library} is not installed (install 'sources[local]', or set kind to http"
                " or off; search stays lexical until then)"
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


def _chosen(wanted: str | None, own: str) -> str:
    return own if wanted is None else wanted
