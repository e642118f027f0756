"""Which requests a session may send, by what it was opened for, and how their paths are spelt. Pure."""

import re
from enum import StrEnum
from typing import Final
from urllib.parse import quote

from matrix.errors import ForbiddenCallError, RefusedError

_PREFIX: Final = "/_matrix/client/"


class Mode(StrEnum):
    """What a session is for; anything beyond it is not sent."""

    READER = "reader"  # GET, and the upload of a sync filter
    ROSTER = "roster"  # that, and joining and leaving
    BOT = "bot"  # that, and sending and redacting


_FILTER: Final = (("POST", re.compile(r"v3/user/[^/]+/filter")),)
_MEMBERSHIP: Final = (("POST", re.compile(r"v3/(join/[^/]+|rooms/[^/]+/leave)")),)
_SPEECH: Final = (("PUT", re.compile(r"v3/rooms/[^/]+/(send|redact)/[^/]+/[^/]+")),)
_WRITES: Final = {
    Mode.READER: _FILTER,
    Mode.ROSTER: _FILTER + _MEMBERSHIP,
    Mode.BOT: _FILTER + _MEMBERSHIP + _SPEECH,
}


def check_allowed(mode: Mode, method: str, path: str) -> None:
    """Raises ForbiddenCallError; no typing, presence, read markers, profile or state events in any mode."""
    rest = path.removeprefix(_PREFIX)
    is_allowed = method == "GET" or any(method == verb and shape.fullmatch(rest) for verb, shape in _WRITES[mode])
    if rest == path or not is_allowed:
        raise ForbiddenCallError(f"a {mode} session never sends {method} {path}")


def client_path(*parts: str, version: str = "v3") -> str:
    """`/_matrix/client/<version>/<parts>`, each part escaped: ids come from strangers."""
    if any(part in ("", ".", "..") for part in parts):
        raise RefusedError(
            f"{parts[0]}: an empty part or dots are no id (write it as the homeserver does)",
            status=400,
            errcode="M_INVALID_PARAM",
        )
    return "/".join([f"{_PREFIX}{version}", *(quote(part, safe="", errors="replace") for part in parts)])
