"""What is known of a forge's repositories between two runs, by the number that the forge gives them.

A repository is a source whose id holds its name; the number ties the two together, so that a new name renames the
source and moves nothing else. What the forge's listing said, and what was found settled, is opaque text here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import aiosqlite

from index.model import SourceId


@dataclass(frozen=True, slots=True)
class ForgeRepo:
    """`number` is the forge's own. `settled` is what made the source be up to date, for the worker to compare."""

    key: int
    source: SourceId
    number: str
    url: str
    settled: str
    label: str
    is_public: bool
    is_hidden: bool
    position: str | None
    fault: str | None


_COLUMNS = (
    "source.source_key, source.id, forge_repo.number, forge_repo.url, forge_repo.settled, source.label,"
    " source.is_public, source.is_hidden, source.position, source.fault"
)


async def repositories(connection: aiosqlite.Connection, forge: SourceId) -> list[ForgeRepo]:
    """All of one forge, by source."""
    rows = await connection.execute_fetchall(
        f"SELECT {_COLUMNS} FROM forge_repo JOIN source USING (source_key)"
        " WHERE forge_repo.forge_key = (SELECT source_key FROM source WHERE id = ?) ORDER BY source.id",
        (forge,),
    )
    return [_repo(tuple(row)) for row in rows]


async def repository(connection: aiosqlite.Connection, source: SourceId) -> ForgeRepo | None:
    rows = await connection.execute_fetchall(
        f"SELECT {_COLUMNS} FROM forge_repo JOIN source USING (source_key) WHERE source.id = ?", (source,)
    )
    return next((_repo(tuple(row)) for row in rows), None)


def _repo(row: tuple[object, ...]) -> ForgeRepo:
    key, source, number, url, settled, label, is_public, is_hidden, position, fault = row
    return ForgeRepo(
        key=int(str(key)),
        source=SourceId(str(source)),
        number=str(number),
        url=str(url),
        settled=str(settled),
        label=str(label),
        is_public=bool(is_public),
        is_hidden=bool(is_hidden),
        position=None if position is None else str(position),
        fault=None if fault is None else str(fault),
    )


async def adopt(connection: aiosqlite.Connection, forge_key: int, source_key: int, number: str, url: str) -> None:
    """Tie a source to its number. Inside a transaction."""
    await connection.execute(
        "INSERT INTO forge_repo(source_key, forge_key, number, url) VALUES (?, ?, ?, ?)"
        " ON CONFLICT(source_key) DO UPDATE SET number = excluded.number, url = excluded.url",
        (source_key, forge_key, number, url),
    )


async def rename(connection: aiosqlite.Connection, names: Mapping[int, SourceId]) -> None:
    """Give sources, by key, new ids, which may be those of each other. Inside a transaction."""
    await connection.executemany(
        "UPDATE source SET id = ? WHERE source_key = ?", [(f"renamed {key}", key) for key in names]
    )
    await connection.executemany(
        "UPDATE source SET id = ? WHERE source_key = ?", [(name, key) for key, name in names.items()]
    )


async def settle(connection: aiosqlite.Connection, settled: Iterable[tuple[int, str]]) -> None:
    """Record per source key what made it be up to date. Inside a transaction."""
    await connection.executemany(
        "UPDATE forge_repo SET settled = ?2 WHERE source_key = ?1 AND settled <> ?2", list(settled)
    )


async def pages(connection: aiosqlite.Connection, forge: SourceId) -> dict[str, str]:
    """The answers that were kept of the forge's listing, by request."""
    rows = await connection.execute_fetchall(
        "SELECT request, answer FROM forge_page JOIN source ON source_key = forge_key WHERE source.id = ?", (forge,)
    )
    return {str(request): str(answer) for request, answer in rows}


async def keep_pages(connection: aiosqlite.Connection, forge_key: int, kept: Mapping[str, str]) -> None:
    """Make the kept answers these. Inside a transaction."""
    before = {
        str(request): str(answer)
        for request, answer in await connection.execute_fetchall(
            "SELECT request, answer FROM forge_page WHERE forge_key = ?", (forge_key,)
        )
    }
    await connection.executemany(
        "DELETE FROM forge_page WHERE forge_key = ? AND request = ?",
        [(forge_key, request) for request in before.keys() - kept],
    )
    await connection.executemany(
        "INSERT INTO forge_page(forge_key, request, answer) VALUES (?, ?, ?)"
        " ON CONFLICT(forge_key, request) DO UPDATE SET answer = excluded.answer",
        [(forge_key, request, answer) for request, answer in kept.items() if before.get(request) != answer],
    )


async def forget(connection: aiosqlite.Connection, source: SourceId) -> None:
    """Of a repository, or of a forge as a whole, whose source is about to go. Inside a transaction."""
    for table, column in (("forge_page", "forge_key"), ("forge_repo", "forge_key"), ("forge_repo", "source_key")):
        await connection.execute(
            f"DELETE FROM {table} WHERE {column} = (SELECT source_key FROM source WHERE id = ?)", (source,)
        )
