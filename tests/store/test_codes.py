"""Many vectors: their codes are in step with them, say where the nearest are, and lose and tell nothing."""

import asyncio
import re
from pathlib import Path
from random import Random

import numpy
import pytest

from index.errors import StoreError
from index.model import Kind, SourceId, Vector
from index.store import codes, estimates, nearest, signs, vectors
from index.store.driver import Connection, connector
from index.store.estimates import Codes, Estimates
from index.store.held import HeldCodes
from index.store.scope import Scope, source_range
from index.store.signs import Frame
from index.store.store import Store, open_store

COUNT, DIMENSION = 3_000, 72
FEW, MANY = source_range(1), source_range(2)
EVERYWHERE = Scope(None, None)


def made(seed: int, count: int = COUNT) -> "numpy.ndarray":
    """Crowded in places, as those of a model are, and off the middle."""
    draw = numpy.random.default_rng(seed)
    centres = numpy.random.default_rng(1).standard_normal((60, DIMENSION)) + 1
    points = centres[draw.integers(0, 60, count)] + 0.7 * draw.standard_normal((count, DIMENSION))
    unit: numpy.ndarray = (points / numpy.linalg.norm(points, axis=1, keepdims=True)).astype("<f4")
    return unit


def scaled(points: "numpy.ndarray") -> "numpy.ndarray":
    """As they are stored."""
    return numpy.clip(numpy.rint(points * vectors.scale(DIMENSION)), -127, 127).astype(numpy.int8)


