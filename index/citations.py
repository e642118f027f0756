"""An answer held to what it was given: each citation checked, each claim without one marked. Pure.

A citation counts when its number is one of those supplied; any other becomes `[7: unsupported]`. It covers the text
before it in its paragraph, and its own sentence to the end. What no supplied citation covers is followed by
`[no source]`, and an address that stands in no passage is marked as well. Code between fences keeps its brackets where
they follow a word (`names[0]`), and is covered when the paragraph above it is.

`Marker` does the same while the answer arrives: whatever the pieces, it gives in the end what `judge` gives.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from index.ask import NOT_IN_THE_SOURCES, visible

NO_SOURCE: Final = "[no source]"
UNKNOWN_ADDRESS: Final = "[address not in the sources]"

_MOST_INSIDE: Final = 60  # characters between the brackets of a citation, behind its first number
_HELD_BACK: Final = 160  # the longest citation is shorter
_OPEN, _CLOSED = "[［【⟦〔〚❲⁅", "]］】⟧〕〛❳⁆"
_CITATION: Final = re.compile(
    rf"[{re.escape(_OPEN)}][ \t]{{0,3}}\^?"
    r"(?:(?:sources?|passages?|refs?|zdroj|quelle)[ \t]{0,3})?(?P<first>\d{1,60})"
    rf"(?P<rest>[^{re.escape(_OPEN + _CLOSED)}\n]{{0,{_MOST_INSIDE}}})[{re.escape(_CLOSED)}]",
    re.IGNORECASE,
)
_CITATION_IN_CODE: Final = re.compile(rf"(?<![\w)\]}}\"'])(?:{_CITATION.pattern})", re.IGNORECASE)  # not `names[0]`
_MORE: Final = re.compile(
    r"(?:\s*(?:(?P<dash>[-–—])|[,;&+/]|(?:and|und|a)\b)\s*|\s+)\^?(?P<number>\d{1,60})(?!\d)", re.IGNORECASE
)
_ADDRESS: Final = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://[^\s<>\"'`|\\^{}()\[\]［］【】⟦⟧]+", re.IGNORECASE)

_SENTENCE_END: Final = re.compile(r"[.!?…][\"'”’»)*_]*\s+(?=[^\sa-zß-öø-ÿ])")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_HEADING: Final = re.compile(r"\s*#{1,6}\s")
_FENCE: Final = re.compile(r"\s*(?P<fence>`{3,}|~{3,})")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_WORD: Final = re.compile(r"\w")
_LONGEST_RANGE: Final = 20
_SHORT: Final = 1_000
_STEPS: Final = 8


@dataclass(frozen=True, slots=True)
class Judged:
    """`cited` and `unsupported` are numbers in the order of their first mention; `uncited` counts `[no source]`."""

    text: str
    cited: tuple[int, ...]
    unsupported: tuple[int, ...]
    uncited: int
    unknown_addresses: int

    @property
    def is_supported(self) -> bool:
        return bool(self.cited)


def judge(text: str, *, count: int, known: Collection[str] = ()) -> Judged:
    """`count` passages were supplied, numbered from 1, with the texts `known`."""
    marker = Marker(count=count, known=known)
    marked = marker.feed(text) + marker.finish()
    return marker.judged(marked)


class Marker:
    """Marks an answer that arrives in pieces. What `feed` returned is final; `finish` gives the rest."""

    def __init__(self, *, count: int, known: Collection[str] = ()) -> None:
        self._count = count
        self._known = tuple(known)
        self._awaited = 0  # characters of it before it is looked at again
        self._open = ""  # the unit that is still growing, raw
        self._shown = 0  # characters of it, marked, that were given out
        self._is_covered = False  # whether the unit before it was
        self._cited: dict[int, None] = {}
        self._unsupported: dict[int, None] = {}
        self._uncited = 0
        self._unknown = 0

    def feed(self, piece: str) -> str:
        self._open += visible(piece)
        if len(self._open) < self._awaited:
            return ""
        *closed, self._open = _units(self._open)
        given = [self._close(unit) for unit in closed]
        marked, *_ = self._marked(_settled(self._open))
        if len(marked) > self._shown:
            given.append(marked[self._shown :])
            self._shown = len(marked)
        # A unit is marked anew as it grows, so a very long one in larger steps: the work stays in proportion.
        self._awaited = len(self._open) + (len(self._open) - _SHORT) // _STEPS if len(self._open) > _SHORT else 0
        return "".join(given)

    def finish(self) -> str:
        units, self._open = _units(self._open), ""
        return "".join(self._close(unit) for unit in units)

    def judged(self, marked: str) -> Judged:
        """The verdict after `finish`; `marked` is all that was given out."""
        return Judged(marked, tuple(self._cited), tuple(self._unsupported), self._uncited, self._unknown)

    def _close(self, unit: str) -> str:
        body = unit.rstrip()
        marked, cited, unsupported, unknown = self._marked(body)
        self._cited.update(dict.fromkeys(cited))
        self._unsupported.update(dict.fromkeys(unsupported))
        self._unknown += unknown
        if _is_claim(body):
            is_code = _FENCE.match(body) is not None
            self._is_covered = self._is_covered if is_code else _is_covered(body, self._count)
            if not self._is_covered:
                marked += f"\n{NO_SOURCE}" if is_code else f" {NO_SOURCE}"
                self._uncited += 1
        shown, self._shown = self._shown, 0
        return marked[shown:] + unit[len(body) :]

    def _marked(self, body: str) -> tuple[str, list[int], list[int], int]:
        """With citations and addresses marked; of a beginning it is the beginning of that of the whole."""
        is_code = _FENCE.match(body) is not None
        cited: list[int] = []
        unsupported: list[int] = []
        unknown = 0
        pattern = _CITATION_IN_CODE if is_code else _CITATION

        def citation(match: re.Match[str]) -> str:
            good, bad = _numbers(match, self._count)
            cited.extend(good)
            unsupported.extend(bad)
            if is_code and not bad:
                return match[0]
            return " ".join([*(f"[{number}]" for number in good), *(f"[{number}: unsupported]" for number in bad)])

        def address(match: re.Match[str]) -> str:
            nonlocal unknown
            found = match[0].rstrip(".,;:!?*_~")
            if any(found in text for text in self._known):
                return match[0]
            unknown += 1
            return f"{found} {UNKNOWN_ADDRESS}{match[0][len(found) :]}"

        return _ADDRESS.sub(address, pattern.sub(citation, body)), [] if is_code else cited, unsupported, unknown


def _numbers(match: re.Match[str], count: int) -> tuple[list[int], list[int]]:
    """Numbers of one pair of brackets, those supplied and the others."""
    numbers = [int(match["first"])]
    place = 0
    while more := _MORE.match(match["rest"], place):
        number = int(more["number"])
        if more["dash"] and 0 < number - numbers[-1] <= _LONGEST_RANGE:
            numbers += range(numbers[-1] + 1, number)
        numbers.append(number)
        place = more.end()
    numbers = list(dict.fromkeys(numbers))
    return [n for n in numbers if 1 <= n <= count], [n for n in numbers if not 1 <= n <= count]


def _is_claim(body: str) -> bool:
    return _WORD.search(body) is not None and not body.lstrip(" *_#>-").startswith(NOT_IN_THE_SOURCES)


def _is_covered(body: str, count: int) -> bool:
    """Whether a supplied citation stands in it, and no sentence begins after that one's."""
    last = None
    for match in _CITATION.finditer(body):
        if _numbers(match, count)[0]:
            last = match.end()
    if last is None:
        return False
    rest = _CITATION.sub("", body[last:])
    end = _SENTENCE_END.search(rest)
    if end is None:
        # A citation may stand behind the full stop of its sentence: what follows then is another one.
        is_behind = body[:last].rstrip(f"0123456789{_OPEN}{_CLOSED} ").endswith((".", "!", "?"))
        return not (is_behind and _WORD.search(rest))
    return not _WORD.search(rest[end.end() :])


