"""How postings are asked for: what costs nothing in a small index and most of the time in a large one."""

from collections.abc import Callable

from index.model import Document
from index.store import postings
from index.store.driver import Connection
from index.store.store import Store
from tests.store.test_store import put


async def test_the_ends_of_ranges_are_worked_out_once_and_not_for_each_posting(
    store: Store, document: Callable[..., Document]
) -> None:
    await put(store, document("a.md", "one two", "one three"))
    asked: list[str] = []
    ranges = ((0, 1 << 40), (1 << 41, 1 << 42))

    def ask(connection: Connection) -> list[str]:
        connection.set_trace_callback(asked.append)
        found = postings.having(connection, "one", ranges, limit=10).split(",")
        connection.set_trace_callback(None)
        return found

    assert len(await store.connection.run(ask)) == 2
    plan = await store.connection.execute_fetchall(f"EXPLAIN QUERY PLAN {asked[0]}")
    assert [row[3] for row in plan].count("CO-ROUTINE r") == 2  # of the tiers; a flattened `r` would be in no plan
