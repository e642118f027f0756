"""A task that is cancelled leaves no transaction open on the connection that others go on using."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from threading import Event

import pytest

from index.engines.sqlite.engine import SqliteEngine
from index.model import EVERYTHING, Filters
from index.store import documents
from index.store.store import Store, open_store
from tests.contract.conftest import KEYS, Bench
from tests.contract.test_engine import page


def view(store: Store) -> AbstractAsyncContextManager[object]:
    return SqliteEngine(store, KEYS).view(EVERYTHING, Filters())


def all_bytes(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in folder.iterdir())


@pytest.mark.parametrize("begin", [view, Store.transaction])
async def test_cancelled_while_its_transaction_waits_to_begin(
    tmp_path: Path, begin: Callable[[Store], AbstractAsyncContextManager[object]]
) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:

        async def enter() -> None:
            async with begin(store):
                pass

        gate = Event()
        busy = asyncio.create_task(store.connection.run(lambda _: gate.wait()))
        entering = asyncio.create_task(enter())
        await asyncio.sleep(0)  # now both wait for the connection's thread
        entering.cancel()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await entering
        await busy
        assert not store.connection.in_transaction
        await enter()


async def test_cancelled_while_it_commits_it_owes_a_wipe_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "index.sqlite"
    gone = page("a", "withdrawn words")
    async with open_store(file, is_writer=True) as store:
        await Bench(store, None).put(gone)
        await store.wipe()
        loop = asyncio.get_running_loop()

        async def forget() -> None:
            async with store.transaction():
                await documents.remove(store.connection, [gone.id])

        forgetting = asyncio.create_task(forget())

        def cancel(asked: Event) -> None:
            forgetting.cancel()
            asked.set()

        def cancel_at_commit(statement: str) -> None:
            if statement == "COMMIT":
                asked = Event()
                loop.call_soon_threadsafe(cancel, asked)
                asked.wait()

        await store.connection.set_trace_callback(cancel_at_commit)
        with pytest.raises(asyncio.CancelledError):
            await forgetting
        await store.connection.run(lambda raw: raw.set_trace_callback(None))
        assert await documents.document_ids(store.connection, gone.source) == []
        assert (await store.wipe()).is_done
        assert b"withdrawn" not in all_bytes(tmp_path)
