"""The index file held against itself: every way in which its tables could disagree, and what mends it.

A check counts what is wrong by one question in SQL. A repair touches only what is derived: it rebuilds, drops what
belongs to nothing, or makes something be read again by the next refresh. Checks run on the writer's connection, since
FTS5 compares itself with the texts by an INSERT.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import aiosqlite

from index.store import codes, fulltext, tallies
from index.store.driver import DatabaseError, File


@dataclass(frozen=True, slots=True)
class Check:
    """`question` gives the faults, one a row; `one` and `many` say what follows their number.

    Statements of `repair` run in this order; none: not derived.
    """

    name: str
    one: str
    many: str
    remedy: str
    question: str
    repair: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """What a check found. `remedy` is for people."""

    check: str
    what: str
    count: int
    remedy: str
    is_derived: bool


CODES: Final = "codes"
TALLIES: Final = "tallies"
_REPAIR: Final = "sources verify --repair"
_REFRESH: Final = "sources verify --repair, then sources refresh: it is read again"
_UNSOUND_ROOMS: Final = "UPDATE room SET phase = 'new', position = NULL, since = NULL, is_stale = 1 WHERE"
_SAID: Final = (
    "(SELECT document.document_key, document.id AS document, json_extract(said.value, '$[0]') AS event, room.room_key"
    " FROM document JOIN chunk USING (document_key) JOIN room ON room.id = document.room, json_each(chunk.messages)"
    " AS said WHERE document.kind = 'window')"
)
_PLACED: Final = (
    "(SELECT e.room_key, e.event, 'chat:' || room.id || ' ' || w.id AS document FROM ledger AS e"
    " JOIN chat_window AS w USING (window_key) JOIN room ON room.room_key = e.room_key"
    " LEFT JOIN ledger AS winner ON winner.room_key = e.room_key AND winner.event = e.winner"
    " WHERE e.family IS NULL AND coalesce(winner.body, e.body) <> '')"
)
_UNSAID: Final = (
    f"SELECT DISTINCT p.room_key FROM {_PLACED} AS p WHERE NOT EXISTS (SELECT 1 FROM document JOIN chunk USING"
    " (document_key), json_each(chunk.messages) AS said WHERE document.id = p.document"
    " AND json_extract(said.value, '$[0]') = p.event)"
)
_UNPLACED: Final = (
    f"SELECT s.document_key FROM {_SAID} AS s WHERE NOT EXISTS"
    f" (SELECT 1 FROM {_PLACED} AS p WHERE p.room_key = s.room_key AND p.event = s.event AND p.document = s.document)"
)
_BURIED: Final = (
    "SELECT event_key FROM ledger AS e WHERE EXISTS (SELECT 1 FROM tombstone AS t WHERE t.room_key = e.room_key"
    " AND t.event IN (e.event, e.family)) UNION SELECT * FROM ("
    "WITH answer AS (SELECT e.event_key, e.room_key, e.event, t.why FROM ledger AS e JOIN tombstone AS t"
    " ON t.room_key = e.room_key AND t.event = e.reply_to WHERE e.reply_to <> '' AND t.why LIKE 'purged%'),"
    " revision AS (SELECT event_key, why FROM answer UNION ALL SELECT e.event_key, answer.why FROM answer"
    " JOIN ledger AS e ON e.room_key = answer.room_key AND e.family = answer.event)"
    " SELECT event_key FROM revision JOIN ledger USING (event_key) WHERE why = 'purged with replies'"
    " OR char(10) || replace(replace(body, ' ', ''), char(9), '') LIKE '%' || char(10) || '>%')"
)
_PARTLESS: Final = (
    "SELECT chunk_key FROM chunk WHERE NOT EXISTS (SELECT 1 FROM part WHERE part.chunk_key = chunk.chunk_key)"
)
_VECTORLESS: Final = (
    "SELECT part_key FROM part WHERE has_vector IS NOT NULL AND NOT EXISTS (SELECT 1 FROM vector"
    " WHERE vector.chunk_key = part.chunk_key AND vector.part_key = part.part_key)"
)
_STRAY: Final = (
    "SELECT chunk_key, part_key FROM vector WHERE NOT EXISTS (SELECT 1 FROM part WHERE part.part_key = vector.part_key"
    " AND part.chunk_key = vector.chunk_key AND part.has_vector IS NOT NULL)"
)
_MISSHAPEN: Final = (
    "SELECT part_key FROM vector WHERE length(data) <> coalesce((SELECT json_extract(value, '$.dimension')"
    " FROM meta WHERE name = 'fingerprint'), length(data))"
)
_LOST_CHUNK: Final = (
    "SELECT chunk_key FROM chunk WHERE NOT EXISTS (SELECT 1 FROM document WHERE document.document_key ="
    " chunk.document_key AND document.source_key = chunk.chunk_key >> 32)"
)
_AGAIN: Final = (
    "UPDATE source SET position = NULL WHERE source_key IN"
    " (SELECT chunk_key >> 32 FROM chunk WHERE digest = x'') AND corpus <> 'chat'",
    f"{_UNSOUND_ROOMS} EXISTS (SELECT 1 FROM source JOIN chunk ON chunk.chunk_key >> 32 = source.source_key"
    " WHERE source.id = 'chat:' || room.id AND chunk.digest = x'')",
)


def _wipe_chunks(chosen: str) -> tuple[str, ...]:
    tables = ("vector", "part", "chunk_sender", "chunk")
    return tuple(f"DELETE FROM {table} WHERE chunk_key IN ({chosen})" for table in tables)


def _pend(chosen: str) -> tuple[str, ...]:
    """Vectors that go, and parts that wait for another one."""
    return (
        f"UPDATE part SET has_vector = NULL WHERE part_key IN ({chosen})",
        f"DELETE FROM vector WHERE (chunk_key, part_key) IN ({_STRAY})",
    )


CHECKS: Final = (
    Check(
        "chunk_without_document",
        "chunk that belongs to no document, or to one of another source",
        "chunks that belong to no document, or to one of another source",
        _REFRESH,
        _LOST_CHUNK,
        (
            f"UPDATE source SET position = NULL WHERE source_key IN (SELECT chunk_key >> 32 FROM ({_LOST_CHUNK}))",
            *_wipe_chunks(_LOST_CHUNK),
        ),
    ),
    Check(
        "document_without_source",
        "document of a source that is not known",
        "documents of sources that are not known",
        _REPAIR,
        "SELECT document_key FROM document WHERE source_key NOT IN (SELECT source_key FROM source)",
        (
            *_wipe_chunks(
                "SELECT chunk_key FROM chunk JOIN document USING (document_key)"
                " WHERE source_key NOT IN (SELECT source_key FROM source)"
            ),
            "DELETE FROM document_label WHERE document_key IN"
            " (SELECT document_key FROM document WHERE source_key NOT IN (SELECT source_key FROM source))",
            "DELETE FROM document WHERE source_key NOT IN (SELECT source_key FROM source)",
        ),
    ),
    Check(
        "part_without_chunk",
        "part of a chunk that is gone",
        "parts of chunks that are gone",
        _REPAIR,
        "SELECT part_key FROM part WHERE chunk_key NOT IN (SELECT chunk_key FROM chunk)",
        ("DELETE FROM part WHERE chunk_key NOT IN (SELECT chunk_key FROM chunk)",),
    ),
    Check(
        "chunk_without_part",
        "chunk without parts, which can have no vector",
        "chunks without parts, which can have no vector",
        _REFRESH,
        _PARTLESS,
        (f"UPDATE chunk SET digest = x'' WHERE chunk_key IN ({_PARTLESS})", *_AGAIN),
    ),
    Check(
        "part_without_vector",
        "part whose vector is not there",
        "parts whose vector is not there",
        _REFRESH,
        _VECTORLESS,
        _pend(_VECTORLESS),
    ),
    Check(
        "vector_without_part",
        "vector of a part that is gone, or that stands elsewhere",
        "vectors of parts that are gone, or that stand elsewhere",
        _REPAIR,
        _STRAY,
        (f"DELETE FROM vector WHERE (chunk_key, part_key) IN ({_STRAY})",),
    ),
    Check(
        "vector_of_other_length",
        "vector of another dimension",
        "vectors of another dimension",
        _REFRESH,
        _MISSHAPEN,
        _pend(_MISSHAPEN),
    ),
    Check(
        "young_without_chunk",
        "chunk that is gone and stands in the list of those that may grow",
        "chunks that are gone and stand in the list of those that may grow",
        _REPAIR,
        "SELECT chunk_key FROM young WHERE chunk_key NOT IN (SELECT chunk_key FROM chunk)",
        ("DELETE FROM young WHERE chunk_key NOT IN (SELECT chunk_key FROM chunk)",),
    ),
    Check(
        "sender_without_chunk",
        "sender of a chunk that is gone",
        "senders of chunks that are gone",
        _REPAIR,
        "SELECT 1 FROM chunk_sender WHERE chunk_key NOT IN (SELECT chunk_key FROM chunk)",
        ("DELETE FROM chunk_sender WHERE chunk_key NOT IN (SELECT chunk_key FROM chunk)",),
    ),
    Check(
        "senders_of_chunk",
        "sender that is listed and said nothing, or said something and is not listed",
        "senders that are listed and said nothing, or said something and are not listed",
        _REPAIR,
        "SELECT * FROM (SELECT sender, chunk_key FROM chunk_sender EXCEPT SELECT json_extract(value, '$[1]'), chunk_key"
        " FROM chunk, json_each(messages)) UNION ALL SELECT * FROM (SELECT json_extract(value, '$[1]'), chunk_key"
        " FROM chunk, json_each(messages) EXCEPT SELECT sender, chunk_key FROM chunk_sender)",
        (
            "DELETE FROM chunk_sender",
            "INSERT INTO chunk_sender(sender, chunk_key)"
            " SELECT DISTINCT json_extract(value, '$[1]'), chunk_key FROM chunk, json_each(messages)",
        ),
    ),
    Check(
        "label_without_document",
        "label of a document that is gone",
        "labels of documents that are gone",
        _REPAIR,
        "SELECT 1 FROM document_label WHERE document_key NOT IN (SELECT document_key FROM document)",
        ("DELETE FROM document_label WHERE document_key NOT IN (SELECT document_key FROM document)",),
    ),
    Check(
        "file_without_source",
        "record of a file whose source is not known",
        "records of files whose source is not known",
        _REPAIR,
        "SELECT 1 FROM file_state WHERE source_key NOT IN (SELECT source_key FROM source)",
        ("DELETE FROM file_state WHERE source_key NOT IN (SELECT source_key FROM source)",),
    ),
    Check(
        "counts",
        "source whose counts of chunks and words are off, which shifts scores",
        "sources whose counts of chunks and words are off, which shifts scores",
        _REPAIR,
        "SELECT source_key FROM source LEFT JOIN (SELECT chunk_key >> 32 AS source_key, count(*) AS n, sum(size) AS w"
        " FROM chunk GROUP BY 1) AS found USING (source_key)"
        " WHERE (chunks, words) <> (coalesce(found.n, 0), coalesce(found.w, 0))",
        (
            "UPDATE source SET (chunks, words) = (SELECT count(*), coalesce(sum(size), 0) FROM chunk"
            " WHERE chunk_key BETWEEN source_key << 32 AND source_key << 32 | 4294967295)",
        ),
    ),
    Check(
        "next_chunk",
        "source that would give a key twice",
        "sources that would give a key twice",
        _REPAIR,
        "SELECT source_key FROM source WHERE next_chunk < (SELECT coalesce(max(chunk_key) & 4294967295, 0) FROM chunk"
        " WHERE chunk_key BETWEEN source_key << 32 AND source_key << 32 | 4294967295)",
        (
            "UPDATE source SET next_chunk = max(next_chunk, (SELECT coalesce(max(chunk_key) & 4294967295, 0) FROM chunk"
            " WHERE chunk_key BETWEEN source_key << 32 AND source_key << 32 | 4294967295))",
        ),
    ),
    Check(
        "room_shown",
        "room that may not be read and is in searches",
        "rooms that may not be read and are in searches",
        _REPAIR,
        "SELECT 1 FROM source JOIN room ON source.id = 'chat:' || room.id"
        " WHERE room.outcome <> 'admitted' AND NOT is_hidden AND chunks > 0",
        (
            "UPDATE source SET is_hidden = 1 WHERE id IN"
            " (SELECT 'chat:' || id FROM room WHERE outcome <> 'admitted') AND chunks > 0",
        ),
    ),
    Check(
        "buried_message",
        "message that is to stay gone, or quotes what is, and is stored",
        "messages that are to stay gone, or quote what is, and are stored",
        _REFRESH,
        _BURIED,
        (
            f"{_UNSOUND_ROOMS} room_key IN (SELECT room_key FROM ledger WHERE event_key IN ({_BURIED}))",
            *_wipe_chunks(
                "SELECT chunk_key FROM chunk JOIN document USING (document_key) JOIN room ON room.id = document.room"
                f" WHERE EXISTS (SELECT 1 FROM ledger JOIN chat_window AS w USING (window_key) WHERE event_key IN"
                f" ({_BURIED}) AND document.id = 'chat:' || room.id || ' ' || w.id)"
            ),
            f"DELETE FROM ledger WHERE event_key IN ({_BURIED})",
        ),
    ),
    Check(
        "message_not_indexed",
        "room with messages that no window shows",
        "rooms with messages that no window shows",
        _REFRESH,
        _UNSAID,
        (f"{_UNSOUND_ROOMS} room_key IN ({_UNSAID})",),
    ),
    Check(
        "window_without_message",
        "message that a window shows and that is not stored as its own",
        "messages that a window shows and that are not stored as its own",
        _REFRESH,
        _UNPLACED,
        (
            f"{_UNSOUND_ROOMS} id IN (SELECT room FROM document WHERE document_key IN ({_UNPLACED}))",
            *_wipe_chunks(f"SELECT chunk_key FROM chunk WHERE document_key IN ({_UNPLACED})"),
        ),
    ),
    Check(
        "lost_window",
        "message in a window that is not there",
        "messages in windows that are not there",
        _REFRESH,
        "SELECT event_key FROM ledger WHERE window_key NOT IN (SELECT window_key FROM chat_window)",
        (
            f"{_UNSOUND_ROOMS} room_key IN (SELECT room_key FROM ledger"
            " WHERE window_key NOT IN (SELECT window_key FROM chat_window))",
        ),
    ),
    Check(
        "lost_edit",
        "message whose newest edit is not there",
        "messages whose newest edit is not there",
        _REFRESH,
        "SELECT event_key FROM ledger AS e WHERE winner IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM ledger AS w WHERE w.room_key = e.room_key AND w.event = e.winner)",
        (
            f"{_UNSOUND_ROOMS} room_key IN (SELECT room_key FROM ledger AS e WHERE winner IS NOT NULL AND NOT EXISTS"
            " (SELECT 1 FROM ledger AS w WHERE w.room_key = e.room_key AND w.event = e.winner))",
        ),
    ),
    Check(
        "person_without_message",
        "person of whom nothing is stored",
        "people of whom nothing is stored",
        _REPAIR,
        "SELECT 1 FROM person WHERE person_key NOT IN (SELECT person_key FROM ledger)",
        ("DELETE FROM person WHERE person_key NOT IN (SELECT person_key FROM ledger)",),
    ),
    Check(
        "answers_not_known",
        "message of which it is not known yet what it answers: an order to forget does not find it as a reply",
        "messages of which it is not known yet what they answer: an order to forget does not find them as replies",
        "sources refresh",
        "SELECT 1 FROM ledger JOIN room USING (room_key) WHERE reply_to IS NULL AND outcome = 'admitted'",
    ),
    Check(
        "order_not_carried_out",
        "order to forget that was not carried out",
        "orders to forget that were not carried out",
        "sources refresh",
        "SELECT 1 FROM purge WHERE applied_ms IS NULL",
    ),
)


async def faults(connection: File) -> list[Fault]:
    """Everything that is wrong, in the order of the checks. Inside a transaction, which may be undone."""
    found = [fault for name in fulltext.INDEXES if (fault := await _full_text(connection, name)) is not None]
    for check in CHECKS:
        rows = list(await connection.execute_fetchall(f"SELECT count(*) FROM ({check.question})"))
        if count := int(rows[0][0]):
            what = check.one if count == 1 else check.many
            found.append(Fault(check.name, what, count, check.remedy, bool(check.repair)))
    if blocks := await codes.out_of_step(connection):
        what = "block of codes that is not" if blocks == 1 else "blocks of codes that are not"
        found.append(Fault(CODES, f"{what} what the vectors make", blocks, _REPAIR, is_derived=True))
    if wrong := await tallies.out_of_step(connection):
        what = "tally of a chunk that is not" if wrong == 1 else "tallies of chunks that are not"
        found.append(Fault(TALLIES, f"{what} what the texts say", wrong, _REPAIR, is_derived=True))
    return found


async def _full_text(connection: aiosqlite.Connection, name: str) -> Fault | None:
    if await fulltext.is_in_step(connection, name):
        return None
    what = "full-text index" if name == "words" else "index of parts of words"
    return Fault(name, f"{what} that is not what the texts say", 1, _REPAIR, is_derived=True)


async def repair(connection: File, found: Sequence[Fault]) -> None:
    """Mend what is derived. Inside a transaction.

    The full-text indexes come first: rows that go are taken out of them, which needs sound ones.
    """
    names = {fault.check for fault in found}
    if not names.isdisjoint(fulltext.INDEXES):
        await fulltext.rewrite(connection)
    for check in CHECKS:
        if check.name in names:
            for statement in check.repair:
                await connection.execute(statement)
    if CODES in names:
        await codes.rewrite(connection)
    if TALLIES in names:
        await tallies.rewrite(connection)


async def damage(connection: aiosqlite.Connection) -> list[str]:
    """What SQLite finds wrong with the file as such, up to ten lines; empty: nothing."""
    try:
        rows = await connection.execute_fetchall("PRAGMA quick_check(10)")
    except DatabaseError as error:
        return [str(error)]
    return [str(row[0]) for row in rows if row[0] != "ok"]