def exactly(points: "numpy.ndarray", question: "numpy.ndarray", limit: int = 10) -> list[int]:
    """Which rows are nearest, in their order."""
    far = ((scaled(points) - scaled(question).astype(int)) ** 2).sum(axis=1)
    return list(map(int, numpy.argsort(far, kind="stable")[:limit]))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is many, in this file."""
    monkeypatch.setattr(codes, "CODES_FROM", 2_000)
    monkeypatch.setattr(nearest, "CANDIDATES", 150)
    monkeypatch.setattr(nearest, "FIRST", 40)
    monkeypatch.setattr(nearest, "EXACT_UP_TO", 300)
    monkeypatch.setattr(nearest, "MOST_ROWS", 700)
    monkeypatch.setattr(estimates, "PIECE", 512)
    monkeypatch.setattr(estimates, "LONG", 100)


async def begin(store: Store) -> None:
    """Two sources, one document in each, of two kinds."""
    async with store.transaction():
        for number, kind in ((1, "doc"), (2, "script")):
            await store.register(SourceId(f"repo:{number}"), label="", is_public=True)
            await store.connection.execute(
                "INSERT INTO document VALUES (?1, ?1, ?1, ?2, '', 'a', NULL, '1', NULL, NULL, 0, '{}')", (number, kind)
            )
        await store.connection.execute("DROP TRIGGER chunk_insert")


async def add(store: Store, points: "numpy.ndarray", source: int = 2, first: int = 0, parts: int = 1) -> None:
    """Chunks without words: of them these tests look at nothing else."""
    keys = [(source << 32) + first + number for number in range(len(points) // parts)]
    async with store.transaction():
        await store.connection.executemany(
            "INSERT INTO chunk VALUES (?1, ?1, ?2, ?1, 1, '', '', '', '[]', NULL, NULL, NULL, NULL, '[]', '[]', x'')",
            [(key, source) for key in keys],
        )
        await store.connection.executemany(
            "INSERT INTO part(part_key, chunk_key, ordinal, first, past, digest, has_vector)"
            " VALUES (?1 * 8 + ?2, ?1, ?2, 0, 0, x'', 1)",
            [(key, part) for key in keys for part in range(parts)],
        )
        await store.connection.executemany(
            "INSERT INTO vector VALUES (?1, ?1 * 8 + ?2, ?3)",
            [(keys[at // parts], at % parts, row.tobytes()) for at, row in enumerate(scaled(points))],
        )


async def take_away(store: Store, condition: str) -> None:
    async with store.transaction():
        await store.connection.execute(f"DELETE FROM vector WHERE {condition}")
        await store.connection.execute(f"DELETE FROM part WHERE {condition}")


def asked(
    bare: Connection, question: "numpy.ndarray", scope: Scope = EVERYWHERE, held: HeldCodes | None = None
) -> list[int]:
    """Numbers of chunks inside their source, nearest first."""
    found = nearest.nearest(bare, Vector(question.tobytes()), scope, limit=10, held=held)
    assert found == sorted(found, key=lambda one: (-one.cosine, one.chunk_key))
    return [one.chunk_key & 0xFFFF_FFFF for one in found]


async def ask(
    store: Store, question: "numpy.ndarray", scope: Scope = EVERYWHERE, held: HeldCodes | None = None
) -> list[int]:
    return await store.connection.run(lambda bare: asked(bare, question, scope, held))


async def recall(store: Store, points: "numpy.ndarray", held: HeldCodes | None = None) -> float:
    questions = made(3, 20)
    shares = [
        len(set(await ask(store, question, held=held)) & set(exactly(points, question))) for question in questions
    ]
    return sum(shares) / 200


async def is_in_step(store: Store) -> bool:
    waiting = list(await store.connection.execute_fetchall("SELECT 1 FROM uncoded"))
    return not waiting and await codes.out_of_step(store.connection) == 0


def test_codes_are_the_same_bytes_one_by_one_and_all_at_once() -> None:
    rows = [row.tobytes() for row in scaled(made(2, 300))]
    frame = Frame.around(rows)
    assert frame.coded(range(300), rows) == b"".join(frame.coded([at], [row]) for at, row in enumerate(rows))
    assert len(frame.coded([0], rows[:1])) == 1 + 4 + 4 + 2 * 8
    centre = numpy.frombuffer(frame.centre, numpy.int8)
    assert abs(centre - scaled(made(2, 300)).mean(axis=0)).max() <= 0.5
    assert not numpy.frombuffer(frame.coded([0], [frame.centre]), frame.records())["factor"], "no direction, no fault"


def test_most_of_the_nearest_have_the_nearest_codes() -> None:
    points = scaled(made(2))
    frame = Frame.around([row.tobytes() for row in points])
    records = numpy.frombuffer(frame.coded([0] * COUNT, [row.tobytes() for row in points]), frame.records())
    table = Codes(COUNT, frame.words)
    table.fill(0, numpy.arange(COUNT), records)
    found = 0
    for question in made(3, 20):
        likely = Estimates(table, frame.question(scaled(question).tobytes()), table.spans(None))
        best = set(likely.nearest(100).chunks.tolist())
        assert len(best) == 100
        found += len(best & set(exactly(made(2), question)))
        assert set(likely.nearest(COUNT).chunks.tolist()) == set(range(COUNT))
    assert found / 200 >= 0.95


@pytest.mark.parametrize("dimension", [64, 192, 384, 1_024])
def test_a_question_is_turned_as_vectors_are(dimension: int) -> None:
    columns = numpy.random.default_rng(2).integers(-254, 255, (dimension, 20)).astype(numpy.int32)
    together = signs._turned(columns)
    for at in range(20):
        assert signs._turned_alone(columns[:, at].astype(float)).tolist() == together[:, at].tolist()


def test_estimates_are_as_far_off_as_they_say() -> None:
    points = scaled(made(2))
    rows = [row.tobytes() for row in points]
    frame = Frame.around(rows)
    table = Codes(COUNT, frame.words)
    table.fill(0, numpy.arange(COUNT), numpy.frombuffer(frame.coded([0] * COUNT, rows), frame.records()))
    off = []
    for question in scaled(made(3, 20)):
        likely = Estimates(table, frame.question(question.tobytes()), table.spans(None)).nearest(COUNT)
        far = ((points[likely.chunks] - question.astype(int)) ** 2).sum(axis=1)
        off.append((likely.estimates - far) / likely.deviations)
    assert abs(numpy.mean(off)) < 0.1
    assert 0.8 < numpy.std(off) < 1.1


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1), "in the sample", "not in the sample"])
def test_wherever_the_near_ones_stand_the_same_are_chosen(order: slice | str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of each piece says how near they will be, and may be wrong."""
    points = scaled(made(2))
    question = scaled(made(3, 1))[0]
    by_distance = numpy.argsort(((points - question.astype(int)) ** 2).sum(axis=1), kind="stable")
    if isinstance(order, slice):
        standing = by_distance[order]
    else:  # the nearest of all are in the sample, or the farthest
        sampled = numpy.arange(COUNT) % (8 * 16) < 8
        places = numpy.argsort(sampled != (order == "in the sample"), kind="stable")
        standing = numpy.empty(COUNT, int)
        standing[places] = by_distance
    rows = [row.tobytes() for row in points[standing]]
    frame = Frame.around(rows)
    table = Codes(COUNT, frame.words)
    table.fill(0, numpy.arange(COUNT), numpy.frombuffer(frame.coded([0] * COUNT, rows), frame.records()))
    monkeypatch.setattr(estimates, "RUN", 8)
    monkeypatch.setattr(estimates, "SAMPLED", 16)
    asked = frame.question(question.tobytes())
    found = Estimates(table, asked, table.spans(None)).nearest(10)
    monkeypatch.setattr(estimates, "MANY", COUNT)
    assert Estimates(table, asked, table.spans(None)).nearest(10).chunks.tolist() == found.chunks.tolist()
    in_two = Estimates(table, asked, [(0, 90), (90, 700), (700, 760), (760, COUNT)])
    assert in_two.nearest(10).chunks.tolist() == found.chunks.tolist()


