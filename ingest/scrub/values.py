"""Where the value beside a name begins and ends: in quotes, between marks, or bare."""

# ruff: noqa: E501  (patterns read better unbroken)

import re
from dataclasses import dataclass
from typing import Final

from ingest.scrub.names import Slot
from ingest.scrub.shapes import FORM_OF_SYNAPSE, is_of_synapse

LONGEST: Final = 256
"""A longer value is judged by its beginning, and taken whole."""
QUOTES: Final = {
    '"': '"', "'": "'", "`": "`", "„": "“”\"", "“": "”“\"", "”": "”", "«": "»", "»": "«", "‚": "‘’'", "‘": "’'", "’": "’", "‹": "", "「": "」", "『": "』", "《": "》",
}  # fmt: skip
INSIDE: Final = {
    closers: re.compile(rf"(?:[^{closers}\\\r\n\0‹]++|\\[^\r\n]|\\)*+") for closers in set(QUOTES.values())
}
"""What may stand between quotes, by what closes them: no line end, and no marker."""
OPEN: Final = re.compile(
    r"(?P<esc>\\{1,4}[\"'])|(?P<ent>&(?:quot|apos|\#0?3[49]|\#x2[27]|ldquo|bdquo|lsquo);)|(?P<triple>\"\"\"|''')|(?:(?:[bruf]{1,2}|@|\$|L|N)(?=[\"']))?(?P<q>[\"'`„“”«»‚‘’「『《])|(?P<star>\*{1,3}(?=[^\s*])|_{1,2}(?=[^\s_][^\s]*_(?!\w))|<(?:code|b|strong|kbd|tt|em|i|pre|td|string|span)>|\|\|)",
    re.I,
)
YAML_TAG: Final = re.compile(r"!!?[a-z]{1,10} (?=\S)")
ENTITY: Final = re.compile(r"&(?:quot|apos|#0?3[49]|#x2[27]|rdquo|ldquo|rsquo);", re.I)
TO_BLANK: Final = re.compile(r"[^\s\"'`<>‹›]*+")
BARE: Final = re.compile(r"[^\s\"`<>‹›„“”«»「」\x00-\x08]{1,256}")
CUT_AT: Final = re.compile(r"[\\&'\",;)\]}|%。、，；）】]")
BARE_CUT: Final = re.compile(
    r"""
      \\{1,2}[nrt"'] | \\\\$ | &(?:quot|lt|gt|amp|apos|nbsp|\#\d{1,5}|\#x[0-9A-Fa-f]{1,4}); | &(?=[A-Za-z_][\w.\-]{0,40}=) | ['"]  | [,;](?=[A-Za-z_][\w.\- ]{0,40}[=:]) | [,;)\]}]+$ | \)[,;.)\]}]*$
    | ;(?=\S) | ,$ | \|$ | %(?:22|27|20|0[AaDd]) | %26(?=[A-Za-z_][\w.\-]{0,40}%3[dD]) | [。、，；）】]
    """,
    re.X,
)
EDGE_AFTER: Final = ".,;:"
BRACKETS: Final = {")": "(", "]": "[", "}": "{"}


@dataclass(slots=True)
class Value:
    text: str
    start: int
    end: int
    quoted: bool
    source: str
    close: int
    """Where the source goes on after the value and its quote."""

    @property
    def is_last(self) -> bool:
        """Nothing but blanks, closers or a comment follows on its line."""
        return bool(LAST.match(self.source, self.close))

    @property
    def next(self) -> str:
        return self.source[self.close : self.close + 1]


LAST: Final = re.compile(r"[ \t\"'`*_)\]};,.!|\\-]{0,8}(?:$|[\r\n]|\\n|//|#|/\*|-->|<|\s+(?:#|//|--(?![a-z])))")


