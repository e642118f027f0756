"""Orders to forget, as files: one each, written before anything else is done, and kept for good.

The index can be deleted and built again, and an order must outlive that; and while a refresh holds the write lock, an
order can still be given. So the folder is what counts, and the index knows of each order whether it was carried out.
A file holds ids, times, the name of who ordered it and a reason, never a text of a message.
"""

import os
import secrets
from pathlib import Path
from typing import Final

import msgspec

from index.errors import StoreError
from index.model import EventId, RoomId, UserId
from index.store import purges
from index.store.purges import PurgeRecord
from index.store.remedies import remedy_of_system
from index.store.store import Store

_END: Final = ".json"


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """See `PurgeRecord`."""

    ordered_ms: int
    ordered_by: str
    room: str | None = None
    event: str | None = None
    sender: str | None = None
    after_ms: int | None = None
    before_ms: int | None = None
    reason: str = ""
    takes_replies: bool = False


def write(folder: Path, record: PurgeRecord) -> None:
    """When this returns, the order is on the disk under its name."""
    order = Order(
        ordered_ms=record.ordered_ms,
        ordered_by=record.ordered_by,
        room=record.room,
        event=record.event,
        sender=record.sender,
        after_ms=record.after_ms,
        before_ms=record.before_ms,
        reason=record.reason,
        takes_replies=record.takes_replies,
    )
    name = f"{record.ordered_ms}-{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".{name}"
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(order), indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(folder / f"{name}{_END}")
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        means = remedy_of_system(error)
        raise StoreError(f"{folder.name}: the order cannot be written: {error.strerror} ({means})") from error


def read(folder: Path) -> list[PurgeRecord]:
    """All orders, the oldest first; none without a folder. `StoreError` names a file that cannot be read."""
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == _END) if folder.is_dir() else []
        found = [_record(file) for file in files]
    except OSError as error:
        means = remedy_of_system(error)
        raise StoreError(f"{folder.name}: orders cannot be read: {error.strerror} ({means})") from error
    return sorted(found, key=lambda record: record.ordered_ms)


def _record(file: Path) -> PurgeRecord:
    try:
        order = msgspec.json.decode(file.read_bytes(), type=Order)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        where = f"{file.parent.name}/{file.name}"
        raise StoreError(f"{where}: not an order to forget: {error} (give it again, then remove the file)") from error
    return PurgeRecord(
        room=None if order.room is None else RoomId(order.room),
        event=None if order.event is None else EventId(order.event),
        sender=None if order.sender is None else UserId(order.sender),
        after_ms=order.after_ms,
        before_ms=order.before_ms,
        ordered_ms=order.ordered_ms,
        ordered_by=order.ordered_by,
        reason=order.reason,
        takes_replies=order.takes_replies,
    )


async def take_in(store: Store, folder: Path) -> int:
    """Make the index know every order; returns how many it did not know. Inside a transaction."""
    known = {record.identity for record in await purges.purges(store.connection)}
    new = [record for record in read(folder) if record.identity not in known]
    for record in new:
        await purges.add(store.connection, record)
    return len(new)
