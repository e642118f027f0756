"""Where a search may look: the audience and the reader's filters, as conditions on chunk keys.

The audience decides first, by source, and statistics such as the frequency of a word are taken inside it alone. The
reader's own filters then remove hits. Since the keys of a source are one range, both are comparisons of numbers unless
a filter looks at a document's own fields.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from json import dumps
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from index.model import Audience, Filters
from index.store.driver import Connection
from index.store.store import Source

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

NARROW: Final = 20_000
"""A scope of at most so many chunks is searched exactly."""

MOST_KEYS: Final = 2**63
LAST: Final = 0xFFFF_FFFF
"""The highest number in a source."""
MOST_TESTS: Final = 500
"""Ranges that are tested one after the other, each through an index where there is one."""
Range = tuple[int, int]


class Scope(Struct, frozen=True):
    """`visible` is what the audience may see and `ranges` what the filters leave of it; None means every chunk.

    `keys` is the exact set where a filter looks at documents and leaves few chunks, `predicate` the condition on
    `document` and `chunk` where it leaves many. `few`: how many chunks are left, by whatever filter, if they are few.
    """

    visible: tuple[Range, ...] | None
    ranges: tuple[Range, ...] | None
    keys: frozenset[int] | None = None
    predicate: str = ""
    values: tuple[object, ...] = ()
    few: int | None = None

    @property
    def is_narrow(self) -> bool:
        return self.few is not None

    @property
    def is_empty(self) -> bool:
        return self.ranges == () or self.keys == frozenset()

    def condition(self, column: str) -> tuple[str, list[object]]:
        """SQL over a column of chunk keys, with its values."""
        if self.keys is not None:
            return f"{column} IN (SELECT value FROM json_each(?))", [dumps(sorted(self.keys))]
        inside, bounds = within(column, self.ranges)
        if not self.predicate:
            return inside, list(bounds)
        passing, values = self.filtered(column)
        return f"{inside} AND {passing}", [*bounds, *values]

    def filtered(self, column: str) -> tuple[str, list[object]]:
        """SQL for what ranges and keys do not say, with its values: the predicate."""
        if not self.predicate:
            return "TRUE", []
        passing = (
            "EXISTS (SELECT 1 FROM chunk JOIN document USING (document_key)"
            f" WHERE chunk.chunk_key = {column} AND {self.predicate})"
        )
        return passing, list(self.values)

    def may_hold(self, key: int) -> bool:
        """Whether a chunk is inside the ranges, or among the keys where they are known; the predicate is not asked."""
        if self.keys is not None:
            return key in self.keys
        if self.ranges is None:
            return True
        place = bisect_right(self.ranges, (key, MOST_KEYS))
        return place > 0 and key <= self.ranges[place - 1][1]

    def reach(self) -> tuple[Range, ...] | None:
        """Ranges that hold whatever is left, and where `keys` are known nothing else."""
        return self.ranges if self.keys is None else runs(self.keys)


def runs(keys: Iterable[int]) -> tuple[Range, ...]:
    """The ranges that hold exactly these keys."""
    found: list[Range] = []
    for key in sorted(keys):
        if found and found[-1][1] + 1 == key:
            found[-1] = (found[-1][0], key)
        else:
            found.append((key, key))
    return tuple(found)


def within(column: str, ranges: Sequence[Range] | None) -> tuple[str, list[int]]:
    """SQL that holds a column of keys to ranges, which are in order, with its values.

    None is no restriction, empty lets nothing in.
    """
    if ranges is None:
        return "TRUE", []
    if len(ranges) > MOST_TESTS:
        return _listed(column, ranges), []
    tests = " OR ".join(f"{column} BETWEEN ? AND ?" for _ in ranges) or "FALSE"
    return f"({tests})", [end for pair in ranges for end in pair]


def _listed(column: str, ranges: Sequence[Range]) -> str:
    """The same for many ranges, which are whole sources, or else hold few keys: a thousand tests are refused."""
    if all(low & LAST == 0 and high & LAST == LAST for low, high in ranges):
        return f"({column}) >> 32 IN ({_numbers((low >> 32, high >> 32) for low, high in ranges)})"
    return f"{column} IN ({_numbers(ranges)})"


def _numbers(ranges: Iterable[Range]) -> str:
    return ", ".join(str(number) for low, high in ranges for number in range(low, high + 1))


def inside(keys: "NDArray[numpy.int64]", ranges: Sequence[Range]) -> "NDArray[numpy.bool_]":
    """Which of many keys are in the ranges, which are in order."""
    import numpy

    if not ranges:
        return numpy.zeros(len(keys), dtype=bool)
    bounds = numpy.array(ranges, dtype=numpy.int64)
    place = numpy.searchsorted(bounds[:, 0], keys, side="right") - 1
    found: NDArray[numpy.bool_] = (place >= 0) & (keys <= bounds[place, 1])
    return found


def source_range(key: int) -> Range:
    """All chunk keys of a source."""
    return key << 32, (key << 32) | LAST


def merged(sources: Sequence[Source]) -> tuple[Range, ...]:
    """The ranges of sources, neighbours joined."""
    ranges: list[Range] = []
    for key in sorted(source.key for source in sources):
        low, high = source_range(key)
        if ranges and ranges[-1][1] + 1 == low:
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((low, high))
    return tuple(ranges)


def scope_of(connection: Connection, sources: Sequence[Source], audience: Audience, filters: Filters) -> Scope:
    """Compile the audience and the reader's filters."""
    seen = [
        source
        for source in sources
        if not source.is_hidden and (audience.sources is None or source.id in audience.sources)
    ]
    left = [source for source in seen if _is_wanted(source, filters)]
    visible = None if len(seen) == len(sources) else merged(seen)
    ranges = None if len(left) == len(sources) else merged(left)
    predicate, values = _predicate(filters)
    if not left:
        return Scope(visible, ranges)
    if not predicate:
        inside, bounds = within("source_key << 32", ranges)
        question = f"SELECT coalesce(sum(chunks), 0) FROM source WHERE {inside}"
        [(chunks,)] = connection.execute(question, bounds).fetchall()
        return Scope(visible, ranges, few=int(chunks) if chunks <= NARROW else None)
    inside, bounds = within("chunk.chunk_key", ranges)
    rows = connection.execute(
        f"SELECT chunk.chunk_key FROM chunk JOIN document USING (document_key) WHERE {inside} AND {predicate} LIMIT ?",
        (*bounds, *values, NARROW + 1),
    )
    keys = frozenset(int(row[0]) for row in rows)
    if len(keys) <= NARROW:
        return Scope(visible, ranges, keys=keys, few=len(keys))
    return Scope(visible, ranges, predicate=predicate, values=tuple(values))


