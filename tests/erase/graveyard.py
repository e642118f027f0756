"""An index whose every word is known, so that it can be searched for what must be gone, byte by byte.

Each document has words of its own, of letters that no other text has in that order. What a document said before it was
changed or removed is *gone*; `Graveyard.traces` looks for it in every byte of the folder.
"""

import random
from array import array
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from index.model import Chunk, Corpus, Document, DocumentId, Kind, SourceId, Vector, chunk_id
from index.store import documents, fulltext, vectors
from index.store.separators import varint
from index.store.signs import BLOCK_BITS
from index.store.store import Store, open_store
from index.text.searchable import searchable
from tests.keys import as_written

SOURCE = SourceId("repo:docs")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COMMON = 400
DIMENSION = 96
SIGNS = 16
RECORD = 1 + 4 + 4 + SIGNS


@dataclass(slots=True)
class Graveyard:
    """`live` and `gone` are words; `live_vectors` by document number. `growing`: the share of documents that may."""

    folder: Path
    random: random.Random
    growing: float = 0.0
    live: dict[int, list[str]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    live_vectors: dict[int, list[bytes]] = field(default_factory=dict)
    gone_vectors: list[bytes] = field(default_factory=list)
    common: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.common = ["".join(self.random.choices(LETTERS, k=self.random.randint(2, 7))) for _ in range(COMMON)]

    @property
    def file(self) -> Path:
        return self.folder / "index.sqlite"

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Store]:
        async with open_store(self.file, is_writer=True) as store:
            yield store

    def document(self, number: int, *, length: int) -> Document:
        own = ["".join(self.random.choices(LETTERS, k=11)) for _ in range(3)]
        words = self.random.choices(self.common, k=length) + own
        self.random.shuffle(words)
        self.live[number] = own
        return page(number, " ".join(words))

    async def put(self, store: Store, numbers: Iterable[int], *, lengths: tuple[int, ...] = (5, 40, 150)) -> None:
        """New documents, or others in their place."""
        async with store.transaction():
            key = await store.register(SOURCE, label="docs", is_public=True)
            for number in numbers:
                self._bury(number)
                await store.ease_deleting()
                made = self.document(number, length=self.random.choice(lengths))
                made = replace(made, may_grow=self.random.random() < self.growing)
                await documents.put(store.connection, key, made, searchable(made, as_written), salt="s")

    async def remove(self, store: Store, numbers: Iterable[int]) -> None:
        async with store.transaction():
            for number in numbers:
                self._bury(number)
                await store.ease_deleting()
                await documents.remove(store.connection, [page(number, "").id])

    def _bury(self, number: int) -> None:
        self.gone += self.live.pop(number, [])
        self.gone_vectors += self.live_vectors.pop(number, [])

    async def embed(self, store: Store) -> None:
        """A random vector for everything that waits for one."""
        waiting = await vectors.pending(store.connection, after=0, limit=10_000)
        made = [(part, Vector(self._vector())) for part in waiting]
        async with store.transaction():
            await vectors.save(store.connection, made)
        numbers = await self._numbers(store)
        for part, vector in made:
            self.live_vectors.setdefault(numbers[part.chunk], []).append(vectors.quantise(vector))

    async def _numbers(self, store: Store) -> dict[int, int]:
        """Of the documents, by the keys of their chunks, of which each has one."""
        return {
            int(row[0]): int(str(row[1])[4:-3])
            for row in await store.connection.execute_fetchall(
                "SELECT chunk_key, path FROM chunk JOIN document USING (document_key)"
            )
        }

    async def codes(self, store: Store) -> dict[int, bytes]:
        """The signs of the vectors that have a code, by document number."""
        numbers = await self._numbers(store)
        found = {}
        for block, data in await store.connection.execute_fetchall(
            "SELECT block, data FROM code WHERE data IS NOT NULL ORDER BY block"
        ):
            for at in range(0, len(data), RECORD):
                key = (block << BLOCK_BITS) + data[at]
                found[numbers[key]] = bytes(data[at + RECORD - SIGNS : at + RECORD])
        return found

    def _vector(self) -> bytes:
        values = [self.random.gauss(0, 1) for _ in range(DIMENSION)]
        norm = sum(value * value for value in values) ** 0.5
        return array("f", [value / norm for value in values]).tobytes()

    def bytes(self) -> bytes:
        """Of all files."""
        return b"".join(path.read_bytes() for path in sorted(self.folder.iterdir()))

    def traces(self) -> list[str]:
        """Words that are gone and still stand in some file, whole or in large part; and vectors, by their beginning."""
        data = self.bytes()
        words = [word for word in self.gone for at in (0, 2, 5) if word[at : at + 6].encode() in data]
        return words + [vector[:8].hex() for vector in self.gone_vectors if vector[:24] in data]


