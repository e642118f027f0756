"""The write lock: a kernel lock on a file, so that a dead run never blocks and a living one is named."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from index.errors import BusyError, StoreError
from index.store.remedies import remedy_of_system


@contextmanager
def write_lock(path: Path, *, who: str = "refresh") -> Iterator[None]:
    """Hold the lock on `path` while inside. Raises `BusyError` when another process, a `who`, has it.

    The file stays when the lock goes: removing it would let two processes lock two files of the same name.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreError(f"{path.parent}: is not a folder (name another one)") from error
    except OSError as error:
        means = remedy_of_system(error)
        raise StoreError(f"{path}: the lock cannot be made: {error.strerror} ({means})") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise BusyError(
                f"{path.name}: another {who} is running (process {holder}); wait for it or stop it"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
