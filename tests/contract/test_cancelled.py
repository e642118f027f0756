"""A task that is cancelled leaves no transaction open on the connection that others go on using."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from threading import Event

import pytest

from index.engines.sqlite.engine import SqliteEngine
from index.model import EVERYTHING, Filters
from index.store.store import Store, open_store
from tests.contract.conftest import KEYS


def view(store: Store) -> AbstractAsyncContextManager[object]:
    return SqliteEngine(store, KEYS).view(EVERYTHING, Filters())


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
