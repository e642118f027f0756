"""A window of chat that stands beside another one that answers the question too is the better answer of two.

A conversation is longer than a window: the words of a question stand where it was asked, those of its answer right
after, and a byte bound may lie between them. So a window gets a share of the score of the best window next to it in
time, in the same room. Pure; it only reorders windows among the places that windows hold, so that chat neither gains
on documents nor loses.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from index.model import ChunkId, Ranked, RoomId

MINUTE_MS: Final = 60_000
NEAR_MS: Final = 15 * MINUTE_MS
SHARE: Final = 0.2
"""Both measured with the question's own window taken away before (docs/quality.md): beside the message that a
question was made of, any share looks good."""


class Stretch(NamedTuple):
    """When a window was said, and where."""

    room: RoomId
    first_ms: int
    last_ms: int


def lift_neighbours(ranking: Sequence[Ranked], stretches: Mapping[ChunkId, Stretch]) -> list[Ranked]:
    """`ranking` with its windows, those named in `stretches`, in the order of their scores and their neighbours'.

    A place keeps its rank and score: only who stands there changes.
    """
    lifted: dict[int, float] = {}
    rooms: dict[RoomId, list[tuple[int, int, int]]] = {}
    for number, ranked in enumerate(ranking):
        stretch = stretches.get(ranked.chunk)
        if stretch is not None:
            lifted[number] = ranked.score
            rooms.setdefault(stretch.room, []).append((stretch.first_ms, stretch.last_ms, number))
    for said in rooms.values():
        for number, best in _best_beside(said, ranking).items():
            lifted[number] += SHARE * best
    order = sorted([(-score, number) for number, score in lifted.items()])
    reordered = list(ranking)
    for place, (_, number) in zip(lifted, order, strict=True):
        if place != number:
            held, taken = ranking[place], ranking[number]
            reordered[place] = Ranked(taken.chunk, held.rank, held.score, taken.coverage)
    return reordered


def _best_beside(said: list[tuple[int, int, int]], ranking: Sequence[Ranked]) -> dict[int, float]:
    """For each window of a room that has others at most `NEAR_MS` of silence away, the best score of those, above 0.

    `said` tells when each began and ended, and its number. Of each only those are looked at that begin before what is
    beside it has to.
    """
    best: dict[int, float] = {}
    said.sort()
    for place, (first_ms, last_ms, number) in enumerate(said, start=1):
        for further in range(place, len(said)):
            other_first_ms, other_last_ms, other = said[further]
            if other_first_ms > last_ms + NEAR_MS:
                break
            if other_last_ms >= first_ms - NEAR_MS:
                best[number] = max(best.get(number, 0.0), ranking[other].score)
                best[other] = max(best.get(other, 0.0), ranking[number].score)
    return best
