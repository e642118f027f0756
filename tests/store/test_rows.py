"""Many rows in few statements: each of them once, as it was given."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from index.store import rows
from index.store.driver import Connection, DatabaseError, connector
from index.store.rows import AT_ONCE


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with closing(connector(tmp_path / "rows.sqlite", is_writer=True)()) as made:
        made.execute("CREATE TABLE row(number INTEGER PRIMARY KEY, said TEXT NOT NULL)")
        made.execute("BEGIN")
        yield made


def stored(connection: Connection) -> list[tuple[int, str]]:
    return connection.execute("SELECT number, said FROM row ORDER BY rowid").fetchall()


@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 5 * AT_ONCE + 3])
def test_every_row_is_there_once(connection: Connection, count: int) -> None:
    given = [(number, f"said {number}") for number in range(count)]
    rows.insert(connection, "row(number, said)", given)
    assert stored(connection) == given


def test_what_a_conflict_does_is_said_for_each(connection: Connection) -> None:
    instead = "ON CONFLICT(number) DO UPDATE SET said = excluded.said"
    rows.insert(connection, "row(number, said)", [(number, "before") for number in range(2 * AT_ONCE)])
    rows.insert(connection, "row(number, said)", [(number, "after") for number in range(AT_ONCE + 1)], or_else=instead)
    assert [said for _, said in stored(connection)].count("after") == AT_ONCE + 1


def test_one_that_cannot_be_stored_is_an_error(connection: Connection) -> None:
    with pytest.raises(DatabaseError):
        rows.insert(connection, "row(number, said)", [(number // 2, "twice") for number in range(AT_ONCE)])
    assert stored(connection) == []


def test_what_is_neither_number_nor_text_is_stored_as_it_is(connection: Connection) -> None:
    connection.execute("CREATE TABLE value(number INTEGER PRIMARY KEY, held BLOB)")
    given = [None, b"", b"\0\xff", bytes(100_000)]
    rows.insert(connection, "value(held)", [(value,) for value in given])
    held = connection.execute("SELECT held, typeof(held) FROM value ORDER BY number").fetchall()
    assert held == [(value, "null" if value is None else "blob") for value in given]
