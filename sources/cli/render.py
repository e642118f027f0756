"""An answer as a person reads it in a terminal, and as a program reads it in JSON. Pure.

The JSON is a contract: fields are added, never changed or removed; `version` counts the times that could not be kept.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from index.model import Answer, Corpus, Hit, Message, Origin, Snippet
from index.text.passage import passage
from matrix.links import event_link, servers_of
from sources.cli.style import PLAIN, Style, harmless, one_line

VERSION: Final = 1
_INDENT: Final = "   "
_PLACES_SHOWN: Final = 3


def answer_text(answer: Answer, *, style: Style = PLAIN, is_explained: bool = False, zone: tzinfo | None = None) -> str:
    """All hits with their citations, then what the reader should know. Ends without a line end."""
    blocks = [_hit_text(hit, number, style, is_explained, zone) for number, hit in enumerate(answer.hits, 1)]
    if not answer.hits:
        blocks.append("Nothing found.")
    elif not answer.is_certain:
        blocks.insert(0, style.paint("Nothing certain: all of these are weak.", "yellow"))
    tail = [style.paint(f"{answer.more} more; -n shows more of them", "dim")] if answer.more else []
    tail.extend(style.paint(f"note: {one_line(note)}", "yellow") for note in answer.notes)
    if tail:
        blocks.append("\n".join(tail))
    return "\n\n".join(blocks)


def _hit_text(hit: Hit, number: int, style: Style, is_explained: bool, zone: tzinfo | None) -> str:
    weak = style.paint("  (weak)", "yellow") if hit.is_weak else ""
    lines = [f"{style.paint(f'{number}.', 'dim')} {style.paint(one_line(citation(hit, zone=zone)), 'bold')}{weak}"]
    link = permalink(hit)
    if link:
        lines.append(_INDENT + style.paint(link, "cyan"))
    lines.extend(_INDENT + line for line in snippet_text(hit.snippet, style).split("\n"))
    facts = [str(hit.kind), ", ".join(_origin_text(origin) for origin in hit.origins)]
    if hit.also_at:
        facts.append(f"also at {_places_text(hit.also_at)}")
    lines.append(_INDENT + style.paint(one_line(" · ".join(fact for fact in facts if fact)), "dim"))
    if is_explained:
        lines.extend(_INDENT + style.paint(one_line(line), "dim") for line in explanation(hit))
    return "\n".join(lines)


def citation(hit: Hit, *, zone: tzinfo | None = None) -> str:
    """Where it stands: `docs guide/keys.md:12-30 › Keys › Rotation`; in chat room, sender, time of the best message."""
    if hit.corpus is Corpus.CHAT:
        said = best_message(hit)
        place = hit.title if hit.title.startswith(("#", "!")) else f"{hit.title} {hit.room or ''}".strip()
        if said is None:
            return f"{place}, {_when(hit.first_ms, zone)}"
        return f"{place}, {said.sender}, {_when(said.sent_ms, zone)}"
    return passage(hit)


def snippet_text(snippet: Snippet, style: Style) -> str:
    """The snippet, found words emphasised where the output can, an ellipsis where it was cut."""
    text = harmless(snippet.text)
    pieces = ["…" if snippet.cut_left else ""]
    end = 0
    for mark in sorted(snippet.marks, key=lambda mark: mark.start):
        if mark.start < end:
            continue
        pieces += [text[end : mark.start], style.paint(text[mark.start : mark.end], "mark")]
        end = mark.end
    pieces += [text[end:], "…" if snippet.cut_right else ""]
    return "".join(pieces).strip("\n")


def explanation(hit: Hit) -> Iterable[str]:
    """Each ranking's rank and score, then what routing did, then the result."""
    for origin in hit.origins:
        yield f"text {origin.text}: {origin.ranking} rank {origin.rank}, score {origin.score:.4g}"
    for rule, factor in hit.boosts:
        yield f"boost {rule}: ×{factor:g}"
    yield f"score {hit.score:.5f}"


def _places_text(places: Sequence[str]) -> str:
    """The first few, each once: a licence can stand in every repository of a forge. The JSON has all of them."""
    each = list(dict.fromkeys(places))
    rest = len(each) - _PLACES_SHOWN
    return ", ".join(each[:_PLACES_SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")


def _origin_text(origin: Origin) -> str:
    return f"{origin.ranking} #{origin.rank}" + (f" (text {origin.text})" if origin.text > 1 else "")


def best_message(hit: Hit) -> Message | None:
    """The message of a window that answers best, else its first one."""
    if not hit.messages:
        return None
    return hit.messages[hit.best_message or 0]


def permalink(hit: Hit) -> str | None:
    """A link that opens the best message in any Matrix client; None for what is not chat."""
    said = best_message(hit)
    if hit.room is None or said is None:
        return None
    return event_link(hit.room, said.event, servers_of(hit.room, (message.sender for message in hit.messages)))


def _when(time_ms: int | None, zone: tzinfo | None) -> str:
    """Local time unless `zone` says otherwise, to the minute."""
    moment = _moment(time_ms)
    return "unknown time" if moment is None else moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")


def _iso(time_ms: int | None) -> str | None:
    moment = _moment(time_ms)
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(time_ms: int | None) -> datetime | None:
    """None for what no calendar holds: the time of a message is its sender's claim."""
    try:
        return None if time_ms is None else datetime.fromtimestamp(time_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def answer_record(answer: Answer) -> dict[str, object]:
    """What `sources search --json` gives, and the MCP server too."""
    return {
        "version": VERSION,
        "certain": answer.is_certain,
        "more": answer.more,
        "notes": list(answer.notes),
        "hits": [hit_record(hit, rank) for rank, hit in enumerate(answer.hits, 1)],
    }


def hit_record(hit: Hit, rank: int) -> dict[str, object]:
    """Times are given twice: in milliseconds, and in ISO 8601, UTC. Spans count code points."""
    return {
        "rank": rank,
        "ref": str(hit.chunk),
        "citation": citation(hit, zone=UTC),
        "permalink": permalink(hit),
        "corpus": str(hit.corpus),
        "kind": str(hit.kind),
        "source": hit.source,
        "document": hit.document,
        "revision": hit.revision,
        "title": hit.title,
        "path": hit.path,
        "lines": list(hit.lines) if hit.lines else None,
        "heading": list(hit.heading),
        "section": hit.section,
        "paragraph": hit.paragraph,
        "room": hit.room,
        "messages": [
            {"event": said.event, "sender": said.sender, "sent": _iso(said.sent_ms), "sent_ms": said.sent_ms}
            for said in hit.messages
        ],
        "best_message": hit.best_message,
        "first_ms": hit.first_ms,
        "last_ms": hit.last_ms,
        "first": _iso(hit.first_ms),
        "last": _iso(hit.last_ms),
        "snippet": {
            "text": hit.snippet.text,
            "marks": [[mark.start, mark.end] for mark in hit.snippet.marks],
            "cut_left": hit.snippet.cut_left,
            "cut_right": hit.snippet.cut_right,
        },
        "weak": hit.is_weak,
        "score": hit.score,
        "origins": [
            {"ranking": origin.ranking, "text": origin.text, "rank": origin.rank, "score": origin.score}
            for origin in hit.origins
        ],
        "boosts": [{"rule": rule, "factor": factor} for rule, factor in hit.boosts],
        "payload": {key: value if isinstance(value, str) else list(value) for key, value in hit.payload.items()},
        "also_at": list(hit.also_at),
    }