def page(number: int, text: str) -> Document:
    identity = DocumentId(f"{SOURCE} page{number}.md")
    chunk = Chunk(id=chunk_id(identity, "0"), ordinal=0, text=text, lines=(1, 1))
    return Document(
        id=identity,
        source=SOURCE,
        corpus=Corpus.FORGE,
        kind=Kind.DOC,
        title="Page",
        revision="r",
        chunks=(chunk,),
        path=f"page{number}.md",
    )


async def put_texts(store: Store, texts: Iterable[tuple[int, str | None, bool]]) -> None:
    """One transaction: documents with these texts, or without any, one after the other, that may grow or not."""
    async with store.transaction():
        key = await store.register(SOURCE, label="docs", is_public=True)
        for number, text, may_grow in texts:
            await store.ease_deleting()
            if text is None:
                await documents.remove(store.connection, [page(number, "").id])
            else:
                made = replace(page(number, text), may_grow=may_grow)
                await documents.put(store.connection, key, made, searchable(made, as_written), salt="s")


async def stale_terms(store: Store) -> list[str]:
    """What the pages of the full-text indexes and their separators spell that no document says.

    Read from the shadow tables, in which a word stands without what it has in common with the one before it.
    """
    found: list[str] = []
    for table in (*fulltext.SETTLED, *fulltext.YOUNG):
        await store.connection.execute(f"CREATE VIRTUAL TABLE temp.spoken USING fts5vocab(main, {table}, row)")
        rows = await store.connection.execute_fetchall("SELECT CAST(term AS BLOB) FROM temp.spoken")
        words = {bytes(row[0]) for row in rows}
        beginnings = {word[:size] for word in words for size in range(1, len(word) + 1)}
        await store.connection.execute("DROP TABLE temp.spoken")
        separators = await store.connection.execute_fetchall(
            f"SELECT CAST(term AS BLOB) FROM {table}_idx WHERE length(term) > 1"
        )
        found += [f"{table} {bytes(row[0])!r}" for row in separators if bytes(row[0])[1:] not in beginnings]
        pages = await store.connection.execute_fetchall(f"SELECT id, block FROM {table}_data WHERE id > 10")
        spelt = {term for key, block in pages if not (key >> 31) & 0x3F for term in _terms_on(bytes(block))}
        found += [f"{table} {term!r}" for term in sorted(spelt - words)]
    return found


def _terms_on(block: bytes) -> list[bytes]:
    """The terms of a leaf page, whole."""
    at = end = int.from_bytes(block[2:4], "big")
    offset, term = 0, b""
    found: list[bytes] = []
    while at < len(block):
        step, at = varint(block, at)
        offset += step
        shared, start = varint(block, offset) if found else (0, offset)
        length, start = varint(block, start)
        term = term[:shared] + block[start : start + length]
        found.append(term)
    assert not found or end >= 4
    return [one[1:] for one in found]


async def is_sound(store: Store) -> bool:
    """Full-text indexes against the texts, and every page of the file."""
    if not all([await fulltext.is_in_step(store.connection, index) for index in fulltext.INDEXES]):
        return False
    rows = list(await store.connection.execute_fetchall("PRAGMA integrity_check"))
    return [row[0] for row in rows] == ["ok"]


async def finds(store: Store, word: str) -> bool:
    """By the index of words, and by that of trigrams, in one tier of each."""
    for expression, tiers in zip((f'"{word}"', _all_grams(word)), fulltext.INDEXES.values(), strict=True):
        asked = [f"SELECT 1 FROM {tier} WHERE {tier} MATCH ?" for tier in tiers]
        if not any([list(await store.connection.execute_fetchall(one, (expression,))) for one in asked]):
            return False
    return True


def _all_grams(word: str) -> str:
    return " AND ".join(f'"{word[at : at + 3]}"' for at in range(len(word) - 2))