def read_value(text: str, at: int) -> Value | None:
    """The value that begins at `at`; None where there is none, or only our own marker."""
    if text[at : at + 1] == "!" and (tag := YAML_TAG.match(text, at)):
        at = tag.end()
    opened = None if text[at : at + 1].isalnum() and text[at + 1 : at + 2] not in ("'", '"') else OPEN.match(text, at)
    if opened:
        at = opened.end()
        if opened["esc"] or opened["ent"] or opened["triple"]:
            return until(text, at, opened[0])
        if opened["q"]:
            return quoted_value(text, at, QUOTES[opened["q"]])
        if opened["star"].startswith(("*", "_", "|")):
            return drawn_by_synapse(text, opened.start()) or emphasised(text, at, opened["star"])
    return bare_value(text, at)


def value_at(text: str, start: int, end: int, close: int, *, quoted: bool) -> Value | None:
    if end <= start:
        return None
    return Value(text[start:end], start, end, quoted, text, close)


def until(text: str, at: int, quote: str) -> Value | None:
    """Values between escaped quotes, entities or triple quotes."""
    if quote[0] == "&":
        found = ENTITY.search(text, at, at + LONGEST)
        end = found.start() if found else -1
        close = found.end() if found else -1
    else:
        end = text.find(quote, at, at + LONGEST)
        close = end + len(quote)
    if end < 0:
        return bare_value(text, at)
    if "\n" in text[at:end]:
        return None
    return value_at(text, at, end, close, quoted=True)


def quoted_value(text: str, at: int, closers: str) -> Value | None:
    limit = min(len(text), at + LONGEST)
    end = INSIDE[closers].match(text, at, limit).end()  # type: ignore[union-attr]  # it matches nothing as well
    if end < limit and text[end] in closers:
        return value_at(text, at, end, end + 1, quoted=True)
    if end >= limit and limit < len(text):
        return value_at(text, at, limit, limit, quoted=True)
    return bare_value(text, at)


def whole(value: Value, text: str, slot: Slot) -> tuple[int, int]:
    """Of a value that is longer than we look, all that belongs to it, so that no tail is left.

    A `!` or `?` at the end may be the end of a password, of anything else it is the sentence's.
    """
    if value.end - value.start < LONGEST - 2:
        spare = len(value.text) - len(value.text.rstrip("!?")) if slot is not Slot.PASSWORD and not value.quoted else 0
        return value.start, value.end - spare
    end = TO_BLANK.match(text, value.end).end()  # type: ignore[union-attr]  # it matches nothing as well
    cut = first_cut(text[value.end : end])
    return value.start, value.end + cut if cut >= 0 else end


def emphasised(text: str, at: int, mark: str) -> Value | None:
    value = bare_value(text, at)
    if value and (closed := re.search(rf"(?<!^){re.escape(mark)}(?!\w)", value.text)):
        end = value.start + closed.start()
        return value_at(text, value.start, end, end + len(mark), quoted=False)
    return value


def first_cut(value: str) -> int:
    """Where a bare value ends before its blank does; -1 where nothing ends it."""
    for match in CUT_AT.finditer(value):
        if BARE_CUT.match(value, match.start()):
            return match.start()
    return -1


def bare_value(text: str, at: int) -> Value | None:
    found = BARE.match(text, at)
    if not found:
        return None
    start, end = found.span()
    value = text[start:end]
    cut = first_cut(value)
    if cut >= 0 and (drawn := drawn_by_synapse(text, at)):
        return drawn
    if cut == 0:
        return None
    if cut > 0:
        value = value[:cut]
    stripped = value.rstrip(EDGE_AFTER)
    if stripped.endswith("**") and not stripped[:-2].endswith("*"):
        stripped = stripped[:-2].rstrip(EDGE_AFTER)  # the end of bold text
    while (
        stripped and stripped[-1] in BRACKETS and stripped.count(stripped[-1]) > stripped.count(BRACKETS[stripped[-1]])
    ):
        stripped = stripped[:-1].rstrip(EDGE_AFTER)
    return value_at(text, start, start + len(stripped), start + len(stripped), quoted=False)


def drawn_by_synapse(text: str, at: int) -> Value | None:
    found = FORM_OF_SYNAPSE.match(text, at)
    return value_at(text, at, found.end(), found.end(), quoted=False) if found and is_of_synapse(found[0]) else None
