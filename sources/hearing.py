"""What an event says now, for whoever quotes it: by the rules of ingest, so that both read alike."""

from bot.checking import Heard
from index.model import RoomId
from ingest.chat.content import without_quotes
from ingest.chat.events import Edited, Said, extract
from ingest.scrub import scrub
from matrix.shape import RawEvent, object_at


def hear(room: RoomId, raw: RawEvent) -> Heard | None:
    """The original with its newest valid edit, which the homeserver bundles with it; scrubbed, spoilers covered.

    An answer is heard without what it quotes: that may have been withdrawn, or purged, where it was said.
    """
    said = extract(raw, room=room, version="", scrub=scrub)
    if not isinstance(said, Said):
        return None
    content, edit = said.content, None
    bundled = object_at(raw, "unsigned", "m.relations", "m.replace")
    if bundled and not said.has_state_key:
        edited = extract(bundled, room=room, version="", scrub=scrub)
        is_valid = isinstance(edited, Edited) and (edited.target, edited.sender, edited.type) == (
            said.event,
            said.sender,
            said.type,
        )
        if isinstance(edited, Edited) and is_valid:
            content, edit = edited.content, edited.event
    whole = content.text
    if said.reply_to is not None:
        content = without_quotes(content)
    return Heard(said.sender, said.claimed_ms, content.text, edit, whole) if content.text else None