async def test_codes_come_and_go_with_the_number_of_vectors_and_are_in_step(tmp_path: Path) -> None:
    points = made(2)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, points[:1_990])
        assert await codes.counts(store.connection) == (1_990, 0)
        assert await recall(store, points[:1_990]) == 1, "all are measured"
        await add(store, points[1_990:], first=1_990)
        assert await codes.counts(store.connection) == (COUNT, COUNT)
        assert await is_in_step(store)
        assert await recall(store, points) >= 0.97
        with pytest.raises(StoreError, match="another length"):
            await ask(store, numpy.ones(DIMENSION + 1, "<f4"))
        await take_away(store, "chunk_key % 2")
        assert await codes.counts(store.connection) == (COUNT // 2, COUNT // 2)
        assert await is_in_step(store)
        await take_away(store, "chunk_key & 0xFFFFFFFF >= 1800")
        assert await codes.counts(store.connection) == (900, 0)
        assert await is_in_step(store)
        gone = "SELECT (SELECT count(*) FROM frame), (SELECT count(*) FROM code WHERE data IS NOT NULL)"
        assert [tuple(row) for row in await store.connection.execute_fetchall(gone)] == [(0, 0)]
        with pytest.raises(StoreError, match="another length"):
            await ask(store, numpy.ones(DIMENSION + 1, "<f4"))


async def test_a_frame_is_outgrown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = made(2)
    monkeypatch.setattr(codes, "CODES_FROM", 100)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        framed = []
        for first, past in ((0, 150), (150, 160 * 15), (160 * 15, COUNT)):
            await add(store, points[first:past], first=first)
            framed += [row[0] for row in await store.connection.execute_fetchall("SELECT vectors FROM frame")]
            assert await is_in_step(store)
        assert framed == [150, 2_400, 2_400]


async def test_a_small_scope_is_exact_and_a_larger_one_nearly(tmp_path: Path) -> None:
    points = made(2)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, points)
        first = MANY[0]
        rooms = [
            Scope(None, ((first + 1_000, first + 1_250),)),
            Scope(None, None, keys=frozenset(first + 7 * n for n in range(200))),
        ]
        larger = [
            Scope(None, ((first, first + 99), (first + 1_000, first + 1_800))),
            Scope(None, None, keys=frozenset(first + 3 * n for n in range(900))),
        ]
        for scope in (*rooms, *larger):
            inside = numpy.array([scope.may_hold(first + number) for number in range(COUNT)])
            numbers = numpy.flatnonzero(inside)
            right = 0
            for question in made(3, 10):
                found = await ask(store, question, scope)
                best = numbers[exactly(points[inside], question)].tolist()
                assert found == best or scope in larger
                right += len(set(found) & set(best))
            assert right >= 95
        assert await ask(store, points[0], Scope((), ())) == []


