"""The repositories of forges that are in the index, by the names that people use for them.

A configured forge says nothing about its repositories: which there are, and where, the index remembers.
"""

from collections.abc import Sequence

from msgspec import Struct

from index.errors import QueryError
from index.store import forges
from index.store.forges import ForgeRepo
from index.store.store import open_store
from ingest.forge.forge_worker import clone_of
from ingest.forge.git import Git
from ingest.forge.repository import Repository
from sources.config.forges import forge_repository, source_of
from sources.config.model import Config
from sources.config.source_tables import Forge
from sources.credentials import Credentials


class ForgeSource(Struct, frozen=True):
    """One repository, with the forge that it is of."""

    forge: Forge
    repo: ForgeRepo

    @property
    def names(self) -> tuple[str, ...]:
        """`forge:here/club/docs`, `here/club/docs`, `club/docs` and `docs`."""
        label = self.repo.label
        return (self.repo.source, f"{self.forge.name}/{label}", label, label.rpartition("/")[2])

    def repository(self, config: Config, credentials: Credentials) -> Repository:
        repo = self.repo
        return forge_repository(
            self.forge, config, credentials, Git(), label=repo.label, url=repo.url, clone=clone_of(repo.number)
        )


async def forge_sources(config: Config) -> list[ForgeSource]:
    """Those that may be read now; none before the first refresh."""
    if not config.forge or not _is_there(config):
        return []
    async with open_store(config.index_file, is_writer=False) as store:
        return [
            ForgeSource(forge, repo)
            for forge in config.forge
            for repo in await forges.repositories(store.connection, source_of(forge))
            if not repo.is_hidden
        ]


def named(sources: Sequence[ForgeSource], name: str) -> ForgeSource | None:
    """The one that `name` means; QueryError when it could mean several."""
    found = [one for one in sources if name in one.names]
    if len(found) > 1:
        several = " or ".join(one.repo.source for one in found[:5])
        raise QueryError(f"source {name[:60]!r}: could be {several} (write it so)")
    return found[0] if found else None


def placed(sources: Sequence[ForgeSource], text: str) -> tuple[ForgeSource, str] | None:
    """The repository and the path in `here/club/docs guide/keys.md`; a slash may stand between them.

    The longest name counts: a repository may be called like the forge or its owner.
    """
    for end in range(len(text) - 1, 0, -1):
        if text[end] in " /" and (one := named(sources, text[:end])) is not None:
            return one, text[end + 1 :].strip("/")
    return None


def _is_there(config: Config) -> bool:
    return config.index_file.exists()
