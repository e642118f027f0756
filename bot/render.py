"""What the bot says, as the content of one event: notices that mention nobody, plain and formatted alike.

Pure. The one place that turns an error into what a person in a room reads: a remedy, never a path.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from bot.inline import END, Link, Piece, Words, formatted, harmless, harmless_snippet, plain, snippet_words
from index.errors import MatrixError, QueryError, SourcesError
from index.model import EventId, Snippet
from index.wording import counted
from matrix.shape import JsonObject

MAX_CONTENT_BYTES: Final = 24_000
"""Of the whole content: an event may hold 64 KiB with all that servers add, and nobody reads more in a room."""

NOTHING_FOUND: Final = "Nothing found."
_OPERATORS: Final = (
    '"exact phrase"  -word  from:@alice:example.org  in:#room:example.org  repo:name  kind:readme  section:NAME'
    "  tag:name  area:name  confidence:high  before:2026-11-01  after:7d  has:link  corpus:chat"
)


@dataclass(frozen=True, slots=True)
class Line:
    """What one person said, or a passage of a file (`speaker` empty)."""

    speaker: str
    words: Snippet


@dataclass(frozen=True, slots=True)
class Shown:
    """One hit as it is shown. `place` says who, when and where."""

    place: str
    link: str | None
    lines: tuple[Line, ...]
    is_weak: bool = False
    is_withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class Results:
    """A page of an answer. `first` is the number of its first hit, `notes` what the reader should know."""

    shown: tuple[Shown, ...]
    first: int = 1
    more: int = 0
    is_certain: bool = True
    notes: tuple[str, ...] = ()


def results(page: Results, *, prefix: str) -> list[Piece]:
    if not page.shown:
        text = NOTHING_FOUND if page.first == 1 else "There is nothing more."
        return _lines([text, *page.notes])
    pieces: list[Piece] = []
    if not page.is_certain:
        pieces += [Words("Nothing certain; these are weak hits."), END, END]
    for number, shown in enumerate(page.shown, page.first):
        pieces += [*_hit(number, shown), END]
    if page.more:
        pieces.append(Words(f"{page.more} more: {prefix} more, or react with ▶."))
        pieces.append(END)
    pieces += _lines(page.notes)
    while pieces and pieces[-1] == END:
        pieces.pop()
    return pieces


def _hit(number: int, shown: Shown) -> list[Piece]:
    if shown.is_withdrawn:
        return [Words(f"{number}. (withdrawn: its source is gone)"), END]
    pieces: list[Piece] = [Words(f"{number}. {harmless(shown.place)}" + (" (weak)" if shown.is_weak else ""))]
    if shown.link:
        pieces += [Words(" · "), Link("open", shown.link)]
    pieces.append(END)
    for line in shown.lines:
        if line.speaker:
            pieces.append(Words(f"{harmless(line.speaker)}: "))
        pieces += [*snippet_words(harmless_snippet(line.words)), END]
    return pieces


def fitting(page: Results, *, prefix: str) -> Results:
    """With as many hits as one event can carry; the others are counted among `more`."""
    while len(page.shown) > 1 and _size_bytes(results(page, prefix=prefix)) > MAX_CONTENT_BYTES:
        page = replace(page, shown=page.shown[:-1], more=page.more + 1)
    return page


def _size_bytes(pieces: Sequence[Piece]) -> int:
    return len(json.dumps(notice(pieces), ensure_ascii=False).encode())


def notice(pieces: Sequence[Piece]) -> JsonObject:
    """The content of a message that mentions nobody."""
    return {
        "msgtype": "m.notice",
        "body": plain(pieces),
        "format": "org.matrix.custom.html",
        "formatted_body": formatted(pieces),
        "m.mentions": {},
    }


def replying(content: JsonObject, *, to: EventId, thread: EventId | None) -> JsonObject:
    """In the asker's thread, or as a reply."""
    reply: JsonObject = {"m.in_reply_to": {"event_id": to}}
    if thread is None:
        return {**content, "m.relates_to": reply}
    return {**content, "m.relates_to": {"rel_type": "m.thread", "event_id": thread, "is_falling_back": True, **reply}}


def lines(*texts: str) -> list[Piece]:
    """Our own words, one text a line."""
    return _lines(texts)


def _lines(texts: Sequence[str]) -> list[Piece]:
    pieces: list[Piece] = []
    for text in texts:
        pieces += [END] * bool(pieces) + [Words(harmless(text))]
    return pieces


def usage(prefix: str, fault: str = "") -> list[Piece]:
    """One short line about wrong use."""
    start = f"{fault[:1].upper()}{fault[1:]}. " if fault else ""
    return lines(f"{start}Write {prefix} and what to look for; {prefix} help says more.")


def help_text(prefix: str) -> list[Piece]:
    return lines(
        f"{prefix} words: finds what was said and written, as far as this room may see it.",
        f"Narrow it with: {_OPERATORS}. Such alone list what is newest.",
        f"{prefix} more, or the reaction ▶ on an answer: the next page. {prefix} about: what is kept of this room.",
    )


def busy(prefix: str, most: int) -> list[Piece]:
    """The one polite note about a budget."""
    often = counted(most, "time")
    return lines(f"That was a lot: I answer up to {often} a minute. Wait a little, then ask {prefix} again.")


def remedy(error: SourcesError, prefix: str) -> list[Piece]:
    """What somebody in a room can do about an error. Its message is for the host, but for a question's own faults."""
    if isinstance(error, QueryError):
        return usage(prefix, str(error).removeprefix("text: "))
    if isinstance(error, MatrixError):
        return lines("I cannot check now what may be shown, so I show nothing. Ask again in a minute.")
    return lines("The index cannot be used now. Ask again later; if it stays so, tell whoever runs this bot.")


def too_slow() -> list[Piece]:
    return lines("That took too long. Ask again, or with fewer words.")


def nothing_to_continue(prefix: str) -> list[Piece]:
    return lines(f"There is no answer of yours to go on with. Write {prefix} and what to look for.")


def day(time_ms: int | None) -> str:
    """A moment to the minute, UTC; its sender may have claimed anything."""
    try:
        moment = None if time_ms is None else datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        moment = None
    return "unknown time" if moment is None else moment.strftime("%Y-%m-%d %H:%M UTC")
