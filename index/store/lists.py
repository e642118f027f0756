"""Lists of numbers on their way into a statement, and out of it again as one value.

SQLite takes a list as JSON. It hands rows over one by one, each with a change of threads where two are at work; what is
many rows is therefore put together by SQLite, and taken apart here by one call.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.json import Decoder, Encoder

_encode: Final = Encoder().encode
_decode: Final = Decoder(list[int]).decode


def as_json(numbers: Iterable[int] | Sequence[tuple[int, int]]) -> str:
    """Numbers, or pairs of numbers, for `json_each`."""
    return _encode(numbers if isinstance(numbers, list | tuple) else list(numbers)).decode()


def numbers_of(concatenated: str | None) -> list[int]:
    """Of what `group_concat` made of numbers; None, of none."""
    return _decode(f"[{concatenated}]") if concatenated else []
