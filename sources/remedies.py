"""Errors end in their remedy, in brackets; tables show the two apart."""

import re
from typing import Final

_REMEDY: Final = re.compile(r"(.*?) \(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.DOTALL)


def parted(message: str) -> tuple[str, str]:
    """Problem and remedy of one message; the remedy is empty where there is none."""
    match = _REMEDY.fullmatch(message)
    return (match[1], match[2]) if match else (message, "")
