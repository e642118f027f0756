"""One file of a folder of notes: opened without following links, read while it may be written, and its state."""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

from ingest.forge.names import path_bytes, path_text

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not make us wait
_UNSETTLED_NS: Final = 2 * 10**9  # a file system may keep times no finer than this
_UNKNOWN_TIME: Final = -1


@dataclass(frozen=True, slots=True)
class NoteState:
    """What a file was when it was read. Two of these alike mean that it need not be read again."""

    digest: str
    size: int
    mtime_ns: int  # -1: changed so recently that a later change could look the same; read it again
    ctime_ns: int
    inode: int

    def is_same(self, found: os.stat_result) -> bool:
        return (self.size, self.mtime_ns, self.ctime_ns, self.inode) == (
            found.st_size,
            found.st_mtime_ns,
            found.st_ctime_ns,
            found.st_ino,
        )


@dataclass(frozen=True, slots=True)
class Note:
    """`path` as `ingest.forge.names` writes it, relative to the root; `digest` is the revision."""

    path: str
    digest: str
    size: int
    modified_ms: int
    state: NoteState


class Unreadable(Exception):  # noqa: N818  # a condition that is handled next door, never shown
    """This file cannot be had now. `reason` is empty when it is simply not there; `is_gone`: it is no note any more."""

    def __init__(self, reason: str, *, is_gone: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_gone = is_gone


def load(root: Path, path: str, max_bytes: int, clock_ns: Callable[[], int]) -> tuple[Note, bytes]:
    """Read a note; once more when it changed under our hands. Each folder on the way is opened without following."""
    descriptor = _open(root, path)
    try:
        for _ in range(2):
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise Unreadable("not a file", is_gone=True)
            content = _read(descriptor, max_bytes)
            after = os.fstat(descriptor)
            is_steady = (
                (before.st_size, before.st_mtime_ns)
                == (after.st_size, after.st_mtime_ns)
                == (len(content), after.st_mtime_ns)
            )
            if is_steady:
                break
    except OSError as error:
        raise Unreadable(reason_of(error), is_gone=False) from error
    finally:
        os.close(descriptor)
    digest = blake2b(content, digest_size=20).hexdigest()
    is_settled = is_steady and after.st_ctime_ns < clock_ns() - _UNSETTLED_NS
    state = NoteState(
        digest, len(content), after.st_mtime_ns if is_settled else _UNKNOWN_TIME, after.st_ctime_ns, after.st_ino
    )
    return Note(path, digest, len(content), after.st_mtime_ns // 10**6, state), content


def reason_of(error: OSError) -> str:
    return f"{errno.errorcode.get(error.errno or 0, 'error')} {error.strerror}"


def is_of_the_system(reason: str) -> bool:
    """Whether a reason is one of `reason_of`: the file was to be read, and could not be."""
    return reason.partition(" ")[0] in errno.errorcode.values()


def is_absence(error: OSError) -> bool:
    """Whether this says that the thing is not there, rather than that it cannot be read."""
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def open_folder(name: bytes | Path, beside: int | None = None) -> int:
    """A descriptor of a folder that is no link; `beside` is the folder it is in."""
    return os.open(name, _FOLDER if beside is not None else _FOLDER & ~os.O_NOFOLLOW, dir_fd=beside)


def _open(root: Path, path: str) -> int:
    raw = path_bytes(path)
    *folders, name = steps = raw.split(b"/")
    # A reader may have written it: no step leads up, and no second spelling gets past what was decided of the first.
    if path_text(raw) != path or {b"", b".", b".."}.intersection(steps):
        raise Unreadable("", is_gone=True)
    try:
        folder = open_folder(root)
        try:
            for step in folders:
                inner = open_folder(step, folder)
                os.close(folder)
                folder = inner
            return os.open(name, _FILE, dir_fd=folder)
        finally:
            os.close(folder)
    except OSError as error:
        is_gone = is_absence(error)
        raise Unreadable("" if is_gone else reason_of(error), is_gone=is_gone) from error


def _read(descriptor: int, max_bytes: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces, size = [], 0
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            raise Unreadable(f"over {max_bytes} bytes", is_gone=True)
    return b"".join(pieces)