async def test_a_chunk_is_as_near_as_its_best_part(tmp_path: Path) -> None:
    points = made(2)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, points, parts=3)
        assert await codes.counts(store.connection) == (COUNT, COUNT)
        right = 0
        for question in made(3, 20):
            best = list(dict.fromkeys(row // 3 for row in exactly(points, question, 30)))[:10]
            right += len(set(await ask(store, question)) & set(best))
        assert right >= 195


@pytest.mark.parametrize("dimension", [5, 64, 65, 1_024])
def test_codes_are_of_any_length(dimension: int) -> None:
    points = numpy.random.default_rng(2).integers(-90, 90, (400, dimension)).astype(numpy.int8)
    rows = [row.tobytes() for row in points]
    frame = Frame.around(rows)
    records = numpy.frombuffer(frame.coded(range(400), rows), frame.records())
    table = Codes(400, frame.words)
    table.fill(0, numpy.arange(400), records)
    for at in range(0, 400, 40):
        assert at in Estimates(table, frame.question(rows[at]), table.spans(None)).nearest(40).chunks


async def test_what_may_not_be_seen_moves_nothing(tmp_path: Path) -> None:
    points, questions = made(2, 2_500), made(3, 10)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, points)
        seen = Scope((MANY,), (MANY,))
        before = [await ask(store, question, seen) for question in questions]
        await add(store, numpy.repeat(questions, 60, axis=0), source=1)
        assert [await ask(store, question, seen) for question in questions] == before
        assert [await ask(store, question) for question in questions] != before


async def test_of_the_likely_only_those_are_measured_that_may_be_among_the_first(tmp_path: Path) -> None:
    points = made(2)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, points)
        lists: list[str] = []
        await store.connection.run(lambda bare: bare.set_trace_callback(lists.append))
        measured = []
        for question in [*made(3, 10), points[7]]:
            lists.clear()
            await ask(store, question)
            keys = [key for one in lists if "wanted CROSS JOIN" in one for key in set(re.findall(r"\d{10}", one))]
            assert len(keys) == len(set(keys)), "none twice"
            measured.append(len(keys))
        await store.connection.run(lambda bare: bare.set_trace_callback(None))
        assert min(measured) >= nearest.FIRST
        assert sum(measured) < 0.9 * len(measured) * nearest.CANDIDATES
        assert max(measured) > nearest.FIRST


async def test_a_filter_on_documents_loses_nothing_however_far_its_hits_are(tmp_path: Path) -> None:
    question = made(3, 1)[0]
    far = made(4, 20) - 2 * question
    far /= numpy.linalg.norm(far, axis=1, keepdims=True)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, made(2))
        await add(store, far.astype("<f4"), source=1)
        scope = Scope(None, None, predicate="document.kind = ?", values=(Kind.DOC.value,))
        assert await ask(store, question, scope) == exactly(far, question)


async def test_of_equal_vectors_the_lower_keys_come_first(tmp_path: Path) -> None:
    points = made(2)
    points[100:2_900] = points[5]
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, points)
        assert await ask(store, points[5]) == [5, *range(100, 109)]


async def test_a_reader_reads_what_changed_and_finds_what_a_new_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points, questions, draw = made(2), made(3, 5), Random(1)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, points[:2_900])
        async with open_store(tmp_path / "index.sqlite", is_writer=False) as reader:
            held = HeldCodes()
            await ask(reader, questions[0], held=held)
            read: list[str] = []
            await reader.connection.run(lambda bare: bare.set_trace_callback(read.append))
            await ask(reader, questions[0], held=held)
            assert not [one for one in read if "FROM code" in one]
            for number in range(12):
                if number == 6:
                    await add(store, points[:50], source=1)  # before all others
                else:
                    low = MANY[0] + draw.randrange(2_800)
                    await take_away(store, f"chunk_key BETWEEN {low} AND {low + draw.choice((3, 300))}")
                read.clear()
                for question in questions:
                    assert await ask(reader, question, held=held) == await ask(store, question)
                assert 0 <= len([one for one in read if "SELECT data FROM code" in one]) <= 2
            async with store.transaction():
                await codes.rewrite(store.connection)
            assert await is_in_step(store)
            for question in questions:
                assert await ask(reader, question, held=held) == await ask(store, question)
            await take_away(store, "TRUE")
            assert await ask(reader, questions[0], held=held) == []


