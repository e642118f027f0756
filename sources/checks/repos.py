"""Probe of the repositories: each remote is asked where its branch is, as a refresh would; nothing is fetched."""

import asyncio
from collections.abc import Sequence

from index.errors import SourcesError
from ingest.forge.git import Git
from ingest.forge.repository import Outcome, Repository
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.config.settings import clones_folder, repo_login, repo_settings
from sources.config.source_tables import Repo
from sources.credentials import Credentials


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    limit = asyncio.Semaphore(config.refresh.parallel)

    async def one(repo: Repo) -> Finding:
        async with limit:
            return await _repo(repo, config, credentials)

    return await asyncio.gather(*(one(repo) for repo in config.repo))


async def _repo(repo: Repo, config: Config, credentials: Credentials) -> Finding:
    name = f"repo {repo.name}"
    settings = repo_settings(repo, config.refresh)
    try:
        found = await Repository(settings, clones_folder(config), Git(), repo_login(repo, credentials)).probe()
    except SourcesError as error:
        return failure(name, error)
    if found.error is not None:
        return failure(name, found.error)
    if found.head is None or found.outcome is Outcome.EMPTY:
        return Finding(name, Verdict.WARN, "reachable, and has no commits", "push one")
    return Finding(name, Verdict.OK, f"{found.head.branch} is at {found.head.commit[:10]}")
