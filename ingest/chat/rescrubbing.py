"""After the scrubber has learned something: what is stored is scrubbed again in place, without asking the homeserver.

Scrubbing what was scrubbed changes nothing but what was missed. In steps that remember how far they came.
"""

from json import dumps
from typing import Final

from index.model import EventId, RoomId
from index.store import rooms as room_store
from index.store import sweeps
from ingest.chat.content import Scrub
from ingest.chat.rendering import source_id
from ingest.chat.room import room_of, tidied
from ingest.chat.settings import ChatSettings
from ingest.chat.storing import render
from ingest.writing import Writer

_VERSION: Final = "chat.scrubber"
_PLACE: Final = "chat.scrubbed_to"
_AT_ONCE: Final = 500


async def scrub_again(writer: Writer, settings: ChatSettings, scrub: Scrub, now_ms: int) -> int:
    """Returns how many stored texts changed; does nothing when they were made by this scrubber."""
    store = writer.store
    version = str(writer.fingerprint.scrubber)
    if await store.value(_VERSION) == version:
        return 0
    changed = 0
    place = int(await store.value(_PLACE) or 0)
    while texts := await sweeps.texts_after(store.connection, place, limit=_AT_ONCE):
        stale: dict[RoomId, set[EventId]] = {}
        replaced = []
        for text in texts:
            clean, links = scrub(text.text), tuple("".join(scrub(link).split()) for link in text.links)
            if (clean, links) != (text.text, text.links):
                replaced.append((text.key, clean, dumps(links, ensure_ascii=False) if links else None))
                if text.window is not None:
                    stale.setdefault(text.room, set()).add(text.window)
        place = texts[-1].key
        async with writer.transaction() as opened:
            for key, clean_text, links_json in replaced:
                await sweeps.replace_text(opened.connection, key, clean_text, links_json)
        for room_id, windows in stale.items():
            await _render(writer, settings, room_id, windows, now_ms)
        async with writer.transaction() as opened:
            await opened.set_value(_PLACE, str(place))
        changed += len(replaced)
    async with writer.transaction() as opened:
        for record in await room_store.rooms(opened.connection):
            room = room_of(record)
            if (facts := tidied(room.facts, scrub)) != room.facts:
                await room_store.save_room(opened.connection, room.knowing(facts).record)
        await opened.set_value(_VERSION, version)
        await opened.set_value(_PLACE, "0")
    return changed


async def _render(writer: Writer, settings: ChatSettings, room: RoomId, windows: set[EventId], now_ms: int) -> None:
    record = await room_store.room(writer.store.connection, room)
    key = await room_store.room_key(writer.store.connection, room)
    if record is None or key is None:
        return
    shelf = room_of(record).shelf(settings, (), now_ms)
    async with writer.batch(source_id(room), label=record.label, is_public=record.is_public) as batch:
        for window in sorted(windows):
            await render(batch, shelf, key, window)
