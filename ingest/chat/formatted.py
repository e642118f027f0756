"""What `formatted_body` is read for: a leading reply fallback, spoilers, quotations, and the targets of links.

Pure. The HTML is written by strangers: it may be cut, nested thousands deep or no HTML at all. One pass with
counters and no tree, so that depth costs nothing; each character is looked at a fixed number of times. (The standard
library's parser is not used: on 64 kB of unclosed tags CPython 3.11 needs three quarters of a minute.)

What is doubtful counts as hidden: a spoiler that is never closed, or a tag without an end, hides the rest.
"""

import re
from dataclasses import dataclass
from html import unescape
from typing import Final

SPOILER: Final = "‹spoiler›"
"""Stands where covered text stood. The covered text itself is never indexed."""

MAX_LINKS: Final = 64

_QUOTED: Final = "\0"  # begins a line inside a quotation, until it is read

_BREAKING: Final = frozenset(
    {
        "p",
        "div",
        "br",
        "hr",
        "li",
        "ul",
        "ol",
        "tr",
        "table",
        "blockquote",
        "pre",
        "details",
        "summary",
        "dd",
        "dt",
        "dl",
    }
    | {"h1", "h2", "h3", "h4", "h5", "h6"}
)
_UNSEEN: Final = frozenset({"script", "style", "mx-reply"})
_PILLS: Final = ("https://matrix.to/#/@", "https://matrix.to/#/%40")

_TAG_START: Final = re.compile(r"</?[a-zA-Z]")
# Possessive throughout: a failure costs one look at the rest of the input, and ends the reading.
_TAG: Final = re.compile(r"""<(/?+)([a-zA-Z][^\s/>]*+)((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
_TARGET: Final = re.compile(r"""\bhref\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]++))""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Formatted:
    text: str  # as a reader sees it before uncovering a spoiler; quotations as `> ` lines; no reply fallback
    has_spoiler: bool
    has_reply_fallback: bool  # `<mx-reply>` comes before anything else
    links: tuple[str, ...]  # targets outside spoilers, http and https only
    has_quote: bool = False  # a quotation outside the reply fallback


NOTHING_FORMATTED: Final = Formatted(text="", has_spoiler=False, has_reply_fallback=False, links=())


def read_formatted(html: str) -> Formatted:
    reader = _Reader()
    reader.read(html.replace(_QUOTED, "\ufffd"))
    lines = [_line(line) for line in "".join(reader.pieces).split("\n")]
    return Formatted(
        text="\n".join(line for line in lines if line),
        has_spoiler=reader.has_spoiler,
        has_reply_fallback=html.lstrip()[:9].lower() == "<mx-reply",
        links=tuple(reader.links),
        has_quote=any(line.startswith("> ") for line in lines) and reader.has_quote,
    )


def _line(raw: str) -> str:
    words = " ".join(raw.replace(_QUOTED, " ").split())
    return f"> {words}" if words and raw.startswith(_QUOTED) else words


class _Reader:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.links: list[str] = []
        self.has_spoiler = False
        self.has_quote = False
        self._quotes = 0  # open quotations that can be seen
        self._covered = 0  # open <span> since the covering one, it included
        self._unseen = 0  # open elements whose content nobody sees

    def read(self, html: str) -> None:
        at = 0
        while (bracket := html.find("<", at)) >= 0:
            self._text(html[at:bracket])
            if _TAG_START.match(html, bracket):
                tag = _TAG.match(html, bracket)
                if tag is None:
                    self._broken(html[bracket:])
                    return
                self._tag(tag)
                at = tag.end()
            elif html[bracket + 1 : bracket + 2] in {"!", "?", "/"}:
                at = _after(html, "-->" if html.startswith("<!--", bracket) else ">", bracket)
            else:
                self._text("<")
                at = bracket + 1
        self._text(html[at:])

    def _text(self, raw: str) -> None:
        if raw and not self._covered and not self._unseen:
            self.pieces.append(unescape(raw).replace(_QUOTED, "\ufffd").replace("\n", self._line_end()))

    def _tag(self, tag: re.Match[str]) -> None:
        is_end, name, attributes = bool(tag[1]), tag[2].lower(), tag[3]
        if self._covered:
            if name == "span":
                self._covered += -1 if is_end else 1
        elif name in _UNSEEN:
            self._unseen = max(0, self._unseen - 1) if is_end else self._unseen + 1
        elif name == "span" and not is_end and "data-mx-spoiler" in attributes.lower():
            self._cover()
        elif name == "a" and not is_end:
            self._keep_link(attributes)
        elif name in _BREAKING and not self._unseen:
            if name == "blockquote":
                self._quotes = max(0, self._quotes - 1) if is_end else self._quotes + 1
                self.has_quote = True
            self.pieces.append(self._line_end())

    def _line_end(self) -> str:
        return f"\n{_QUOTED}" if self._quotes else "\n"

    def _cover(self) -> None:
        self.has_spoiler = True
        self._covered = 1
        if not self._unseen:
            self.pieces.append(f" {SPOILER} ")

    def _broken(self, rest: str) -> None:
        """A tag without an end: browsers drop all of it; what it may have covered can still stand in `body`."""
        if "data-mx-spoiler" in rest.lower():
            self._cover()

    def _keep_link(self, attributes: str) -> None:
        found = None if self._unseen or len(self.links) >= MAX_LINKS else _TARGET.search(attributes)
        target = unescape(found[1] or found[2] or found[3] or "") if found else ""
        if target.startswith(("https://", "http://")) and not target.startswith(_PILLS):
            self.links.append(target)


def _after(html: str, mark: str, start: int) -> int:
    """The place behind `mark`; the end where it is missing, as in browsers."""
    found = html.find(mark, start)
    return found + len(mark) if found >= 0 else len(html)
