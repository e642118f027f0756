"""A record cut to the bytes that an assistant can take. Pure.

Assistants cut what is longer than about 25,000 tokens, in the middle of whatever stands there; so it is cut here, where
it can be said what was left off and how to get it.
"""

import json
from collections.abc import Sequence
from typing import Final

from index.ask import visible

MAX_BYTES: Final = 60_000
"""About 20,000 tokens."""
_ROOM_FOR_FIELDS: Final = 200


def encoded(record: object) -> str:
    """JSON on one line. Half of a character pair, which UTF-8 cannot carry, becomes "?"."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace").decode("utf-8")


def size_bytes(record: object) -> int:
    return len(encoded(record).encode())


def inert(value: object) -> object:
    """The same value without characters that nobody sees, in which text for a model could hide."""
    match value:
        case str():
            return visible(value)
        case dict():
            return {key: inert(one) for key, one in value.items()}
        case list() | tuple():
            return [inert(one) for one in value]
        case _:
            return value


def fit(record: dict[str, object], lists: Sequence[str], *, max_bytes: int = MAX_BYTES) -> dict[str, object]:
    """`record` with the ends of these lists left off, the first named first, until it fits; `left_off` counts."""
    record = {**record, "left_off": 0}
    left_off = 0
    for name in lists:
        items = record.get(name)
        excess = size_bytes(record) - max_bytes
        if excess <= 0:
            break
        if isinstance(items, list):
            kept = _kept(items, excess)
            left_off += len(items) - len(kept)
            record = {**record, name: kept, "left_off": left_off}
    return record


def _kept(items: list[object], excess: int) -> list[object]:
    """Without as many at the end as make up the excess, and the digits that a count of them takes."""
    excess += len(str(len(items)))
    end = len(items)
    while end and excess > 0:
        end -= 1
        excess -= size_bytes(items[end]) + 1
    return items[:end]


def fit_text(
    record: dict[str, object], first_line: int, *, name: str = "text", max_bytes: int = MAX_BYTES
) -> dict[str, object]:
    """A record whose text begins at `first_line`, cut between lines until it fits, with the line to go on at.

    A line too long by itself is cut inside, since nobody could get past it otherwise, and `line_cut` says so.
    """
    lines = str(record[name]).split("\n")
    rest = {**record, name: "", "left_off": 0, "next_line": None, "line_cut": False}
    room = max_bytes - size_bytes(rest) - _ROOM_FOR_FIELDS
    kept: list[str] = []
    for line in lines:
        size = size_bytes(line)  # its quotes stand for the line end, which JSON writes as two characters
        if size > room:
            break
        kept.append(line)
        room -= size
    is_cut = not kept
    if is_cut:
        kept = [_beginning(lines[0], room)]
    left_off = len(lines) - len(kept)
    return {
        **rest,
        name: "\n".join(kept),
        "lines": [first_line, first_line + len(kept) - 1],
        "left_off": left_off,
        "next_line": first_line + len(kept) if left_off else None,
        "line_cut": is_cut,
    }


def _beginning(line: str, room: int) -> str:
    """What fits of a line, counted as JSON counts it."""
    taken = 0
    for place, character in enumerate(line):
        taken += size_bytes(character) - 2
        if taken > room:
            return line[:place]
    return line
