"""File names as text that can be shown, stored and turned back into the very bytes.

git and Linux know names as bytes. Most are UTF-8 and stay as they are. A byte that is not UTF-8, and a control
character (a line feed would break a citation), is written `\\xHH`; so is a backslash that could be read as one of
those. Two different names never give the same text, and `README.md` and `readme.md` stay two names.
"""

import re
from typing import Final

_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\udc80-\udcff]|\\(?=x[0-9a-f]{2})")
_ESCAPED: Final = re.compile(rb"\\x([0-9a-f]{2})")


def path_text(raw: bytes) -> str:
    """The readable form of a file name or path."""
    text = raw.decode("utf-8", "surrogateescape")
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return _UNSAFE.sub(_escape, text)


def path_bytes(text: str) -> bytes:
    """The name that `path_text` was given. Text that is no such form gives a name that no file has."""
    return _ESCAPED.sub(lambda found: bytes((int(found[1], 16),)), text.encode("utf-8", "surrogatepass"))


def _escape(found: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in found[0].encode("utf-8", "surrogateescape"))
