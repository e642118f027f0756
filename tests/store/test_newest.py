"""What is newest, by whichever way a scope says what it leaves."""

from pathlib import Path

import pytest

from index.store import newest as newest_module
from index.store.newest import newest
from index.store.scope import Scope, source_range
from tests.contract.conftest import open_bench
from tests.contract.test_engine import DOCS, OPS, page


async def test_ranges_keys_and_a_predicate_leave_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bench(tmp_path, "sqlite") as bench:
        await bench.put(
            *(
                page(f"{n:02}", f"text {n}", "more", source=(DOCS, OPS)[n % 2], last_ms=n, has_link=n > 4)
                for n in range(9)
            )
        )
        store = bench._store
        everything = list(await store.connection.execute_fetchall("SELECT chunk_key, id, ordinal FROM chunk"))

        async def numbers(scope: Scope, limit: int = 20) -> list[str]:
            order = await store.connection.run(lambda bare: newest(bare, scope, limit=limit))
            rows = [
                list(await store.connection.execute_fetchall("SELECT body FROM chunk WHERE id = ?", (one,)))
                for one in order
            ]
            return [str(found[0][0]).removeprefix("text ") for found in rows]

        [docs] = {source.key for source in await store.sources() if source.id == DOCS}
        odd = (source_range(docs),)
        assert await numbers(Scope(None, None)) == [*"876543210"]
        assert await numbers(Scope(odd, odd)) == [*"86420"]
        assert await numbers(Scope(odd, odd), limit=2) == [*"86"]
        assert await numbers(Scope(None, None, predicate="document.has_link")) == [*"8765"]
        assert await numbers(Scope(odd, odd, predicate="document.has_link")) == [*"86"]
        seconds = frozenset(int(row[0]) for row in everything if row[2] == 1)
        assert await numbers(Scope(None, None, keys=seconds)) == ["more"] * 9
        assert await numbers(Scope(None, None, predicate="chunk.ordinal = ?", values=(1,))) == ["more"] * 9
        monkeypatch.setattr(newest_module, "_AT_ONCE", 1)
        monkeypatch.setattr(newest_module, "_LOOKED_AT", 3)
        assert await numbers(Scope(None, None, predicate="document.last_ms < 3"), limit=2) == [*"21"]
        assert await numbers(Scope(odd, odd, predicate="document.last_ms < 3"), limit=9) == [*"20"]
        assert await numbers(Scope(None, ())) == await numbers(Scope(None, None), limit=0) == []