def _units(text: str) -> list[str]:
    """Paragraphs, items, headings and fenced code, each with the blank space behind it; joined they are the text.

    The last one may still grow.
    """
    units: list[list[str]] = [[]]
    fence = ""
    has_text = False  # in the unit so far
    is_closed = False  # whether the next line begins a unit, whatever it is
    for line, is_whole in _lines(text):
        match = _FENCE.match(line)
        if fence:
            if is_whole and match and line.strip() == match["fence"] and match["fence"].startswith(fence):
                fence, is_closed = "", True
        elif not line.strip():
            is_closed = is_closed or (is_whole and has_text)
        else:
            is_heading = _HEADING.match(line) is not None
            if units[-1] and (is_closed or match or is_heading or _ITEM.match(line)):
                units.append([])
            has_text = True
            fence = match["fence"] if match else ""
            is_closed = is_heading and is_whole
        units[-1].append(line)
    return ["".join(lines) for lines in units]


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    for line in _LINE.findall(text):
        yield line, line.endswith("\n")


def _settled(unit: str) -> str:
    """The beginning of a growing unit that no further text can change: whole words outside an open bracket."""
    end = len(unit)
    while end and not unit[end - 1].isspace():
        end -= 1
    cut = end
    for place in range(end - 1, max(0, end - _HELD_BACK) - 1, -1):
        if unit[place] in _CLOSED or unit[place] == "\n":
            break
        if unit[place] in _OPEN:
            cut = place
    return unit[:cut].rstrip()
