"""What it takes until deleted text is in no byte of the file: emptying the log.

Deleting rows under `secure_delete` overwrites them in the pages, but the write-ahead log keeps older pages until a
checkpoint truncates it, and a reader that is in the middle of a question prevents that.
"""

import asyncio
from typing import Final

import aiosqlite

TRIES: Final = 3
PAUSE_S: Final = 0.1


async def wipe_log(connection: aiosqlite.Connection) -> bool:
    """Empty the write-ahead log; False when readers did not let go of it in time, and old pages are still there."""
    for _ in range(TRIES):
        rows = list(await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)"))
        if not rows or int(rows[0][0]) == 0:
            return True
        await asyncio.sleep(PAUSE_S)
    return False
