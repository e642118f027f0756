"""From the bytes of a file to its text, or to the reason why there is none. Pure, and never raises.

Lines end in a line feed afterwards, and only there: other characters that some libraries take for line ends are left
inside their line, so that line numbers are those of `sed -n` and of a forge's page.
"""

import codecs
from dataclasses import dataclass
from typing import Final

DAMAGED: Final = "damaged-encoding"
"""Flag of a chunk in which some bytes could not be decoded."""

_REPLACEMENT: Final = "\ufffd"
_LFS_START: Final = b"version https://git-lfs.github.com/spec/"
_LFS_MAX_BYTES: Final = 1024
_WIDE_MARKS: Final = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Letters that tell the two usual 8-bit encodings apart: what stands at these bytes in cp1250, and in cp1252.
_CENTRAL: Final = frozenset(b"\xec\xf8\xe8\xf9\x9d\xbe\xb9\xea\xb3\xbf\xcc\xd8\xc8\xd9")
_WESTERN: Final = frozenset(b"\xe0\xe2\xe5\xe6\xee\xf1\xf4\xf5\xfb\xc0\xc5\xc6\xd1\xd5")


@dataclass(frozen=True, slots=True)
class Decoded:
    """`is_damaged`: some bytes are no text in any encoding we know; a U+FFFD stands in their place."""

    text: str
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Undecoded:
    """Why a file has no text: `reason` is for people."""

    reason: str


def decode(data: bytes) -> Decoded | Undecoded:
    """The text without a byte order mark, or the reason why there is none."""
    if data.startswith(_LFS_START) and len(data) <= _LFS_MAX_BYTES:
        return Undecoded("LFS pointer: the content is not in the repository")
    for mark, encoding in _WIDE_MARKS:
        if data.startswith(mark):
            return _decoded(data.decode(encoding, "replace").replace("\0", _REPLACEMENT))
    if b"\0" in data:
        return Undecoded("binary: holds a NUL byte")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return Decoded(_lines_ended(data.decode("utf-8")))
    except UnicodeDecodeError:
        return _decoded(_decode_legacy(data))


def _decoded(text: str) -> Decoded:
    return Decoded(_lines_ended(text), _REPLACEMENT in text)


def _decode_legacy(data: bytes) -> str:
    """UTF-8 with a few broken bytes stays UTF-8; the rest is an 8-bit encoding of central or western Europe."""
    tolerant = data.decode("utf-8", "replace")
    broken = tolerant.count(_REPLACEMENT)
    whole = sum(1 for character in tolerant if not character.isascii()) - broken
    if whole >= broken:
        return tolerant
    central = sum(1 for byte in data if byte in _CENTRAL)
    western = sum(1 for byte in data if byte in _WESTERN)
    return data.decode("cp1250" if central > western else "cp1252", "replace")


def _lines_ended(text: str) -> str:
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        text = text.replace("\r", " " if "\n" in text else "\n")
    return text.removeprefix("\ufeff")
