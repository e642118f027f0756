"""Probe of the cluster: reached, new enough, ours, whole; nothing is made or changed."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from index.errors import SourcesError
from index.store import outgoing
from index.store.store import open_store
from index.wording import counted
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.credentials import Credentials
from sources.engines import open_cluster

_NAME = "qdrant"
_NEAR = ("localhost", "127.0.0.1", "::1")


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    if config.index.engine != "qdrant":
        return []
    try:
        return [await _cluster(config, credentials), *_openly(config)]
    except SourcesError as error:
        return [failure(_NAME, error), *_openly(config)]


async def _cluster(config: Config, credentials: Credentials) -> Finding:
    async with open_cluster(config, credentials) as cluster:
        from index.engines.qdrant.cluster import check_version
        from index.engines.qdrant.label import check_layout, find_labels

        version = await check_version(cluster)
        label = (await find_labels(cluster)).chunks
        if label is None:
            remedy = "run `sources refresh` where the index is written"
            return Finding(
                _NAME, Verdict.WARN, f"{version}, without a collection {config.index.qdrant.collection}", remedy
            )
        check_layout(label, cluster)
        name = config.index.qdrant.collection
        count = (await cluster.read(lambda client: client.count(name, exact=True))).count
    detail = f"{version}, {counted(count, 'chunk')} in {name}"
    if label.is_filling:
        return Finding(_NAME, Verdict.WARN, f"{detail}, which is being filled", "wait, or run `sources refresh`")
    if config.index_file.exists():
        async with open_store(config.index_file, is_writer=False) as store:
            waiting = await outgoing.waiting(store.connection)
            if await store.value(outgoing.WRITER) not in (None, "", label.writer):
                remedy = "set another [index.qdrant] collection"
                return Finding(_NAME, Verdict.FAIL, f"{detail}, which another writer keeps", remedy)
        if waiting:
            return Finding(
                _NAME,
                Verdict.WARN,
                f"{detail}, {counted(waiting, 'change waits', 'changes wait')}",
                "run `sources refresh`",
            )
    return Finding(_NAME, Verdict.OK, detail)


def _openly(config: Config) -> list[Finding]:
    """A key on a wire that others can read."""
    parts = urlsplit(config.index.qdrant.url or "")
    if config.index.qdrant.api_key_credential is None or parts.scheme == "https" or parts.hostname in _NEAR:
        return []
    return [Finding(_NAME, Verdict.WARN, "the key goes over http, unencrypted", "give the cluster an https url")]
