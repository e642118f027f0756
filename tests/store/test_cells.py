"""Many vectors: divided into regions and cells, found again, and none lost on the way."""

from pathlib import Path
from random import Random

import numpy
import pytest

from index.errors import StoreError
from index.model import EVERYTHING, Corpus, Filters, SourceId, Vector
from index.store import nearest, vectors
from index.store.cells import counts, divide
from index.store.scope import Scope, scope_of
from index.store.soundness import CHECKS
from index.store.store import Store, open_store

COUNT, DIMENSION = 20_400, 16
CHECKED = ("part_without_vector", "vector_without_part", "vector_outside_cells")


def made(seed: int) -> "numpy.ndarray":
    draw = numpy.random.default_rng(seed)
    centres = numpy.random.default_rng(1).standard_normal((300, DIMENSION))
    points = centres[draw.integers(0, 300, COUNT)] + 0.3 * draw.standard_normal((COUNT, DIMENSION))
    return (points / numpy.linalg.norm(points, axis=1, keepdims=True)).astype("<f4")


def scaled(points: "numpy.ndarray") -> "numpy.ndarray":
    """As they are stored."""
    return numpy.clip(numpy.rint(points * vectors.scale(DIMENSION)), -127, 127).astype(numpy.int8)


async def fill(store: Store, points: "numpy.ndarray") -> None:
    """Chunks without words, one part each: of them this test looks at nothing else."""
    connection = store.connection
    async with store.transaction():
        key = await store.register(SourceId("repo:many"), label="many", is_public=True)
        keys = [(key << 32) + number for number in range(1, len(points) + 1)]
        await connection.execute(
            "INSERT INTO document VALUES (1, 'repo:many a', ?, 'doc', '', 'a', NULL, '1', NULL, NULL, 0, '{}')", (key,)
        )
        await connection.execute("DROP TRIGGER chunk_insert")
        await connection.executemany(
            "INSERT INTO chunk VALUES (?1, ?1, 1, ?1, 1, '', '', '', '[]', NULL, NULL, NULL, NULL, '[]', '[]', x'')",
            [(one,) for one in keys],
        )
        await connection.executemany(
            "INSERT INTO part(part_key, chunk_key, ordinal, first, past, digest, cell) VALUES (?, ?, 0, 0, 0, x'', 0)",
            list(enumerate(keys, start=1)),
        )
        await connection.executemany(
            "INSERT INTO vector VALUES (0, ?, ?, ?)",
            [
                (part, one, row.tobytes())
                for part, (one, row) in enumerate(zip(keys, scaled(points), strict=True), start=1)
            ],
        )


async def near_to(store: Store, question: "numpy.ndarray", scope: Scope) -> list[nearest.Near]:
    vector = Vector(question.tobytes())
    return await store.connection.run(lambda connection: nearest.nearest(connection, vector, scope, limit=10))


async def found(store: Store, question: "numpy.ndarray") -> set[int]:
    scope = await scope_of(store.connection, await store.sources(), EVERYTHING, Filters(corpora=frozenset(Corpus)))
    near = await near_to(store, question, scope)
    return {one.chunk_key & 0xFFFF_FFFF for one in near}


async def holds_exactly(store: Store, points: "numpy.ndarray", questions: "numpy.ndarray", low: int, high: int) -> None:
    """In a narrow scope, the chunks from `low` to `high`, the nearest are those of a whole scan, in their order."""
    room = Scope(None, (((1 << 32) + low, (1 << 32) + high),), is_narrow=True)
    for question in questions:
        near = await near_to(store, question, room)
        far = ((scaled(points[low - 1 : high]) - scaled(question).astype(int)) ** 2).sum(axis=1)
        best = numpy.argsort(far, kind="stable")[:10] + low
        assert [one.chunk_key & 0xFFFF_FFFF for one in near] == best.tolist()


async def refuses_another_length(store: Store) -> None:
    with pytest.raises(StoreError, match="another length"):
        await near_to(store, numpy.ones(DIMENSION + 1, "<f4"), Scope(None, None))


