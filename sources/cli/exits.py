"""Exit codes: the one place that maps an error to the number that scripts and units see."""

import errno
from enum import IntEnum
from typing import Final

from index.errors import (
    BusyError,
    ConfigError,
    CredentialError,
    QueryError,
    ReindexNeededError,
    SourcesError,
)


class Exit(IntEnum):
    """A contract: a number keeps its meaning."""

    FINE = 0
    NOTHING = 1  # no hits, or findings
    USAGE = 2  # or configuration
    SOURCE_FAILED = 3  # some source failed and the others are done; or index, engine or server cannot be used
    CREDENTIAL = 4
    REINDEX = 5
    BUSY = 6  # another refresh or another bot is running
    BUG = 70  # what nobody foresaw; not 1, which would pass for "no hits"
    INTERRUPTED = 130
    PIPE_CLOSED = 141


_CODES: tuple[tuple[type[SourcesError], Exit], ...] = (  # the first that fits
    (ConfigError, Exit.USAGE),
    (QueryError, Exit.USAGE),
    (CredentialError, Exit.CREDENTIAL),
    (BusyError, Exit.BUSY),
    (ReindexNeededError, Exit.REINDEX),
    (SourcesError, Exit.SOURCE_FAILED),
)


DISK_TROUBLES: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""What a full or failing disk says, which is nobody's mistake in the program."""


def exit_of(error: SourcesError) -> Exit:
    return next(code for kind, code in _CODES if isinstance(error, kind))
