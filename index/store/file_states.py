"""What the files of a folder without history looked like when they were read. Opaque text, one entry per path."""

from collections.abc import Mapping

import aiosqlite

from index.model import SourceId


async def load(connection: aiosqlite.Connection, source: SourceId) -> dict[str, str]:
    rows = await connection.execute_fetchall(
        "SELECT path, state FROM file_state JOIN source USING (source_key) WHERE source.id = ?", (source,)
    )
    return {str(path): str(state) for path, state in rows}


async def save(
    connection: aiosqlite.Connection, source_key: int, before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    """Make the stored states equal to `after`, touching only what differs. Inside the source's transaction."""
    await connection.executemany(
        "DELETE FROM file_state WHERE source_key = ? AND path = ?",
        [(source_key, path) for path in before.keys() - after],
    )
    await connection.executemany(
        "INSERT INTO file_state(source_key, path, state) VALUES (?, ?, ?)"
        " ON CONFLICT(source_key, path) DO UPDATE SET state = excluded.state",
        [(source_key, path, state) for path, state in after.items() if before.get(path) != state],
    )