def _is_wanted(source: Source, filters: Filters) -> bool:
    kind, _, name = source.id.partition(":")
    return (
        (not filters.corpora or source.corpus in filters.corpora)
        and (not filters.sources or source.id in filters.sources)
        and (
            not filters.repos
            or (kind in ("repo", "forge", "notes") and _names(name, source.label) & filters.repos != set())
        )
        and (not filters.rooms or (kind == "chat" and {name, source.label} & filters.rooms != set()))
    )


def _names(name: str, label: str) -> set[str]:
    """A repository answers to its name in the configuration, `owner/name` and the bare last part."""
    return {name, label, name.rpartition("/")[2], name.partition("/")[2]}


def _predicate(filters: Filters) -> tuple[str, list[object]]:
    parts: list[str] = []
    values: list[object] = []

    def alternatives(column: str, wanted: Sequence[str]) -> None:
        parts.append(f"{column} IN ({', '.join('?' for _ in wanted)})")
        values.extend(wanted)

    if filters.kinds:
        alternatives("document.kind", sorted(kind.value for kind in filters.kinds))
    if filters.sections:
        alternatives("upper(chunk.section)", sorted(section.upper() for section in filters.sections))
    for name, wanted in (("tag", filters.tags), ("area", filters.areas), ("confidence", filters.confidences)):
        if wanted:
            marks = ", ".join("?" for _ in wanted)
            parts.append(
                "document.document_key IN (SELECT document_key FROM document_label"
                f" WHERE name = '{name}' AND value IN ({marks}))"
            )
            values.extend(sorted(value.casefold() for value in wanted))
    if filters.senders:
        marks = ", ".join("?" for _ in filters.senders)
        parts.append(f"chunk.chunk_key IN (SELECT chunk_key FROM chunk_sender WHERE sender IN ({marks}))")
        values.extend(sorted(filters.senders))
    if filters.before_ms is not None:
        parts.append("document.first_ms < ?")
        values.append(filters.before_ms)
    if filters.after_ms is not None:
        parts.append("document.last_ms >= ?")
        values.append(filters.after_ms)
    if filters.has_link:
        parts.append("document.has_link")
    return " AND ".join(parts), values
