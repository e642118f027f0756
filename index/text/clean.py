"""Text made harmless for a terminal and a chat client: no control sequence, no reordering of what is read.

What people wrote is data from strangers; it may not move a cursor, set a title, fill a clipboard or hide a part.
"""

import re
from typing import Final

_SEQUENCE: Final = (
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI: cursor, colours, modes
    "|\x1b[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS and other strings
)
_INERT: Final[dict[int, str | None]] = {
    # C1 controls may begin sequences too, but are as often letters of a wrong encoding: what follows them stays.
    **dict.fromkeys((*range(0x09), *range(0x0E, 0x20), *range(0x7F, 0xA0)), " "),
    **dict.fromkeys((0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029), "\n"),
    # Direction marks and overrides, invisible operators and fillers, byte order marks, interlinear notes, tags.
    **dict.fromkeys((0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x200B, 0x200E, 0x200F)),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164, 0xFEFF, 0xFFA0)),
    **dict.fromkeys((*range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080))),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
"""What each letter becomes that must not stay; None: nothing."""


def inert(text: str) -> str:
    """The text without control sequences and invisible characters; line breaks and tabs stay. Idempotent."""
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text:
        text = re.sub(_SEQUENCE, "", text)
    return text.replace("\r\n", "\n").translate(_INERT)


def inert_line(text: str) -> str:
    """The same on one line: each run of blanks and breaks is one blank."""
    line = " ".join(text.split())
    return line if line.isascii() and line.isprintable() else " ".join(inert(text).split())
