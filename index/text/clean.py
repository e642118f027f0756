"""Text made harmless for a terminal and a chat client: no control sequence, no reordering of what is read.

What people wrote is data from strangers; it may not move a cursor, set a title, fill a clipboard or hide a part.
"""

import re
from typing import Final

_SEQUENCE: Final = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI: cursor, colours, modes
    "|\x1b[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS and other strings
)
_BREAK: Final = re.compile("\r\n?|[\u2028\u2029\x0b\x0c\x85]")
# C1 controls may begin sequences too, but are as often letters of a wrong encoding: what follows them stays.
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
# Direction marks and overrides, invisible operators and fillers, byte order marks, interlinear notes, tags.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def inert(text: str) -> str:
    """The text without control sequences and invisible characters; line breaks and tabs stay. Idempotent."""
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCE.sub("", text)
    text = _CONTROL.sub(" ", _BREAK.sub("\n", text))
    return _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", text))


def inert_line(text: str) -> str:
    """The same on one line: each run of blanks and breaks is one blank."""
    line = " ".join(text.split())
    return line if line.isascii() and line.isprintable() else " ".join(inert(text).split())
