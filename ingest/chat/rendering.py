"""A window as text: what is indexed, embedded and shown of it, and the document made of that.

Pure. One message is one line, `name: words`, or `* name words` for an emote. The name is the localpart, so that a
question that names somebody finds them; full ids and times stand in `Message` records, where they cannot weigh on
the ranking (measured: docs/chat-windows.md). Further lines of a message are indented: nobody can write
a line that looks like somebody else's message.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from index.model import (
    OVERSIZE,
    Chunk,
    Corpus,
    Document,
    DocumentId,
    EventId,
    Kind,
    Message,
    RoomId,
    SourceId,
    Span,
    UserId,
    chunk_id,
)
from index.text.parts import DEFAULT_PART_BYTES, cut_parts

Lane = EventId | None
"""None is a room's main timeline, else the root of a thread. The root itself stands in the main timeline."""
MAIN: Final[Lane] = None

MAX_NAME_CHARS: Final = 40
MAX_CHUNK_BYTES: Final = 64_000
"""Of a chunk with more than one message: a ranking reads hundreds of chunks at once. One message has at most 60,000."""
_INDENT: Final = "\n  "
_LINE_ENDS: Final = re.compile("[\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNFIT_FOR_A_NAME: Final = re.compile("[\\s\0-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff:]+")


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message as a window sees it: the words that count now."""

    event: EventId
    sender: UserId
    sent_ms: int
    text: str  # not empty
    lane: Lane = MAIN
    has_doubtful_time: bool = False  # `sent_ms` had to be clamped
    is_emote: bool = False
    has_link: bool = False
    was_cut: bool = False


@dataclass(frozen=True, slots=True)
class Rendered:
    text: str
    messages: tuple[Message, ...]  # spans cover the words without the name
    parts: tuple[Span, ...]  # whole messages grouped to vector units; they follow each other and cover the text


def render(messages: Sequence[Utterance], part_bytes: int = DEFAULT_PART_BYTES) -> Rendered:
    """`messages` in server order; none gives an empty text."""
    pieces: list[str] = []
    records: list[Message] = []
    starts: list[int] = []
    at = 0
    for message in messages:
        head, words = _line(message)
        starts.append(at)
        span = Span(at + len(head), at + len(head) + len(words))
        records.append(Message(message.event, message.sender, message.sent_ms, span))
        pieces.append(head + words)
        at = span.end + 1
    text = "\n".join(pieces)
    return Rendered(text, tuple(records), _parts(text, starts, part_bytes))


def size_bytes(message: Utterance) -> int:
    """What `message` adds to the text of its window, in UTF-8, its line end included."""
    return sum(len(piece.encode()) for piece in _line(message)) + 1


def display_name(user: UserId) -> str:
    """The localpart, on one line, without characters that could pass for the layout around it."""
    localpart = user.removeprefix("@").split(":", 1)[0]
    return _UNFIT_FOR_A_NAME.sub("_", localpart)[:MAX_NAME_CHARS] or "_"


def window_document(
    room: RoomId, title: str, window: EventId, messages: Sequence[Utterance], *, max_bytes: int
) -> Document | None:
    """The document of one window; None when nothing is left in it, which buries the document `window_id(room, window)`.

    It has one chunk, or as many as it takes that none is larger than `MAX_CHUNK_BYTES`.

    `revision` covers words, senders and times, not the title: a renamed room does not make every window new.
    """
    if not messages:
        return None
    document = window_id(room, window)
    sizes = [size_bytes(message) for message in messages]
    is_oversize = sum(sizes) > max_bytes + 1  # the last line has no end
    revision = blake2b(digest_size=12)
    chunks: list[Chunk] = []
    for group in _groups(messages, sizes):
        rendered = render(group)
        was_cut = any(message.was_cut for message in group)
        chunks.append(
            Chunk(
                id=chunk_id(document, group[0].event if chunks else "window"),
                ordinal=len(chunks),
                text=rendered.text,
                parts=rendered.parts,
                messages=rendered.messages,
                flags=(OVERSIZE,) * is_oversize + ("cut",) * was_cut,
            )
        )
        _revise(revision, rendered)
    return Document(
        id=document,
        source=source_id(room),
        corpus=Corpus.CHAT,
        kind=Kind.WINDOW,
        title=title,
        revision=revision.hexdigest(),
        chunks=tuple(chunks),
        room=room,
        first_ms=min(message.sent_ms for message in messages),
        last_ms=max(message.sent_ms for message in messages),
        has_link=any(message.has_link for message in messages),
    )


def source_id(room: RoomId) -> SourceId:
    return SourceId(f"chat:{room}")


def window_id(room: RoomId, window: EventId) -> DocumentId:
    return DocumentId(f"{source_id(room)} {window}")


def _line(message: Utterance) -> tuple[str, str]:
    name = display_name(message.sender)
    return (f"* {name} " if message.is_emote else f"{name}: "), _LINE_ENDS.sub(_INDENT, message.text)


def _parts(text: str, starts: Sequence[int], part_bytes: int) -> tuple[Span, ...]:
    """Borders fall between messages where they can; only a message much longer than a part is cut."""
    borders = [*starts, len(text)]
    spans: list[Span] = []
    first = 0  # where the part that is being filled begins
    filled = 0
    for start, end in zip(starts, borders[1:], strict=True):
        size = len(text[start:end].encode())
        if filled and filled + size > part_bytes:
            spans.append(Span(first, start))
            first, filled = start, 0
        filled += size
    if text:
        spans.append(Span(first, len(text)))
    return tuple(piece for span in spans for piece in _cut_long(text, span, part_bytes))


def _cut_long(text: str, span: Span, part_bytes: int) -> tuple[Span, ...]:
    piece = text[span.start : span.end]
    if len(piece.encode()) <= 2 * part_bytes:
        return (span,)
    return tuple(Span(span.start + cut.start, span.start + cut.end) for cut in cut_parts(piece, part_bytes))


def _groups(messages: Sequence[Utterance], sizes: Sequence[int]) -> list[list[Utterance]]:
    """Neighbours that share a chunk: nearly always all of them, since only later edits make a window very large."""
    groups: list[list[Utterance]] = [[]]
    filled = 0
    for message, size in zip(messages, sizes, strict=True):
        if groups[-1] and filled + size > MAX_CHUNK_BYTES:
            groups.append([])
            filled = 0
        groups[-1].append(message)
        filled += size
    return groups


def _revise(revision: "blake2b", rendered: Rendered) -> None:
    revision.update(rendered.text.encode())
    for message in rendered.messages:
        revision.update(f"\0{message.event}\0{message.sender}\0{message.sent_ms}\0{message.span.start}".encode())
