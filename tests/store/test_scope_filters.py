"""What a reader's filters let through, whichever way it is found: listed, as ranges, or asked of each candidate."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from index.model import EVERYTHING, Corpus, Filters, Kind, UserId
from index.store import listing, scope
from index.store.driver import Connection, connector
from index.store.newest import newest
from index.store.postings import passing
from index.store.scope import crossed, runs, scope_of
from index.store.store import open_store, sources

Value = TypeVar("Value")
PEOPLE = [UserId(f"@{name}:example.org") for name in ("ada", "bob", "eve")]


@pytest.fixture
async def connection(tmp_path: Path) -> Connection:
    """Rooms, a repository and notes, documents of some chunks each, some of unknown time."""
    file = tmp_path / "index.sqlite"
    async with open_store(file, is_writer=True):
        pass
    return connector(file, is_writer=True)()


def put(connection: Connection, table: str, **values: object) -> None:
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table}({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


def fill(connection: Connection, draw: random.Random) -> None:
    for source, name in enumerate(("chat:!a", "chat:!b", "chat:!c", "repo:docs", "notes:wiki"), start=1):
        is_chat = name.startswith("chat")
        corpus = {"chat": "chat", "repo": "forge", "notes": "notes"}[name.partition(":")[0]]
        put(connection, "source", source_key=source, id=name, corpus=corpus, label=name, is_public=1, chunks=1)
        chunk = source << 32
        for document in range(source * 100, source * 100 + draw.randrange(1, 12)):
            first = draw.randrange(60) if is_chat or draw.random() < 0.7 else None
            put(
                connection, "document", document_key=document, id=f"d{document}", source_key=source, title="",
                kind="window" if is_chat else draw.choice(["readme", "doc"]), revision="", payload="{}",
                first_ms=first, last_ms=None if first is None else first + draw.randrange(9),
                has_link=draw.randrange(2),
            )  # fmt: skip
            if not is_chat and draw.random() < 0.5:
                put(connection, "document_label", document_key=document, name="tag", value=draw.choice("xy"))
            for ordinal in range(draw.randrange(1, 4)):
                chunk += draw.randrange(1, 3)
                section = None if is_chat else draw.choice([None, "Purpose"])
                put(
                    connection, "chunk", chunk_key=chunk, id=chunk, document_key=document, ordinal=ordinal, size=1,
                    title="", body="a", keys="", heading="[]", section=section, flags="[]", messages="[]", digest=b"",
                )  # fmt: skip
                for sender in draw.sample(PEOPLE, draw.randrange(3)) if is_chat else ():
                    put(connection, "chunk_sender", sender=sender, chunk_key=chunk)


def drawn(draw: random.Random) -> Filters:
    def some(values: list[Value], share: float) -> frozenset[Value]:
        return frozenset(draw.sample(values, draw.randrange(1, len(values) + 1) if draw.random() < share else 0))

    return Filters(
        corpora=some(list(Corpus), 0.2),
        kinds=some([Kind.README, Kind.DOC, Kind.WINDOW], 0.3),
        sections=some(["purpose"], 0.2),
        tags=some(["X", "y"], 0.2),
        senders=some(PEOPLE, 0.3),
        after_ms=draw.randrange(60) if draw.random() < 0.4 else None,
        before_ms=draw.randrange(60) if draw.random() < 0.4 else None,
        has_link=draw.random() < 0.3,
    )


def expected(connection: Connection, filters: Filters) -> set[int]:
    rows = connection.execute(
        "SELECT chunk_key, kind, upper(section), first_ms, last_ms, has_link, corpus,"
        " (SELECT group_concat(value) FROM document_label AS l WHERE l.document_key = d.document_key AND name = 'tag'),"
        " (SELECT group_concat(sender) FROM chunk_sender AS w WHERE w.chunk_key = c.chunk_key)"
        " FROM chunk AS c JOIN document AS d USING (document_key) JOIN source USING (source_key)"
    ).fetchall()
    return {
        key
        for key, kind, section, first, last, has_link, corpus, tags, senders in rows
        if (not filters.corpora or corpus in filters.corpora)
        and (not filters.kinds or kind in filters.kinds)
        and (not filters.sections or section == "PURPOSE")
        and (not filters.tags or not {tag.casefold() for tag in filters.tags}.isdisjoint((tags or "").split(",")))
        and (not filters.senders or not filters.senders.isdisjoint((senders or "").split(",")))
        and (filters.after_ms is None or (last is not None and last >= filters.after_ms))
        and (filters.before_ms is None or (first is not None and first < filters.before_ms))
        and (not filters.has_link or has_link)
    }


def newest_of(connection: Connection, filters: Filters) -> list[int]:
    """The documents that have a chunk that passes, newest first."""
    passed = expected(connection, filters)
    rows = connection.execute(
        "SELECT document_key, chunk_key FROM document JOIN chunk USING (document_key)"
        " ORDER BY last_ms DESC, document.id"
    ).fetchall()
    return list(dict.fromkeys(document for document, chunk in rows if chunk in passed))


def documents_of(connection: Connection, chunks: Sequence[int]) -> list[int]:
    held = dict(connection.execute("SELECT chunk_key, document_key FROM chunk").fetchall())  # ids are keys here
    return [held[chunk] for chunk in chunks]


@pytest.mark.parametrize(
    ("narrow", "listed", "spots"), [(20_000, 100_000, 2_000), (1, 100, 2_000), (1, 100, 1), (1, 3, 1)]
)
async def test_every_way_lets_the_same_chunks_through(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, narrow: int, listed: int, spots: int
) -> None:
    monkeypatch.setattr(scope, "NARROW", narrow)
    monkeypatch.setattr(scope, "MOST_SPOTS", spots)
    monkeypatch.setattr(listing, "LISTED", listed)
    ways = set()
    for seed in range(12):
        connection.execute("BEGIN")
        draw = random.Random(seed)
        fill(connection, draw)
        everything = [int(row[0]) for row in connection.execute("SELECT chunk_key FROM chunk")]
        for _ in range(25):
            filters = drawn(draw)
            found = scope_of(connection, sources(connection), EVERYTHING, filters)
            inside = [key for key in everything if found.may_hold(key)]
            reach = found.reach()
            assert set(passing(connection, inside, found)) == expected(connection, filters), filters
            assert reach is None or expected(connection, filters) <= {
                key for key in everything if any(low <= key <= high for low, high in reach)
            }
            listed_first = documents_of(connection, newest(connection, found, limit=7))
            assert listed_first == newest_of(connection, filters)[:7], filters
            ways.add((found.keys is not None, found.listed is not None, found.spots is not None, bool(found.predicate)))
        connection.execute("ROLLBACK")
    assert len(ways) > 1


def test_ranges_are_crossed() -> None:
    draw = random.Random(1)
    for _ in range(200):
        one, other = ({draw.randrange(40) for _ in range(draw.randrange(30))} for _ in range(2))
        found = crossed(runs(one), runs(other))
        assert {key for low, high in found for key in range(low, high + 1)} == one & other
        assert list(found) == sorted(found)