async def by_chunk(store: Store) -> set[tuple[int, int, bytes]]:
    return {tuple(row) for row in await store.connection.execute_fetchall("SELECT * FROM chunk_vector")}


async def by_cell(store: Store) -> set[tuple[int, int, bytes]]:
    rows = await store.connection.execute_fetchall("SELECT chunk_key, part_key, data FROM vector WHERE cell <> 0")
    assert rows
    return {tuple(row) for row in rows}


async def test_what_is_divided_into_cells_is_whole_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.store.cells.CELLS_FROM", 20_000)
    monkeypatch.setattr(nearest, "MOST_ROWS", 6_000)
    points = made(2)
    questions = made(3)[Random(1).sample(range(COUNT), 20)]
    exact = numpy.argsort(-(points @ questions.T), axis=0)[:10].T + 1
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(store, points)
        await holds_exactly(store, points, questions[:3], 5_001, 5_400)  # looked up one by one
        await holds_exactly(store, points, questions[:3], 5_001, 15_000)  # among all that are read
        await refuses_another_length(store)
        before = await store.connection.execute_fetchall("SELECT part_key, chunk_key, data FROM vector ORDER BY 1")
        async with store.transaction():
            assert await divide(store.connection)
            assert not await divide(store.connection)
        after = await store.connection.execute_fetchall("SELECT part_key, chunk_key, data FROM vector ORDER BY 1")
        assert list(map(tuple, after)) == list(map(tuple, before))
        count, cells = await counts(store.connection)
        assert count == COUNT and 120 <= cells <= 204
        for check in CHECKS:
            if check.name in CHECKED:
                assert list(await store.connection.execute_fetchall(check.question)) == [], check.name
        shares = [
            len(await found(store, question) & set(map(int, best))) / 10
            for question, best in zip(questions, exact, strict=True)
        ]
        assert sum(shares) / len(shares) >= 0.95
        await refuses_another_length(store)
        assert await by_chunk(store) == await by_cell(store)
        await holds_exactly(store, points, questions, 5_001, 5_400)
        async with store.transaction():
            await store.connection.execute("DELETE FROM vector WHERE part_key % 2")
            await store.connection.execute("DELETE FROM part WHERE part_key % 2")
        assert await by_chunk(store) == await by_cell(store)
        async with store.transaction():
            await store.connection.execute("DELETE FROM vector WHERE part_key > 200")
            await store.connection.execute("DELETE FROM part WHERE part_key > 200")
            assert await divide(store.connection)
        assert await counts(store.connection) == (100, 0)
        assert await by_chunk(store) == set()
        cells_left = await store.connection.execute_fetchall("SELECT DISTINCT cell FROM part")
        assert [row[0] for row in cells_left] == [0]


def with_outliers(seed: int) -> "numpy.ndarray":
    """Four hundred, of which four are far from all others and from each other."""
    draw = numpy.random.default_rng(seed)
    points = numpy.concatenate([draw.standard_normal((396, DIMENSION)), 30 * draw.standard_normal((4, DIMENSION))])
    return 4 * points / vectors.scale(DIMENSION)


@pytest.mark.parametrize("points", [made(4), *map(with_outliers, (66, 231, 374))], ids=["many", "a", "b", "c"])
async def test_a_centroid_is_never_one_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, points: "numpy.ndarray"
) -> None:
    """It outlives the vectors that it was made of. The small sets had regions of one vector, and that as a centroid."""
    monkeypatch.setattr("index.store.cells.CELLS_FROM", 20_000)
    if len(points) < COUNT:
        monkeypatch.setattr("index.store.cells.CELLS_FROM", 400)
        monkeypatch.setattr("index.store.cells.VECTORS_PER_CELL", 11)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await fill(store, points)
        async with store.transaction():
            assert await divide(store.connection)
        same = await store.connection.execute_fetchall(
            "SELECT (SELECT count(*) FROM cell WHERE centroid IN (SELECT data FROM vector)),"
            " (SELECT count(*) FROM region WHERE centroid IN (SELECT data FROM vector))"
        )
    assert [tuple(row) for row in same] == [(0, 0)]
