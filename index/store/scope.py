"""Where a search may look: the audience and the reader's filters, as conditions on chunk keys.

The audience decides first, by source, and statistics such as the frequency of a word are taken inside it alone. The
reader's own filters then remove hits. Since the keys of a source are one range, both are comparisons of numbers unless
a filter looks at a document's own fields.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from index.model import Audience, Corpus, Filters, Kind
from index.store.driver import Connection
from index.store.listing import listed_keys
from index.store.lists import as_json
from index.store.predicates import predicate
from index.store.store import Source

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

NARROW: Final = 20_000
"""A scope of at most so many chunks is searched exactly."""
MOST_SPOTS: Final = 2_000
"""Ranges that the full-text index is asked about one by one."""
MOST_KEYS: Final = 2**63
LAST: Final = 0xFFFF_FFFF
"""The highest number in a source."""
MOST_TESTS: Final = 500
"""Ranges that are tested one after the other, each through an index where there is one."""
Range = tuple[int, int]
_WINDOWS: Final = frozenset({Kind.WINDOW})
_DOCUMENTS: Final = frozenset(Kind) - _WINDOWS
"""Windows of chat have neither sections nor labels, documents no senders: filters on these leave out whole sources."""


class Scope(Struct, frozen=True):
    """`visible` is what the audience may see and `ranges` what the filters leave of it; None means every chunk.

    `keys` is the exact set where a filter looks at documents and leaves few chunks, `predicate` the condition on
    `document` and `chunk` where it leaves many; of not too many `listed` has the keys that it lets through, and `spots`
    their ranges, where there are not too many either. `few`: how many chunks are left, by whatever filter, if they are
    few.
    """

    visible: tuple[Range, ...] | None
    ranges: tuple[Range, ...] | None
    keys: frozenset[int] | None = None
    predicate: str = ""
    values: tuple[object, ...] = ()
    few: int | None = None
    listed: frozenset[int] | None = None
    spots: tuple[Range, ...] | None = None

    @property
    def is_narrow(self) -> bool:
        return self.few is not None

    @property
    def is_empty(self) -> bool:
        return self.ranges == () or self.keys == frozenset()

    def condition(self, column: str) -> tuple[str, list[object]]:
        """SQL over a column of chunk keys, with its values."""
        if self.keys is not None:
            return f"{column} IN (SELECT value FROM json_each(?))", [as_json(sorted(self.keys))]
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
        if self.keys is not None:
            return runs(self.keys)
        return self.ranges if self.spots is None else self.spots


def runs(keys: Iterable[int]) -> tuple[Range, ...]:
    """The ranges that hold exactly these keys."""
    found: list[Range] = []
    for key in sorted(keys):
        if found and found[-1][1] + 1 == key:
            found[-1] = (found[-1][0], key)
        else:
            found.append((key, key))
    return tuple(found)


def crossed(ranges: Sequence[Range], others: Sequence[Range]) -> tuple[Range, ...]:
    """What is in both; each in order."""
    found = []
    at = 0
    for low, high in ranges:
        while at < len(others) and others[at][1] < low:
            at += 1
        further = at
        while further < len(others) and others[further][0] <= high:
            found.append((max(low, others[further][0]), min(high, others[further][1])))
            further += 1
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
    if not left:
        return Scope(visible, ranges)
    if all(source.corpus is Corpus.CHAT for source in left):
        filters = replace(filters, kinds=frozenset())  # all of it is windows
    condition, values = predicate(filters)
    if not condition:
        inside, bounds = within("source_key << 32", ranges)
        question = f"SELECT coalesce(sum(chunks), 0) FROM source WHERE {inside}"
        [(chunks,)] = connection.execute(question, bounds).fetchall()
        return Scope(visible, ranges, few=int(chunks) if chunks <= NARROW else None)
    listed = listed_keys(connection, filters, [source.key for source in left])
    if listed is not None and len(listed) <= NARROW:
        return Scope(visible, ranges, keys=listed, few=len(listed))
    spots = None if listed is None else runs(listed)
    if spots is not None and len(spots) > MOST_SPOTS:
        spots = None
    return Scope(visible, ranges, predicate=condition, values=tuple(values), listed=listed, spots=spots)


def _is_wanted(source: Source, filters: Filters) -> bool:
    kind, _, name = source.id.partition(":")
    is_chat = source.corpus is Corpus.CHAT
    return (
        (not filters.corpora or source.corpus in filters.corpora)
        and (not filters.kinds or not filters.kinds.isdisjoint(_WINDOWS if is_chat else _DOCUMENTS))
        and not (is_chat and (filters.sections or filters.tags or filters.areas or filters.confidences))
        and (is_chat or not filters.senders)
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
