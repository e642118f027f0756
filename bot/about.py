"""`about`: what members of a room should know of what is kept of it, and who may see it."""

from bot.audience import Listener
from bot.inline import Piece
from bot.library import Library, RoomEntry
from bot.places import Places
from bot.render import day, lines
from index.model import RoomId
from index.store.rooms import REFUSED, SUSPENDED
from index.wording import counted

_DAY_MS = 86_400_000


async def tell(room: RoomId, listener: Listener, places: Places, library: Library) -> list[Piece]:
    settings = places.settings
    contact = f"Who runs this: {settings.contact}." if settings.contact else ""
    if listener.is_direct:
        told = [
            "Here you find what you may read yourself: rooms that you are in now, as far as they are indexed.",
            "What is said in this chat is not indexed.",
        ]
    else:
        entry = await library.room(room)
        told = [_indexed(entry), *(_kept(entry) if entry.is_indexed else []), _seen_from(room, listener, places)]
        told.append("To withdraw a message, delete it: it is not shown from then on, and erased at the next refresh.")
    return lines(*(line for line in (*told, contact) if line))


def _indexed(entry: RoomEntry) -> str:
    if entry.is_indexed and not entry.is_hidden:
        return f"This room is indexed; its oldest message there is of {day(entry.first_ms)}."
    if entry.record is None:
        return "This room is not indexed: whoever reads for the index was not admitted to it."
    if entry.record.outcome == REFUSED:
        return "This room is not indexed: rooms of its kind, or with its settings, are not read."
    if entry.is_hidden or entry.record.outcome == SUSPENDED:
        return "This room is not searched at present: it was left by the account that reads, or waits for a decision."
    return "This room is going to be indexed; nothing of it is yet."


def _kept(entry: RoomEntry) -> list[str]:
    life = entry.record.lifetime_ms if entry.record else None
    span = "as long as they stand in the room"
    if life is not None:
        span = f"for {counted(max(1, life // _DAY_MS), 'day')} at most"
    return [f"Kept: the words of messages, {span}, without passwords and keys, and without what is under a spoiler."]


def _seen_from(room: RoomId, listener: Listener, places: Places) -> str:
    seers = ["here"] if listener.sees.here or room in listener.listed else []
    seers += places.seen_from(room)
    if any(permitted.sees.public_rooms for permitted in places.settings.rooms):
        seers.append("where public rooms are shown, while this one is public")
    if places.settings.direct is not None and places.settings.direct.joined:
        seers.append("by its members, in a direct chat with me")
    return f"Its messages can be found: {'; '.join(seers)}." if seers else "Its messages cannot be found through me."
