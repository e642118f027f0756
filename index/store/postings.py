"""Postings of the lexical index: which chunks hold a word or a phrase, and how often.

Everything is asked for inside a set of key ranges, the audience's, so that a hidden room moves neither a frequency nor
a score; all but `standing`, which spares looks that would find nothing and changes no result. Each index has two tiers
(`fulltext`), and a chunk is in one of them: both are asked, and together they say what a single index would say.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import pairwise
from json import dumps
from operator import itemgetter
from typing import Final

from index.store.driver import Connection
from index.store.lists import as_json
from index.store.scope import Range, Scope, within
from index.text.fold import fold

MOST_MATCHES: Final = 50_000
"""Of a phrase or a part of a word; more are not read."""
ALL_MATCHES: Final = -1
"""For what must not be shown: a bound would let through what lies beyond it."""
MOST_RANGES: Final = 4_000
SAMPLES: Final = 16
SAMPLE_WIDTH: Final = 96
_IS_ANY_YOUNG: Final = "EXISTS (SELECT 1 FROM young)"
"""Decided once for a statement: without it, FTS5 would open an empty index for nothing."""


def totals(connection: Connection, visible: Sequence[Range] | None) -> tuple[int, int]:
    """Chunks and words of the visible sources."""
    inside, values = within("source_key << 32", visible)
    rows = list(
        connection.execute(
            f"SELECT coalesce(sum(chunks), 0), coalesce(sum(words), 0) FROM source WHERE {inside}", values
        )
    )
    return int(rows[0][0]), int(rows[0][1])


def frequency(connection: Connection, expression: str, visible: Sequence[Range] | None, *, at_most: int) -> int:
    """In how many visible chunks an FTS5 expression stands; counts no further than `at_most`."""
    (settled, young), values = _matches(expression, visible)
    rows = list(
        connection.execute(
            f"SELECT count(*) FROM (SELECT 1 {settled} UNION ALL SELECT 1 {young} LIMIT ?)",
            (*values, *values, at_most),
        )
    )
    return int(rows[0][0])


def keyed(connection: Connection, key: str, ranges: Sequence[Range] | None) -> str:
    """The chunks in these ranges that stand under a key, with commas between, once for each time they do.

    SQLite hands them over as one text: a row for each would cost ten times as much.
    """
    inside, values = within("doc", ranges)
    return _listed(
        _of_tiers(connection, "group_concat(doc)", f"term = ? AND col = 'keys' AND {inside}", key, *values)[0]
    )


def standing(connection: Connection, tokens: Collection[str]) -> frozenset[str]:
    """Those of the tokens that stand anywhere at all, visible or not."""
    rows = connection.execute(
        "SELECT asked.value FROM json_each(?) AS asked WHERE EXISTS (SELECT 1 FROM term WHERE term = asked.value)"
        " OR EXISTS (SELECT 1 FROM young_term WHERE term = asked.value)",
        (dumps(list(tokens)),),
    )
    return frozenset(row[0] for row in rows)


def typed(connection: Connection, token: str, ranges: Sequence[Range] | None) -> tuple[str, str]:
    """The same of a word as typed: those that have it in the title, and in the body."""
    inside, values = within("doc", ranges)
    columns = ", ".join(f"group_concat(doc) FILTER (WHERE col = '{column}')" for column in ("title", "body"))
    title, body = _of_tiers(connection, columns, f"term = ? AND {inside}", token, *values)
    return _listed(title), _listed(body)


def _of_tiers(connection: Connection, columns: str, condition: str, *values: object) -> list[tuple[str | None, ...]]:
    """For each column, which is an aggregate over postings, what each tier gives."""
    rows = connection.execute(
        f"SELECT {columns} FROM term WHERE {condition} UNION ALL"
        f" SELECT {columns} FROM young_term WHERE {condition} AND {_IS_ANY_YOUNG}",
        values * 2,
    )
    return list(zip(*rows, strict=True))


def having(
    connection: Connection,
    expression: str,
    ranges: Sequence[Range] | None,
    *,
    limit: int,
    filters: Scope | None = None,
) -> str:
    """Chunks in these ranges that an FTS5 expression matches, with commas between; of `filters` the predicate holds."""
    tiers, values = _matches(expression, ranges)
    passing, further = ("TRUE", []) if filters is None else filters.filtered("w.rowid")
    rows = connection.execute(
        " UNION ALL ".join(
            f"SELECT group_concat(key) FROM (SELECT w.rowid AS key {chosen} AND {passing} LIMIT ?)" for chosen in tiers
        ),
        (*values, *further, limit) * 2,
    )
    listed = _listed([row[0] for row in rows])
    if limit < 0 or listed.count(",") < limit:
        return listed
    return ",".join(map(str, sorted(map(int, listed.split(",")))[:limit]))


def _listed(tiers: Sequence[str | None]) -> str:
    """What the tiers list, as one list."""
    return ",".join(filter(None, tiers))


def _matches(expression: str, ranges: Sequence[Range] | None) -> tuple[tuple[str, str], list[object]]:
    """FROM and WHERE that find rows `w` of each tier of `words`, with the values for one.

    FTS5 goes straight to a range only if it is given one at a time. SQLite holds each row against it once more, so its
    ends are taken out of the list before: out of JSON each time, they would cost four times as much as all else.
    """
    values: list[object] = [expression]
    if ranges is None:
        chosen = "FROM {words} AS w WHERE {words} MATCH ?"
    elif len(ranges) <= MOST_RANGES:
        chosen = (
            "FROM (SELECT value ->> 0 AS low, value ->> 1 AS high FROM json_each(?) LIMIT -1) AS r"
            " CROSS JOIN {words} AS w ON {words} MATCH ? AND w.rowid BETWEEN r.low AND r.high"
        )
        values = [as_json(ranges), expression]
    else:
        inside, bounds = within("+w.rowid", ranges)  # the sign keeps FTS5 from being asked for each key
        chosen = f"FROM {{words}} AS w WHERE {{words}} MATCH ? AND {inside}"
        values += bounds
    return (chosen.format(words="words"), f"{chosen.format(words='young_words')} AND {_IS_ANY_YOUNG}"), values


def stretches(connection: Connection, visible: Sequence[Range] | None, *, wanted: int) -> list[tuple[Range, ...]]:
    """What is visible in about `wanted` parts that hold about as many chunks each.

    They follow from the visible sources alone: a hidden one moves no border, wherever among them it stands.
    """
    inside, values = within("source_key << 32", visible)
    sources = [
        (int(row[0]), int(row[1]), int(row[2]))
        for row in connection.execute(
            "SELECT chunks, (SELECT min(chunk_key) FROM chunk WHERE chunk_key >= source_key << 32),"
            " (SELECT max(chunk_key) FROM chunk WHERE chunk_key < (source_key + 1) << 32)"
            f" FROM source WHERE chunks > 0 AND {inside} ORDER BY source_key",
            values,
        )
    ]
    each = max(1, sum(chunks for chunks, _, _ in sources) // wanted)
    return [_joined(ranges, visible) for ranges in _cut(sources, each)]


def _cut(sources: Sequence[tuple[int, int, int]], each: int) -> list[list[Range]]:
    """Sources (chunks, lowest and highest key) in parts of about `each` chunks: small ones together, large ones cut."""
    found: list[list[Range]] = []
    part: list[Range] = []
    held = 0
    for chunks, low, high in sources:
        held += chunks
        if held < each:
            part.append((low, high))
            continue
        pieces = max(1, round(held / each)) if chunks >= each else 1
        ends = [low + (high + 1 - low) * number // pieces for number in range(pieces + 1)]
        for first, past in pairwise(ends):
            if first < past:
                found.append([*part, (first, past - 1)])
                part = []
        held = 0
    return [*found, part] if part else found


def _joined(ranges: Sequence[Range], visible: Sequence[Range] | None) -> tuple[Range, ...]:
    """The same with neighbours as one where all between them is visible: each range is a look into the index."""
    found: list[Range] = []
    last = -1
    for low, high in ranges:
        place = 0 if visible is None else bisect_right(visible, low, key=itemgetter(0))
        if place == last:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
        last = place
    return tuple(found)


def sample(connection: Connection, visible: Sequence[Range] | None) -> list[int]:
    """Some `SAMPLES * SAMPLE_WIDTH` visible chunks from all parts of the index; the same every time."""
    spread = stretches(connection, visible, wanted=SAMPLES)
    chosen = (spread[number * len(spread) // SAMPLES] for number in range(min(SAMPLES, len(spread))))
    windows = [(low, min(high, low + SAMPLE_WIDTH - 1)) for (low, high), *_ in chosen]
    rows = connection.execute(
        "SELECT chunk_key FROM json_each(?) AS r CROSS JOIN chunk INDEXED BY chunk_size"
        " ON chunk_key BETWEEN r.value ->> 0 AND r.value ->> 1",
        (as_json(windows),),
    )
    return [int(row[0]) for row in rows]


def matching(
    connection: Connection,
    phrase: str,
    visible: Sequence[Range] | None,
    *,
    is_prefix: bool = False,
    limit: int = MOST_MATCHES,
) -> frozenset[int]:
    """Visible chunks whose title or body has the words of `phrase` in a row, the last one maybe longer."""
    inside, values = within("rowid", visible)
    expression = f"{in_text(phrase)}{'*' if is_prefix else ''}"
    rows = connection.execute(
        f"SELECT * FROM (SELECT rowid FROM words WHERE words MATCH ? AND {inside} LIMIT ?) UNION ALL SELECT * FROM"
        f" (SELECT rowid FROM young_words WHERE young_words MATCH ? AND {inside} AND {_IS_ANY_YOUNG} LIMIT ?)",
        (expression, *values, limit) * 2,
    )
    return frozenset(_first([int(row[0]) for row in rows], limit))


def containing(connection: Connection, part: str, visible: Sequence[Range] | None, *, limit: int) -> frozenset[int]:
    """Visible chunks with `part`, three characters or longer, anywhere in a word of title or body.

    The index of trigrams keeps no positions: it names the candidates, and the text decides.
    """
    grams = {part[at : at + 3] for at in range(len(part) - 2)}
    if not grams:
        return frozenset()
    inside, values = within("g.rowid", visible)
    expression = " AND ".join(quoted(gram) for gram in sorted(grams))
    rows = connection.execute(
        " UNION ALL ".join(
            f"SELECT * FROM (SELECT g.rowid, chunk.title, chunk.body FROM {table} AS g"
            f" JOIN chunk ON chunk_key = g.rowid WHERE {table} MATCH ? AND {inside} AND {condition} LIMIT ?)"
            for table, condition in (("grams", "TRUE"), ("young_grams", _IS_ANY_YOUNG))
        ),
        (expression, *values, limit) * 2,
    )
    texts_of = {int(key): (title, body) for key, title, body in rows}
    wanted = fold(part)
    return frozenset(
        key for key in _first(texts_of, limit) if wanted in fold(texts_of[key][0]) or wanted in fold(texts_of[key][1])
    )


def _first(keys: Collection[int], limit: int) -> Collection[int]:
    """As many as a single index would have given: those with the lowest keys."""
    return keys if limit < 0 or len(keys) <= limit else sorted(keys)[:limit]


def sizes(connection: Connection, chunks: Sequence[int]) -> dict[int, int]:
    """Words of each chunk. Asked of the index by name: SQLite would go to the rows, which have the texts in them."""
    rows = connection.execute(
        "SELECT chunk_key, size FROM json_each(?) AS asked"
        " CROSS JOIN chunk INDEXED BY chunk_size ON chunk_key = asked.value",
        (as_json(chunks),),
    )
    return dict(rows)


def passing(connection: Connection, chunks: Sequence[int], scope: Scope) -> list[int]:
    """Those of the chunks in the ranges and keys of a scope that its predicate lets through, in the order given."""
    if not scope.predicate:
        return list(chunks)
    if scope.listed is not None:
        return [chunk for chunk in chunks if chunk in scope.listed]
    condition, values = scope.filtered("asked.value")
    rows = connection.execute(
        f"SELECT asked.value FROM json_each(?) AS asked WHERE {condition} ORDER BY asked.key",
        (as_json(chunks), *values),
    )
    return [int(row[0]) for row in rows]


def in_text(phrase: str) -> str:
    """As FTS5 asks for words in a row, as they were typed."""
    return f"{{title body}} : {quoted(phrase)}"


def quoted(text: str) -> str:
    """As an FTS5 string: user text is never syntax."""
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'