async def test_threads_with_connections_of_their_own_share_codes_while_they_change(tmp_path: Path) -> None:
    points, questions = made(2), made(3, 5)
    file = tmp_path / "index.sqlite"
    held, right = HeldCodes(), list[bool]()
    is_over = False

    def look() -> None:
        connection = connector(file, is_writer=False)()
        rounds = 0
        while not is_over or rounds < 3:
            rounds += 1
            connection.execute("BEGIN")
            for question in questions:
                right.append(asked(connection, question, held=held) == asked(connection, question))
            connection.execute("COMMIT")
        connection.close()

    async with open_store(file, is_writer=True) as store:
        await begin(store)
        await add(store, points)
        looking = [asyncio.create_task(asyncio.to_thread(look)) for _ in range(2)]
        for number in range(0, 900, 60):
            await take_away(store, f"chunk_key & 0xFFFFFFFF BETWEEN {number} AND {number + 40}")
        is_over = True
        await asyncio.gather(*looking)
    assert len(right) >= 30 and all(right)


async def test_a_transaction_that_fails_while_codes_are_made_leaves_them_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = made(2)

    def fails(self: Frame, chunks: object, rows: object) -> bytes:
        raise StoreError("no more")

    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, points[:2_500])
        state = await store.value(codes.STATE)
        with monkeypatch.context() as broken:
            broken.setattr(Frame, "coded", fails)
            with pytest.raises(StoreError, match="no more"):
                await add(store, points[2_500:], first=2_500)
        assert await store.value(codes.STATE) == state
        assert await codes.counts(store.connection) == (2_500, 2_500)
        assert await is_in_step(store)
        await add(store, points[2_500:], first=2_500)
        assert await store.value(codes.STATE) != state
        assert await is_in_step(store)


async def test_when_the_embedder_changes_all_vectors_go_however_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "DROPPED_AT_ONCE", 1_000)
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, made(2), parts=3)
        async with store.transaction():
            await vectors.drop_all(store.connection)
        assert await codes.counts(store.connection) == (0, 0)
        assert await vectors.pending_count(store.connection) == COUNT
        assert await is_in_step(store)


async def test_a_vector_of_another_length_has_no_code_and_stops_nothing(tmp_path: Path) -> None:
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        await begin(store)
        await add(store, made(2, 2_100))
        async with store.transaction():
            await store.connection.execute("UPDATE vector SET data = zeroblob(9) WHERE chunk_key = ?", (MANY[0] + 3,))
        assert await codes.counts(store.connection) == (2_099, 2_099)
        assert await is_in_step(store)
        assert 3 not in await ask(store, made(2, 2_100)[3])


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE code SET data = substr(data, 1, 100)",
        "UPDATE code SET data = NULL",
        "UPDATE code SET digest = NULL",
        "UPDATE code SET vectors = 3 WHERE block = (SELECT max(block) FROM code)",
        "UPDATE frame SET centre = x''",
        "DELETE FROM frame",
    ],
)
async def test_damaged_codes_are_named_by_a_search_and_mended_by_a_repair(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "index.sqlite"
    points = made(2, 2_100)
    async with open_store(file, is_writer=True) as store:
        await begin(store)
        await add(store, points)
    connection = connector(file, is_writer=True)()
    connection.execute(damage)
    connection.close()
    async with open_store(file, is_writer=True) as store:
        with pytest.raises(StoreError, match="sources verify --repair"):
            await ask(store, points[7])
        async with store.transaction():
            assert await codes.out_of_step(store.connection) > 0
            await codes.rewrite(store.connection)
        assert await is_in_step(store)
        assert (await ask(store, points[7]))[0] == 7
