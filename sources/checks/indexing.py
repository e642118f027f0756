"""Probe of the index file: readable, of this version, and built with what the configuration asks for."""

from collections.abc import Sequence

from index.errors import ReindexNeededError, SourcesError, StoreError
from index.store.store import open_store
from index.wording import counted
from sources.app import embedder_of, fingerprint
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.config.settings import embed_settings
from sources.credentials import Credentials
from sources.status import Status, status

_NAME = "index"


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    try:
        found = await status(config)
    except StoreError as error:
        row = failure(_NAME, error)
        return [Finding(_NAME, Verdict.WARN, row.detail, row.remedy) if "no index yet" in row.detail else row]
    try:
        async with (
            open_store(config.index_file, is_writer=False) as store,
            embedder_of(embed_settings(config, credentials)) as embedder,
        ):
            await store.check_fingerprint(fingerprint(config, embedder.identity if embedder else None))
    except ReindexNeededError as error:
        return [failure(_NAME, error)]
    except SourcesError as error:  # the embedder's: it has a row of its own
        return [Finding(_NAME, Verdict.WARN, f"readable; whether its vectors fit is not known: {error}")]
    return [_row(found)]


def _row(found: Status) -> Finding:
    documents = sum(one.documents for one in found.sources)
    detail = (
        f"{counted(documents, 'document')} of {counted(len(found.sources), 'source')}, {found.size_bytes / 1e6:,.1f} MB"
    )
    if found.pending:
        return Finding(
            _NAME, Verdict.WARN, f"{detail}, {counted(found.pending, 'vector')} pending", "run `sources refresh`"
        )
    return Finding(_NAME, Verdict.OK, detail)
