"""From the configuration to what the subsystems take: seconds instead of milliseconds, secrets as late calls.

The subsystems know nothing of `sources.toml`; nothing else here knows how they are set up.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from index.errors import CredentialError
from sources.config.model import Config, Refresh
from sources.config.source_tables import Forge, Notes, Repo, Validate
from sources.credentials import Credentials

if TYPE_CHECKING:
    from index.embed.base import EmbedSettings
    from ingest.forge.documents import Rules
    from ingest.forge.notes import NotesSettings
    from ingest.forge.repository import RepoSettings
    from ingest.forge.validation import Validation


def embed_settings(config: Config, credentials: Credentials) -> "EmbedSettings":
    """The key is read from its file at each request and kept nowhere."""
    from index.embed.base import Api, EmbedSettings, Kind

    embed = config.embed
    return EmbedSettings(
        kind=Kind(embed.kind),
        model=embed.model,
        url=embed.url or "",
        api=Api(embed.api),
        dimension=embed.dimension,
        query_prefix=embed.query_prefix,
        document_prefix=embed.document_prefix,
        api_key=secret_reader(credentials, embed.api_key_credential),
        cache_dir=models_folder(config),
        max_tokens=embed.max_tokens,
        connect_timeout_s=embed.connect_timeout_ms / 1000,
        query_budget_s=embed.query_timeout_ms / 1000,
        document_timeout_s=embed.document_timeout_ms / 1000,
        batch_texts=embed.batch_texts,
        batch_bytes=embed.batch_size_bytes,
        threads=embed.threads,
    )


def secret_reader(credentials: Credentials, name: str | None) -> Callable[[], str] | None:
    return None if name is None else lambda: credentials.read(name).reveal()


def models_folder(config: Config) -> Path:
    return config.state_dir / "models"


def clones_folder(config: Config) -> Path:
    return config.state_dir / "clones"


def purges_folder(config: Config) -> Path:
    """Orders to forget. Not derived: to be kept when the rest of the folder goes."""
    return config.state_dir / "purges"


def repo_settings(repo: Repo, refresh: Refresh) -> "RepoSettings":
    """`timeout_s` bounds silences; the whole of a source is bounded by `source_timeout_s`."""
    from ingest.forge.repository import RepoSettings

    return RepoSettings(
        name=repo.name,
        url=repo.url,
        branch=repo.branch,
        include=repo.include,
        exclude=repo.exclude,
        timeout_s=refresh.silence_timeout_ms / 1000,
        max_file_bytes=repo.max_file_bytes,
    )


def source_timeout_s(repo: Repo | Forge, refresh: Refresh) -> float:
    return (refresh.source_timeout_ms if repo.timeout_ms is None else repo.timeout_ms) / 1000


def cutting_rules(table: Repo | Forge | Notes) -> "Rules":
    from ingest.forge.documents import Rules
    from ingest.forge.headers import SECTIONS

    named = () if isinstance(table, Notes) else table.sections
    return Rules(max_bytes=table.max_file_bytes, sections=named or SECTIONS)


def validation(table: Validate) -> "Validation":
    from ingest.forge.validation import Validation

    return Validation(table.required, table.allowed)


def repo_login(repo: Repo, credentials: Credentials) -> Callable[[], tuple[str, str]] | None:
    """User name and password for git, read when a server asks for them."""
    name = repo.credential
    if name is None:
        return None

    def login() -> tuple[str, str]:
        user, colon, password = credentials.read(name).reveal().partition(":")
        if not (user and colon and password):
            raise CredentialError(f"credential {name}: is not of the form user:token (write both into it)")
        return user, password

    return login


def notes_settings(notes: Notes) -> "NotesSettings":
    from ingest.forge.notes import NotesSettings

    return NotesSettings(
        name=notes.name,
        root=notes.root,
        paths=notes.paths,
        include=notes.include,
        exclude=notes.exclude,
        max_file_bytes=notes.max_file_bytes,
        max_drop_percent=notes.max_drop_percent,
    )
