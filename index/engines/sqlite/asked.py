"""What is asked of the index in words: words with what stands for each, and what a hit must and must not have."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from index.store.postings import quoted
from index.store.scope import Scope
from index.text.bm25 import TITLE_WEIGHT

EXACT_WEIGHT: Final = 1.0
"""What a word counts where it stands as typed, beside 1 for its key."""


class Sought(Struct, frozen=True):
    """What is looked for of a word: its token in title and body, and keys, any of which stands for it."""

    token: str | None
    keys: tuple[str, ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.keys if self.token is None else (self.token, *self.keys)

    @property
    def expression(self) -> str:
        """For FTS5. Whatever is stored as typed is stored under a key as well, if it has one."""
        return expression_of([self])


def expression_of(sought: Iterable[Sought]) -> str:
    """Any of these, for FTS5: a row of alternatives, each of which it looks at again for each chunk."""
    keys: dict[str, None] = {}
    typed: dict[str, None] = {}
    for one in sought:
        (keys if one.keys else typed).update(dict.fromkeys(one.keys or one.tokens))
    columns = (("keys", keys), ("{title body}", typed))
    return " OR ".join(f"({column} : ({' OR '.join(map(quoted, found))}))" for column, found in columns if found)


class Word(Struct, frozen=True):
    """A word of the question as typed, and the postings behind it: at least so many, where that is above the budget."""

    text: str
    sought: tuple[Sought, ...]
    frequency: int

    @property
    def expression(self) -> str:
        return f"({' OR '.join(one.expression for one in self.sought)})"


class Demands(Struct, frozen=True):
    """For each phrase of the query the chunks that have it, and for each excluded term those that must not be shown."""

    phrases: tuple[str, ...]
    demanded: tuple[frozenset[int], ...]
    unwanted: tuple[str, ...]
    excluded: tuple[frozenset[int], ...]

    @property
    def without(self) -> str:
        """For FTS5, behind another expression: it takes away whatever is excluded."""
        return "".join(f" NOT ({{title body}} : {quoted(phrase)})" for phrase in self.unwanted)

    def allow(self, key: int) -> bool:
        return all(key in found for found in self.demanded) and not any(key in found for found in self.excluded)

    def sieve(self, keys: Sequence[int]) -> Sequence[int]:
        return [key for key in keys if self.allow(key)] if self.demanded or self.excluded else keys

    def allowed(self, scored: dict[int, float], scope: Scope) -> dict[int, float]:
        """Those of the chunks that may be shown, as far as that is known without asking the predicate of the scope."""
        if self.demanded or self.excluded:
            scored = {key: score for key, score in scored.items() if self.allow(key)}
        if scope.keys is not None or scope.ranges is not None:
            scored = {key: score for key, score in scored.items() if scope.may_hold(key)}
        return scored


class Task(Struct, frozen=True):
    """What one ranking is about: `wanted` places, a few more than are asked for."""

    demands: Demands
    chunks: int
    mean_size: float
    wanted: int


class Counts(Struct, frozen=True):
    """For each token asked for, how often it stands in each chunk that has it."""

    title: Mapping[str, Mapping[int, float]]
    body: Mapping[str, Mapping[int, float]]
    keys: Mapping[str, Mapping[int, float]]


def frequency_of(sought: Sought, counts: Counts) -> dict[int, float]:
    """One frequency for a word in all its forms: judged apart, a rare form of a common word would pass for rare."""
    found: dict[int, float] = {}
    for key in sought.keys:
        of_key = counts.keys[key]
        if not found:
            found = dict(of_key)
            continue
        for chunk, count in of_key.items():
            if count > found.get(chunk, 0.0):
                found[chunk] = count
    if sought.token is not None:
        for as_typed, weight in ((counts.body, EXACT_WEIGHT), (counts.title, EXACT_WEIGHT * TITLE_WEIGHT)):
            for chunk, count in as_typed[sought.token].items():
                found[chunk] = found.get(chunk, 0.0) + weight * count
    return found
