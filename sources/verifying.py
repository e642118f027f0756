"""The index held against itself and, where asked, against what it was made of.

Takes the write lock: what changes meanwhile cannot be compared. Nothing is written unless it is to be repaired.
"""

from contextlib import ExitStack
from random import Random
from typing import Final

from msgspec import Struct

from index.errors import StoreError
from index.store import driver, erase, purges, soundness
from index.store.soundness import Fault
from index.store.store import Store, open_store
from ingest.chat import orders
from ingest.lock import write_lock
from sources.config.model import Config
from sources.config.settings import purges_folder
from sources.credentials import Credentials
from sources.remaking import Remade, remake

_MEND: Final = "sources verify --repair"
_ROUNDS: Final = 3
"""What a repair drops may leave something else without what it belonged to."""


class Verification(Struct, frozen=True):
    """`faults` are those that are left; `mended` went by a repair."""

    faults: tuple[Fault, ...]
    mended: tuple[Fault, ...] = ()
    remade: Remade | None = None


async def verify(
    config: Config, credentials: Credentials, *, is_repairing: bool, is_deep: bool, draw: Random
) -> Verification:
    """StoreError when there is no index, BusyError when a refresh is running."""
    async with open_store(config.index_file, is_writer=False):
        pass  # a writer would make one
    mended: list[Fault] = []
    with ExitStack() as held:
        held.enter_context(write_lock(config.state_dir / "refresh.lock"))
        async with open_store(config.index_file, is_writer=True) as store:
            found = await _faults(store, config)
            for _ in range(_ROUNDS if is_repairing else 0):
                if not any(fault.is_derived for fault in found):
                    break
                async with store.transaction():
                    await soundness.repair(store.connection, found)
                await store.wipe()
                left = await _faults(store, config)
                mended += [fault for fault in found if fault.check not in {one.check for one in left}]
                found = left
            remade = await remake(config, credentials, store, draw) if is_deep else None
    return Verification((*found, *(remade.faults if remade else ())), tuple(mended), remade)


async def _faults(store: Store, config: Config) -> list[Fault]:
    if told := await soundness.damage(store.connection):
        remedy = f"delete {store.name} and run sources refresh: it is built again; orders to forget are kept elsewhere"
        return [Fault("damage", f"the file is damaged: {told[0]}", len(told), remedy, is_derived=False)]
    found = await soundness.faults(store.connection)
    if await store.value(erase.DEBT) not in (None, erase.NOTHING):
        found.append(Fault("wipe_owed", "a run ended before deleted text was wiped", 1, _MEND, is_derived=True))
    if driver.version_info() < driver.SAFE:
        what = f"SQLite {driver.VERSION} can lose rows when several processes use a file"
        found.append(Fault("sqlite", what, 1, "install pysqlite3", is_derived=False))
    try:
        given = orders.read(purges_folder(config))
    except StoreError as error:
        return [*found, Fault("order_unreadable", str(error), 1, "give it again", is_derived=False)]
    known = {record.identity for record in await purges.purges(store.connection)}
    if unknown := sum(record.identity not in known for record in given):
        what = "orders to forget that the index does not know"
        found.append(Fault("order_unknown", what, unknown, "sources refresh", is_derived=False))
    return found
