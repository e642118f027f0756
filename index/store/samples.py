"""Texts of the index itself, for who needs real ones to measure with."""

import aiosqlite


async def bodies(connection: aiosqlite.Connection, *, limit: int) -> list[str]:
    """Up to `limit` bodies of chunks, spread evenly over the index in the order of their keys."""
    rows = await connection.execute_fetchall(
        "SELECT body FROM chunk JOIN (SELECT chunk_key, row_number() OVER (ORDER BY chunk_key) - 1 AS place,"
        " max(1, (SELECT count(*) FROM chunk) / ?1) AS step FROM chunk) USING (chunk_key)"
        " WHERE place % step = 0 ORDER BY chunk_key LIMIT ?1",
        (limit,),
    )
    return [str(row[0]) for row in rows]
