"""JSON as homeservers really send it: parsed without ever refusing a whole page for one odd value, and read by shape.

Pure. Strings may hold NUL and lone surrogates, which a caller must replace before storing them.
"""

import json
import math
from collections.abc import Mapping
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]
RawEvent: TypeAlias = Mapping[str, JsonValue]
"""An event as it came, unchecked: any key may be missing or hold anything."""

_MAX_INT_DIGITS = 400  # beyond what a float could hold; Python itself refuses 4300


class TooDeepError(ValueError):
    """Nested so deeply that nobody could walk it."""


def parse(body: bytes) -> JsonValue:
    """Raises ValueError for what is no JSON, TooDeepError for what cannot be held.

    NaN, infinities and absurdly long integers become null, the last of two equal keys wins, and bytes that are no
    UTF-8 become U+FFFD.
    """
    try:
        value: JsonValue = json.loads(
            body.decode("utf-8", "replace"), parse_constant=_null, parse_float=_finite, parse_int=_integer
        )
    except RecursionError as error:
        raise TooDeepError("nested too deeply") from error
    return value


def objects_in(value: JsonValue) -> tuple[tuple[JsonObject, ...], int]:
    """The entries of a list that are objects, and how many were not. Anything else than a list holds none."""
    entries = value if isinstance(value, list) else []
    objects = tuple(entry for entry in entries if isinstance(entry, dict))
    return objects, len(entries) - len(objects)


def object_at(value: RawEvent, key: str, *further: str) -> JsonObject:
    """The object at the end of a path of keys; empty when there is none."""
    found = value.get(key)
    here = found if isinstance(found, dict) else {}
    return object_at(here, *further) if further else here


def text_at(value: RawEvent, key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None


def integer_at(value: RawEvent, key: str) -> int | None:
    """Whole numbers only, also when written as a float; a boolean is none."""
    found = value.get(key)
    if isinstance(found, float) and found.is_integer():
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _null(name: str) -> None:
    return None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _integer(text: str) -> int | None:
    return int(text) if len(text) <= _MAX_INT_DIGITS else None
