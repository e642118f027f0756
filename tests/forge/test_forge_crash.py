"""A refresh of a forge that dies at any of its transactions leaves a state from which the next one ends the same."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx

from index.store.store import Store, open_store
from index.text.words import Keys
from ingest.refresh import Plan, refresh
from sources.app import fingerprint, workers
from tests.forge.forge_place import Place, faults, page

DUMP = (
    "SELECT id, label, is_public, is_hidden, position, chunks, words, fault FROM source ORDER BY id",
    "SELECT source.id, number, url FROM forge_repo JOIN source USING (source_key) ORDER BY 1",
    "SELECT document.id, source.id, path, revision FROM document JOIN source USING (source_key) ORDER BY 1",
    "SELECT id, title, body, keys, digest FROM chunk ORDER BY id",
    "SELECT request FROM forge_page ORDER BY 1",
)


class _DiedError(Exception):
    """Nobody catches it, as nobody catches a power cut."""


class MortalStore(Store):
    """Dies at the beginning of a transaction, once `lives` have been committed."""

    def __init__(self, store: Store, lives: int) -> None:
        vars(self).update(vars(store))
        self.lives = lives

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        self.lives -= 1
        if self.lives < 0:
            raise _DiedError
        async with super().transaction():
            yield


async def refresh_until(place: Place, lives: int) -> bool:
    """A refresh that dies after so many transactions; False when it needed no more."""
    config, credentials = place.config, place.credentials
    async with AsyncExitStack() as opened:
        client = await opened.enter_async_context(httpx.AsyncClient(verify=False))
        store = await opened.enter_async_context(open_store(config.index_file, is_writer=True))
        mortal = MortalStore(store, lives)
        with suppress(_DiedError):
            await refresh(
                mortal,
                Plan(workers(config, credentials, client=client), parallel=1),
                fingerprint=fingerprint(config, None),
                document_keys=Keys(config.index.languages).document_keys,
                embedder=None,
            )
    return mortal.lives < 0


def test_it_may_die_anywhere_among_renames_removals_and_pushes(place: Place) -> None:
    place.forge.has_etags = True
    place.settings["parallel"] = "1"
    for name in ("renamed", "gone", "pushed"):
        place.forge.host(f"club/{name}", page(name))
    assert not faults(place.refresh())
    place.forge.delete("club/gone")
    place.forge.rename(place.forge.one("club/renamed"), "club/gone")
    place.forge.push(place.forge.one("club/pushed"), page("fresh"))
    place.forge.host("club/renamed", page("another"))

    def copy(name: str) -> Place:
        shutil.copytree(place.folder / "state", place.folder / name)
        return Place(place.folder, place.forge, place.settings, state=name)

    calm = copy("calm")
    assert not faults(calm.refresh())
    wanted = [calm.rows(statement) for statement in DUMP]
    assert len(wanted[2]) == 3
    lives = 0
    while asyncio.run(refresh_until(dying := copy(f"dying{lives}"), lives)):
        assert not faults(dying.refresh())
        assert [dying.rows(statement) for statement in DUMP] == wanted, f"died after {lives} transactions"
        lives += 1
    assert lives >= 5, "it did not die often enough"
