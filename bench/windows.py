"""Windows of chat as many as wanted, made from the texts and vectors of a real index: what `search.py` measures on.

A window is a real part of one with every second line exchanged for one of others, so words are as frequent as in the
language and hardly two windows are alike; it has one vector. That is the vector of the part, moved by a part of the way
between two others: as crowded, and spread in the same directions, as those of the model are. One room holds a fifth of
everything, eighty others a hundredth each.

The rows go straight into the tables, by the same functions that render a window and make its keys, and the full-text
indexes are built from them: the writer, who looks at each document, would take hours for a million. `sources verify`
finds nothing to say about the file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from json import dumps
from pathlib import Path
from typing import Final

import numpy
from numpy.typing import NDArray

from index.model import DocumentId, RoomId, SourceId, chunk_id
from index.store import tallies
from index.store.driver import Connection, connector
from index.store.fulltext import SETTLED
from index.store.vectors import scale
from index.text.fold import words
from index.text.tally import tally_of
from index.text.words import Keys
from ingest.chat.rendering import source_id

MOVED: Final = 0.35
"""The part of the way between two other vectors: near ones of the model are about as near to each other."""
_MINUTE_MS: Final = 60_000
_BEGIN_MS: Final = 1_500_000_000_000
_FACTORS: Final = (0x9E37_79B9_7F4A, 0xC2B2_AE3D_27D4, 0x1656_67B1_9E37)

Floats = NDArray[numpy.float32]
Numbers = NDArray[numpy.int64]


@dataclass(frozen=True, slots=True)
class Room:
    """The windows `first` to before `past` of all."""

    id: RoomId
    first: int
    past: int

    @property
    def source(self) -> SourceId:
        return source_id(self.id)


def rooms(size: int) -> list[Room]:
    """One of a fifth, eighty of a hundredth; a hundred windows at least in all."""
    borders = [0, size // 5, *(size // 5 + number * (size - size // 5) // 80 for number in range(1, 81))]
    return [Room(RoomId(f"!room{number}:bench"), first, past) for number, (first, past) in enumerate(pairwise(borders))]


@dataclass(frozen=True, slots=True)
class _Line:
    """A message as a window shows it: `name: words`."""

    name: str
    text: str
    keys: str
    size: int


class Windows:
    """`index` is the file of an index with vectors, such as `bench/quality.py` leaves of the chat set."""

    def __init__(self, index: Path, keys: Keys) -> None:
        connection = connector(index, is_writer=False)()
        rows = connection.execute(
            "SELECT substr(body, first + 1, past - first), vector.data FROM part JOIN chunk USING (chunk_key)"
            " JOIN vector USING (chunk_key, part_key) ORDER BY part.part_key"
        ).fetchall()
        connection.close()
        said = [([line for line in text.split("\n") if _is_said(line)], data) for text, data in rows]
        kept = [(lines, data) for lines, data in said if lines]
        if not kept:
            raise SystemExit(f"{index.name}: holds no vectors (give the index of an evaluation set)")
        self.texts = ["\n".join(lines) for lines, _ in kept]
        self._parts = [[_line(line, keys) for line in lines] for lines, _ in kept]
        self._lines = [line for lines in self._parts for line in lines]
        stacked = numpy.stack([numpy.frombuffer(data, numpy.int8) for _, data in kept]).astype(numpy.float32)
        self._real: Floats = stacked / scale(stacked.shape[1])
        self._real /= numpy.linalg.norm(self._real, axis=1, keepdims=True)

    @property
    def dimension(self) -> int:
        return int(self._real.shape[1])

    def lines(self, first: int, past: int) -> Iterator[list[_Line]]:
        """Of each window, in order."""
        numbers = numpy.arange(first, past)
        for own, other in zip(self._own(numbers).tolist(), _mixed(numbers, _FACTORS[2]).tolist(), strict=True):
            yield [
                self._lines[(other + place * 7_919) % len(self._lines)] if place % 2 else line
                for place, line in enumerate(self._parts[own])
            ]

    def vectors(self, first: int, past: int) -> Floats:
        """Rows of length 1, one for each window."""
        numbers = numpy.arange(first, past)
        there, back = (_mixed(numbers, factor) % len(self._real) for factor in _FACTORS[:2])
        made = self._real[self._own(numbers)] + MOVED * (self._real[there] - self._real[back])
        unit: Floats = made / numpy.linalg.norm(made, axis=1, keepdims=True)
        return unit

    def _own(self, numbers: Numbers) -> Numbers:
        """Of neighbouring windows, neighbouring parts: a room has its subjects. All have their turn."""
        found: Numbers = (numbers + numbers // len(self._real)) % len(self._real)
        return found


def fill(connection: Connection, windows: Windows, size: int) -> None:
    """Rooms, windows and their words, into an index file without any; with pending parts, which is all they have."""
    connection.execute("BEGIN")
    [(made,)] = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'chunk_insert'").fetchall()
    connection.execute("DROP TRIGGER chunk_insert")
    for key, room in enumerate(rooms(size), start=1):
        connection.execute(
            "INSERT INTO source(source_key, id, corpus, label, is_public, next_chunk) VALUES (?, ?, 'chat', ?, 1, ?)",
            (key, room.source, room.id, room.past - room.first),
        )
        numbered = zip(range(room.first, room.past), windows.lines(room.first, room.past), strict=True)
        for number, lines in numbered:
            _put(connection, key, room, number, lines)
    connection.execute(
        "UPDATE source SET (chunks, words) = (SELECT count(*), sum(size) FROM chunk"
        " WHERE chunk_key BETWEEN source_key << 32 AND (source_key << 32) + 0xFFFFFFFF)"
    )
    connection.execute(made)
    for table in SETTLED:
        connection.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _put(connection: Connection, source_key: int, room: Room, number: int, lines: list[_Line]) -> None:
    document = DocumentId(f"{room.source} $w{number}")
    sent_ms = _BEGIN_MS + number * _MINUTE_MS
    chunk_key = (source_key << 32) + number - room.first + 1
    messages, at = [], 0
    for place, line in enumerate(lines):
        past = at + len(line.text)
        messages.append([f"$w{number}.{place}", f"@{line.name}:bench", sent_ms, at + len(line.name) + 2, past])
        at = past + 1
    body = "\n".join(line.text for line in lines)
    keys = " ".join(line.keys for line in lines)
    digest = numpy.int64(number).tobytes() * 2
    connection.execute(
        "INSERT INTO document(document_key, id, source_key, kind, title, room, revision, first_ms, last_ms, has_link,"
        " payload) VALUES (?, ?, ?, 'window', ?, ?, ?, ?, ?, 0, '{}')",
        (number + 1, document, source_key, room.id, room.id, digest.hex()[:24], sent_ms, sent_ms),
    )
    connection.execute(
        "INSERT INTO chunk(chunk_key, id, document_key, ordinal, size, title, body, keys, heading, flags, messages,"
        " digest) VALUES (?, ?, ?, 0, ?, '', ?, ?, '[]', '[]', ?, ?)",
        (
            chunk_key,
            chunk_id(document, "window"),
            number + 1,
            sum(line.size for line in lines),
            body,
            keys,
            dumps(messages),
            digest,
        ),
    )
    tallies.put(connection, [(chunk_key, tally_of("", body, keys))])
    connection.executemany(
        "INSERT INTO chunk_sender(sender, chunk_key) VALUES (?, ?)",
        [(sender, chunk_key) for sender in sorted({f"@{line.name}:bench" for line in lines})],
    )
    connection.execute(
        "INSERT INTO part(part_key, chunk_key, ordinal, first, past, digest) VALUES (?, ?, 0, 0, ?, ?)",
        (number + 1, chunk_key, len(body), digest),
    )


def _is_said(line: str) -> bool:
    name, _, said = line.partition(": ")
    return bool(name.strip() and said.strip()) and not name.startswith((" ", "*"))


def _line(text: str, keys: Keys) -> _Line:
    return _Line(text.partition(": ")[0], text, keys.keys_of_text(text), len(words(text)))


def _mixed(numbers: Numbers, factor: int) -> Numbers:
    """Large and without order, the same each time."""
    mixed: Numbers = ((numbers + 1) * factor >> 16) & 0x7FFF_FFFF
    return mixed
