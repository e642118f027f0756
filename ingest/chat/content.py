"""The words of a message, from every form that clients send them in.

Pure. The input is a `content` object (or an `m.new_content`) that nobody has checked: each step looks at the
type before it reads. A message has text if `body` is a string, whatever else is malformed; the extensible forms
are a fallback for a missing `body`, except in polls, whose words stand only there.

Two choices made here:

- Text under a spoiler is not indexed at all. Its place is held by `‹spoiler›`, since a ranking that knows
  the covered words would tell them (search for the name of the murderer, get the hit). The text is then taken from
  `formatted_body`, for `body` usually holds the covered words in the clear.
- A caption is followed by the file's name in brackets; a name without a caption stands in brackets alone.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ingest.chat.formatted import MAX_LINKS, NOTHING_FORMATTED, SPOILER, Formatted, read_formatted

Scrub = Callable[[str], str]

MAX_TEXT_BYTES: Final = 60_000
"""What is kept of one message. An event holds at most 65,536 bytes by the specification."""
MAX_READ_CHARS: Final = 262_144
"""What is looked at before scrubbing; only a server that ignores the event limit sends more."""
CUT_MARK: Final = " [… cut]"

MESSAGE_TYPES: Final = frozenset(
    {
        "m.room.message",
        "m.message",
        "m.emote",
        "m.notice",
        "m.image",
        "m.file",
        "m.audio",
        "m.video",
        "m.voice",
        "m.location",
        "org.matrix.msc1767.message",
    }
)
POLL_TYPES: Final = frozenset({"m.poll.start", "org.matrix.msc3381.poll.start"})
TEXT_TYPES: Final = MESSAGE_TYPES | POLL_TYPES
_MEDIA: Final = frozenset({"m.image", "m.file", "m.audio", "m.video", "m.voice"})
_WORDLESS: Final = frozenset({"m.key.verification.request", "m.server_notice", "m.bad.encrypted"})
_POLL_KEYS: Final = ("m.poll", "org.matrix.msc3381.poll.start", "m.poll.start")

_UNWRITABLE: Final = re.compile("[\0\ud800-\udfff]")
_LINK: Final = re.compile(r"\bhttps?://[^\s<>\"'`\]]+|\bwww\.[^\s<>\"'`\]]+\.[^\s<>\"'`\]]+", re.IGNORECASE)
_FALLBACK_HEAD: Final = re.compile(r"> (?:\* )?<@[^>\n]*>")
_QUOTE: Final = re.compile(r"^[^\S\n]*>.*(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Content:
    """What one message, or one revision of it, says. `text` is scrubbed; empty means that there is nothing to index."""

    text: str
    links: tuple[str, ...] = ()  # scrubbed, without blanks, at most `MAX_LINKS`
    is_notice: bool = False
    is_emote: bool = False
    has_spoiler: bool = False
    was_cut: bool = False

    @property
    def has_link(self) -> bool:
        return bool(self.links)


SILENCE: Final = Content("")


def read_content(event_type: str, content: Mapping[str, object], *, is_reply: bool | None, scrub: Scrub) -> Content:
    """`is_reply` is None for the new content of an edit, where the relation belongs to the original.

    A reply's fallback is cut off only where two signs agree, because a quote of the writer's own looks alike. In an
    edit one sign is enough: it may come before its original, and must not hold what the one it answers said.
    """
    form = _form(event_type, content)
    if form in _WORDLESS:
        return SILENCE
    formatted = _formatted(content)
    raw = _poll(content) if event_type in POLL_TYPES else _words(content, form, formatted, is_reply=is_reply)
    text, was_cut = cap(scrub(tidy(raw)).strip())
    links = [link.rstrip(".,;:!?)") for link in _LINK.findall(text)]
    links += ["".join(scrub(tidy(link)).split()) for link in formatted.links]
    return Content(
        text=text,
        links=tuple(dict.fromkeys(links))[:MAX_LINKS],
        is_notice=form == "m.notice",
        is_emote=form == "m.emote",
        has_spoiler=formatted.has_spoiler,
        was_cut=was_cut,
    )


def tidy(text: str) -> str:
    """NUL and lone surrogates become U+FFFD, line ends one newline, and the whole NFC: safe to store and to match."""
    text = _UNWRITABLE.sub("\ufffd", text[:MAX_READ_CHARS])
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def cap(text: str, limit_bytes: int = MAX_TEXT_BYTES) -> tuple[str, bool]:
    """At most `limit_bytes` of UTF-8, cut at a blank where one is near, with the cut marked in the text."""
    if len(text) * 4 <= limit_bytes or len(text.encode()) <= limit_bytes:
        return text, False
    room = limit_bytes - len(CUT_MARK.encode())
    kept = text.encode()[:room].decode(errors="ignore")
    border = max(kept.rfind(" ", len(kept) - 200), kept.rfind("\n", len(kept) - 200))
    return (kept[:border] if border > 0 else kept) + CUT_MARK, True


def without_fallback(body: str) -> str:
    """`body` without its leading `> ` lines and the blank line that ends them."""
    lines = body.split("\n")
    first_own = next((n for n, line in enumerate(lines) if not (line.startswith("> ") or line == ">")), len(lines))
    if 0 < first_own < len(lines) and not lines[first_own].strip():
        first_own += 1
    return "\n".join(lines[first_own:])


def without_quotes(content: Content) -> Content:
    """`content` without any line that begins with `>`, and without links that stood only there."""
    text = _QUOTE.sub("", content.text).strip()
    if text == content.text:
        return content
    return replace(content, text=text, links=tuple(link for link in content.links if link in text))


def _form(event_type: str, content: Mapping[str, object]) -> str:
    msgtype = content.get("msgtype")
    if event_type == "m.room.message":
        return msgtype if isinstance(msgtype, str) else "m.text"
    return event_type


def _formatted(content: Mapping[str, object]) -> Formatted:
    html = content.get("formatted_body")
    return read_formatted(html[:MAX_READ_CHARS]) if isinstance(html, str) else NOTHING_FORMATTED


def _words(content: Mapping[str, object], form: str, formatted: Formatted, *, is_reply: bool | None) -> str:
    body = content.get("body")
    if not isinstance(body, str):
        body = extensible_text(content)
    if _has_fallback(body, formatted, is_reply=is_reply):
        body = without_fallback(body)
    file_name = content.get("filename")
    name = file_name if isinstance(file_name, str) else ""
    # Where an answer quotes in its markup alone, or marks the first line only, the quotation would be lost in the rest.
    hides_quote = is_reply is not False and formatted.has_quote and _quoted_words(formatted.text) > _quoted_words(body)
    text = formatted.text if formatted.has_spoiler or hides_quote else body
    if form in _MEDIA or name:
        return _media_words(body, name, text)
    return text


def _quoted_words(text: str) -> int:
    return sum(len(line.replace(">", " ").split()) for line in _QUOTE.findall(text))


def _has_fallback(body: str, formatted: Formatted, *, is_reply: bool | None) -> bool:
    looks_quoted = _FALLBACK_HEAD.match(body) is not None
    return is_reply is not False and (looks_quoted or formatted.has_reply_fallback)


def _media_words(body: str, file_name: str, caption: str) -> str:
    if not file_name or file_name == body:
        return f"[{body}]" if body else ""
    return f"{caption} [{file_name}]".lstrip()


def extensible_text(node: Mapping[str, object]) -> str:
    """The plain words of an extensible block: `m.text`, or its unstable names; HTML only where nothing else is."""
    for key in ("m.text", "org.matrix.msc1767.text", "org.matrix.msc1767.message", "m.message"):
        value = node.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            found = _representation(value)
            if found:
                return found
    return ""


def _representation(values: list[object]) -> str:
    html = ""
    for value in values:
        if isinstance(value, str):
            return value
        if not isinstance(value, Mapping) or not isinstance(body := value.get("body"), str):
            continue
        kind = value.get("mimetype", "text/plain")
        if kind == "text/plain":
            return body
        if kind == "text/html" and not html:
            html = read_formatted(body[:MAX_READ_CHARS]).text
    return html


def _poll(content: Mapping[str, object]) -> str:
    for key in _POLL_KEYS:
        poll = content.get(key)
        if not isinstance(poll, Mapping):
            continue
        answers = poll.get("answers")
        options = [_label(answer) for answer in answers] if isinstance(answers, list) else []
        lines = [_label(poll.get("question")), *(f"- {option}" for option in options if option)]
        if any(lines):
            return "\n".join(line for line in lines if line)
    body = content.get("body")
    return extensible_text(content) or (body if isinstance(body, str) else "")


def _label(node: object) -> str:
    if isinstance(node, str):
        return node
    if not isinstance(node, Mapping):
        return ""
    body = node.get("body")
    return extensible_text(node) or (body if isinstance(body, str) else "")


__all__ = [
    "CUT_MARK",
    "MAX_TEXT_BYTES",
    "SILENCE",
    "SPOILER",
    "TEXT_TYPES",
    "Content",
    "Scrub",
    "cap",
    "extensible_text",
    "read_content",
    "tidy",
    "without_fallback",
    "without_quotes",
]
