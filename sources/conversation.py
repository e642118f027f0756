"""A passage of chat read afresh: the messages of a window as the homeserver has them now.

What was withdrawn since is not shown; what was edited shows its newest valid revision. Every text passes the scrubber.
"""

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from index.errors import ConfigError, QueryError
from index.model import EventId, Message, RoomId, UserId
from index.store.reading import StoredChunk
from index.wording import counted
from ingest.chat.content import without_quotes
from ingest.chat.events import Edited, Said, as_mapping, extract
from ingest.scrub import scrub
from matrix.errors import RefusedError
from matrix.shape import RawEvent
from sources.config.model import Config
from sources.credentials import Credentials

if TYPE_CHECKING:
    from matrix.reading import RoomReader

_NEWEST_VERSION: Final = "12"


class Line(Struct, frozen=True):
    event: EventId
    sender: UserId
    sent_ms: int
    text: str | None  # None: withdrawn, or not to be had


class Conversation(Struct, frozen=True):
    """`lines` in the order of the window; `notes` say what is missing."""

    room: RoomId
    title: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


async def conversation(config: Config, credentials: Credentials, stored: StoredChunk) -> Conversation:
    """CredentialError and MatrixError as they come: without the homeserver nothing of chat is shown."""
    if config.chat is None or stored.room is None:
        raise ConfigError("sources.toml: there is no [chat], so its messages cannot be read afresh (configure it)")
    from ingest.chat.reader import open_reader
    from sources.config.chat import chat_settings, reader_token

    settings = chat_settings(config.chat, config.bot)
    async with open_reader(settings, reader_token(credentials)) as reader:
        if stored.room not in await reader.joined_rooms():
            raise QueryError(f"reference: the reader is not in {stored.room} any more (it goes with the next refresh)")
        lines = [await _line(reader, stored.room, message, stored.chunk.text) for message in stored.chunk.messages]
    missing = sum(line.text is None for line in lines)
    notes = (
        (f"{counted(missing, 'of its messages was', 'of its messages were')} withdrawn or cannot be had",)
        if missing
        else ()
    )
    return Conversation(stored.room, stored.title, tuple(lines), notes)


async def _line(reader: "RoomReader", room: RoomId, message: Message, window: str) -> Line:
    try:
        raw = await reader.event(room, message.event, is_patient=False)
    except RefusedError:
        raw = None
    stored = window[message.span.start : message.span.end]
    return Line(
        message.event, message.sender, message.sent_ms, None if raw is None else newest_words(raw, room, stored)
    )


def newest_words(raw: RawEvent, room: RoomId, stored: str) -> str | None:
    """Of a message with its edits; `stored` is what the index has of it.

    Of a reply that the index has otherwise, quotations are left out: an order to forget may have cut them off, and an
    edit since then would bring them back.
    """
    said = extract(raw, room=room, version=_NEWEST_VERSION, scrub=scrub)
    if not isinstance(said, Said):
        return None
    bundled = as_mapping(as_mapping(as_mapping(raw.get("unsigned")).get("m.relations")).get("m.replace"))
    edit = extract(bundled, room=room, version=_NEWEST_VERSION, scrub=scrub)
    is_valid = isinstance(edit, Edited) and (edit.sender, edit.type, edit.target) == (
        said.sender,
        said.type,
        said.event,
    )
    content = edit.content if is_valid and isinstance(edit, Edited) else said.content
    if said.reply_to is not None and content.text.split() != stored.split():
        content = without_quotes(content)
    return content.text
