"""A room that was renamed: its documents get the new name, and the old one is in the index no more.

In slices that remember how far they came, since a room can have very many documents. Nothing is embedded again.
"""

from typing import Final

from index.model import RoomId
from index.store import rooms as room_store
from index.store import sweeps
from index.store.store import Store
from ingest.chat.run import Run
from ingest.chat.storing import render

_PREFIX: Final = "chat.renamed "
_AT_ONCE: Final = 200


async def mark_renamed(store: Store, room: RoomId) -> None:
    """Inside the transaction that stores the new name."""
    await store.set_value(f"{_PREFIX}{room}", "0")


async def rename_documents(run: Run) -> None:
    """Finish what `mark_renamed` began, in this run or an earlier one."""
    for name, place in (await room_store.marks(run.writer.store.connection, _PREFIX)).items():
        room = run.rooms.get(RoomId(name.removeprefix(_PREFIX)))
        if room is not None and room.record.is_admitted:
            await _rename(run, room.id, int(place))
        async with run.writer.transaction() as store:
            await room_store.drop_mark(store.connection, name)


async def _rename(run: Run, room_id: RoomId, place: int) -> None:
    room = run.rooms[room_id]
    connection = run.writer.store.connection
    key = await room_store.room_key(connection, room_id)
    while key is not None and (windows := await sweeps.windows_after(connection, room_id, place, limit=_AT_ONCE)):
        place = windows[-1][0]
        async with run.batch(room) as batch:
            for _, window in windows:
                await render(batch, run.shelf(room), key, window)
            await batch.store.set_value(f"{_PREFIX}{room_id}", str(place))
