"""Forgetting messages by order of the host: what an order would reach, giving it, and the list of those given.

No Matrix right is asked for: whoever may write the state folder of this host may order. An order is written down first
and carried out at once when no refresh is running; otherwise the running refresh does it at its end, or the next one.
"""

import os
import pwd
import time
from contextlib import AsyncExitStack

from msgspec import Struct
from msgspec.structs import replace

from index.errors import BusyError, ConfigError, QueryError, StoreError
from index.model import RoomId
from index.store import purges, rooms, sweeps
from index.store.purges import PurgeRecord
from index.store.store import open_store
from index.store.sweeps import Matched
from index.text.words import Keys
from ingest.chat import orders
from ingest.chat.purging import apply_purges
from ingest.chat.settings import ChatSettings
from ingest.lock import write_lock
from ingest.writing import Writer
from sources.app import fingerprint
from sources.config.chat import chat_settings
from sources.config.model import Config
from sources.config.settings import models_folder, purges_folder
from sources.copying import open_copy
from sources.credentials import Credentials


class Purge(Struct, frozen=True):
    """`is_applied` False: a refresh is running, see `busy`.

    `is_erased` False: `readers` keep old pages alive, or the cluster did not acknowledge, see `copy_fault`.
    """

    record: PurgeRecord
    is_applied: bool
    busy: str = ""
    is_erased: bool = False
    readers: tuple[int, ...] = ()
    copy_fault: str = ""


def host_user() -> str:
    """Who orders, as this machine knows them."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"user {os.getuid()}"
    caller = os.environ.get("SUDO_USER", "")
    return f"{name} (by sudo: {caller[:64]})" if caller.isprintable() and caller else name


async def room_named(config: Config, name: str) -> RoomId:
    """From an id, or from an alias that the index knows."""
    if name.startswith("!"):
        return RoomId(name)
    async with open_store(config.index_file, is_writer=False) as store:
        known = await rooms.aliases(store.connection)
        found = known.get(name, frozenset()) | {
            record.id for record in await rooms.rooms(store.connection) if record.alias == name
        }
    if len(found) != 1:
        problem = "no room of this name is known" if not found else "more than one room has had this name"
        raise QueryError(f"--room {name}: {problem} (give its id, like !abc:example.org; `sources rooms` shows them)")
    return next(iter(found))


async def preview(config: Config, record: PurgeRecord) -> Matched:
    """What is stored now and would go."""
    async with open_store(config.index_file, is_writer=False) as store:
        return await sweeps.matched(store.connection, record.conditions)


async def give(config: Config, credentials: Credentials, record: PurgeRecord) -> Purge:
    """Write the order down, then carry it out if nobody else writes.

    Windows that lose a message are searched by words alone until the next refresh embeds them.
    """
    settings = await _settings(config)
    orders.write(purges_folder(config), record)
    async with AsyncExitStack() as opened:
        try:
            opened.enter_context(write_lock(config.state_dir / "refresh.lock"))
        except BusyError as busy:
            return Purge(record, is_applied=False, busy=str(busy))
        store = await opened.enter_async_context(open_store(config.index_file, is_writer=True))
        made_with = await store.fingerprint() or fingerprint(config, None)
        writer = Writer(store, made_with, Keys(made_with.languages, forms_dir=models_folder(config)).document_keys)
        await apply_purges(writer, settings, time.time_ns() // 1_000_000)
        done = [one for one in await purges.purges(store.connection) if one.identity == record.identity]
        if not done:
            raise StoreError(f"{store.name}: the order was written down and is not known (run `sources verify`)")
        copy = await opened.enter_async_context(open_copy(config, credentials))
        is_built = await store.fingerprint() is not None
        delivered = await copy.deliver(store) if copy is not None and is_built else None
        wiped = await store.wipe()
    fault = "" if delivered is None else delivered.fault or ""
    is_erased = wiped.is_done and not fault
    return Purge(done[0], is_applied=True, is_erased=is_erased, readers=wiped.readers, copy_fault=fault)


async def _settings(config: Config) -> ChatSettings:
    """Those of the configuration, or of rooms that the index still holds of a table that was taken out."""
    folder = purges_folder(config)
    if config.chat is not None:
        return replace(chat_settings(config.chat, config.bot), orders=folder)
    from ingest.chat.absence import absent_settings  # brings all that follows rooms along

    settings = None
    if config.index_file.exists():
        async with open_store(config.index_file, is_writer=False) as store:
            settings = await absent_settings(store, folder)
    if settings is None:
        raise ConfigError("chat-purge: no chat is configured, and the index holds no room (set [chat])")
    return settings


async def given(config: Config) -> list[PurgeRecord]:
    """Every order, the oldest first, with what became of it."""
    found = {record.identity: record for record in orders.read(purges_folder(config))}
    if config.index_file.exists():
        async with open_store(config.index_file, is_writer=False) as store:
            found |= {record.identity: record for record in await purges.purges(store.connection)}
    return sorted(found.values(), key=lambda record: record.ordered_ms)
