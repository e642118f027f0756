"""Durations and sizes as people write them: "10m", "24h", "7d", "2 kB", "4 MiB".

Pure. A duration becomes milliseconds, a size becomes bytes. Numbers without a unit are refused, since nobody can
tell later what they meant.
"""

import re
from typing import Final

SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

_DURATIONS: Final = {
    "ms": 1,
    "s": SECOND_MS,
    "m": MINUTE_MS,
    "min": MINUTE_MS,
    "h": HOUR_MS,
    "d": DAY_MS,
    "w": 7 * DAY_MS,
}
_SIZES: Final = {
    "b": 1,
    "kb": 1_000,
    "mb": 1_000_000,
    "gb": 1_000_000_000,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
}
_DURATION_NAMES: Final = (("d", DAY_MS), ("h", HOUR_MS), ("m", MINUTE_MS), ("s", SECOND_MS), ("ms", 1))
_SIZE_NAMES: Final = (
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
)
_QUANTITY: Final = r"([0-9]{1,15}) ?([A-Za-z]{1,4})"

_MOST: Final = 2**53  # what JSON readers and SQLite agree on


def parse_duration(text: str) -> int:
    """Milliseconds; ValueError when it is not a whole number with one of ms, s, m, h, d, w."""
    return _parse(text, _DURATIONS, "a duration")


def parse_size(text: str) -> int:
    """Bytes; ValueError when it is not a whole number with one of B, kB, MB, GB, KiB, MiB, GiB (any case)."""
    return _parse(text, _SIZES, "a size")


def format_duration(duration_ms: int) -> str:
    """The shortest exact spelling that `parse_duration` reads back: 90 minutes are "90m", a day is "24h" up to two."""
    if duration_ms == 0:
        return "0s"
    for name, factor in _DURATION_NAMES:
        if duration_ms % factor == 0 and not (name == "d" and duration_ms < 2 * factor):
            return f"{duration_ms // factor}{name}"
    raise AssertionError("every whole number is a multiple of one millisecond")


def format_size(size_bytes: int) -> str:
    """The largest unit that is exact: 4194304 is "4 MiB", 2000 is "2 kB"."""
    for name, factor in _SIZE_NAMES:
        if size_bytes % factor == 0 and size_bytes:
            return f"{size_bytes // factor} {name}"
    return "0 B"


def _parse(text: str, factors: dict[str, int], what: str) -> int:
    match = re.fullmatch(_QUANTITY, text.strip())
    factor = factors.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(f"{what} is a whole number and a unit")
    quantity = int(match[1]) * factor
    if quantity > _MOST:
        raise ValueError(f"{what} this large cannot be meant")
    return quantity
