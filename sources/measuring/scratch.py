"""Where a measurement writes: copies of the texts of the index, which must not outlive it."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from index.errors import BusyError
from ingest.lock import write_lock

_FOLDER: Final = "sources-measure"


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """An empty folder, gone afterwards. One at a time: so whatever a killed run left there is nobody's, and goes."""
    folder = parent / _FOLDER
    try:
        with _lock(parent):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    except BusyError as busy:
        raise BusyError(f"{_FOLDER}: another measurement is running there (wait for it, or give --scratch)") from busy


def sweep(parent: Path) -> None:
    """Take away what a killed measurement left; one that is at work does so itself."""
    if (parent / _FOLDER).exists():
        with suppress(BusyError), _lock(parent):
            shutil.rmtree(parent / _FOLDER, ignore_errors=True)


def _lock(parent: Path) -> AbstractContextManager[None]:
    return write_lock(parent / f"{_FOLDER}.lock")
