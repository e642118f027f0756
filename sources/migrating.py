"""The index copied from its file into a cluster or back, without embedding anything, and compared afterwards.

Both directions go on where an earlier run was stopped. Neither changes the configuration: which engine ranks is for
`[index] engine` to say.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack
from random import Random
from typing import Final
from uuid import uuid4

from msgspec import Struct

from index.errors import ConfigError
from index.store import outgoing
from index.store.store import open_store
from index.text.words import Keys
from ingest.lock import write_lock
from ingest.writing import Writer
from sources.config.model import Config
from sources.config.settings import models_folder
from sources.credentials import Credentials
from sources.engines import open_cluster, published_facts

Progress = Callable[[int, int], None]
_TRIES: Final = 2
"""A collection that does not compare is told once more of what differs."""


class Migration(Struct, frozen=True):
    """What was moved in this run, and how both sides compared: chunks of the file, points of the cluster."""

    moved: int
    chunks: int
    points: int
    sampled: int
    missing: int
    extra: int
    unlike: int

    @property
    def is_equal(self) -> bool:
        return not (self.missing or self.extra or self.unlike)


async def to_qdrant(config: Config, credentials: Credentials, draw: Random, progress: Progress) -> Migration:
    """From the file into the cluster. BusyError when a refresh is running, ConfigError for another's collection."""
    async with AsyncExitStack() as opened:
        opened.enter_context(write_lock(config.state_dir / "refresh.lock"))
        if not config.index_file.exists():
            raise ConfigError(f"{config.index_file.name}: there is no index to copy yet (run `sources refresh`)")
        cluster = await opened.enter_async_context(open_cluster(config, credentials))
        store = await opened.enter_async_context(open_store(config.index_file, is_writer=True))
        from index.engines.qdrant.comparison import compare
        from index.engines.qdrant.delivery import deliver

        moved = 0
        for number in range(1, _TRIES + 1):
            done = await deliver(store, cluster, facts=published_facts(config), progress=progress)
            moved += done.sent
            found = await compare(store, cluster, draw)
            if found.is_equal or number == _TRIES:
                break
            async with store.transaction():
                await outgoing.mark(store.connection, {*found.missing, *found.extra, *found.unlike})
        return Migration(
            moved, found.chunks, found.points, found.sampled, len(found.missing), len(found.extra), len(found.unlike)
        )


async def to_sqlite(config: Config, credentials: Credentials, draw: Random, progress: Progress) -> Migration:
    """From the cluster into a new file, which is its writer afterwards. StoreError for a file that holds an index."""
    async with AsyncExitStack() as opened:
        opened.enter_context(write_lock(config.state_dir / "refresh.lock"))
        cluster = await opened.enter_async_context(open_cluster(config, credentials))
        from index.engines.qdrant.comparison import compare
        from index.engines.qdrant.label import read_label
        from index.engines.qdrant.restoring import restore

        languages = (await read_label(cluster)).fingerprint.languages
        keys = Keys(languages, forms_dir=models_folder(config))
        store = await opened.enter_async_context(open_store(config.index_file, is_writer=True))
        moved = await restore(
            store,
            cluster,
            document_keys=keys.document_keys,
            salt=lambda fingerprint: Writer(store, fingerprint, keys.document_keys).salt,
            writer=uuid4().hex,
            progress=progress,
        )
        found = await compare(store, cluster, draw)
        return Migration(
            moved, found.chunks, found.points, found.sampled, len(found.missing), len(found.extra), len(found.unlike)
        )
