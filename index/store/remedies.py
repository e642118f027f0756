"""What to do where the state directory does not let us in, as the end of an error's line."""

import errno
import os
from pathlib import Path
from typing import Final

_AS_OWNER: Final = "run as the user that owns it and its folder"
_READ_ONLY: Final = "its file system is mounted read-only: mount it writable, which reading an index needs as well"
_MAKE_ROOM: Final = "make room on its disk"
_OF_SQLITE: Final = {
    "SQLITE_FULL": _MAKE_ROOM,
    "SQLITE_IOERR": "look at its disk: the system's log says more",
    "SQLITE_READONLY": _AS_OWNER,
    "SQLITE_CANTOPEN": _AS_OWNER,
    "SQLITE_BUSY": "wait until the program that holds it is done",
}
_HINDERED: Final = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR")
_OF_THE_SYSTEM: Final = {
    errno.EROFS: _READ_ONLY,
    errno.EACCES: _AS_OWNER,
    errno.EPERM: _AS_OWNER,
    errno.ENOSPC: _MAKE_ROOM,
    errno.EDQUOT: _MAKE_ROOM,
}


def remedy(error: Exception, path: Path) -> str:
    """For what the driver said of the file at `path`; empty for what only we can have caused."""
    name = getattr(error, "sqlite_errorname", "")  # with what is behind the second underscore, `SQLITE_IOERR_WRITE`
    if name.startswith(_HINDERED) and is_read_only(path.parent):
        return _READ_ONLY
    return next((remedy for known, remedy in _OF_SQLITE.items() if name.startswith(known)), "")


def remedy_of_system(error: OSError) -> str:
    """For a file or folder of the state directory that cannot be made or opened."""
    return _OF_THE_SYSTEM.get(error.errno or 0, "check state_dir")


def is_read_only(folder: Path) -> bool:
    """Whether its file system is mounted so, whoever asks."""
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False
