"""A window of chat that stands beside another one that answers the question too is the better answer of two.

A conversation is longer than a window: the words of a question stand where it was asked, those of its answer right
after, and a byte bound may lie between them. So a window gets a share of the score of the best window next to it in
time, in the same room. Pure; it only reorders windows among the places that windows hold, so that chat neither gains
on documents nor loses.
"""

from bisect import bisect_left, bisect_right
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
    places = [number for number, ranked in enumerate(ranking) if ranked.chunk in stretches]
    rooms: dict[RoomId, list[int]] = {}
    for number in places:
        rooms.setdefault(stretches[ranking[number].chunk].room, []).append(number)
    lifted: dict[int, float] = {}
    for members in rooms.values():
        said = [(stretches[ranking[number].chunk], ranking[number].score) for number in members]
        for number, best in zip(members, _best_beside(said), strict=True):
            lifted[number] = ranking[number].score + SHARE * best
    order = sorted(places, key=lambda number: (-lifted[number], number))
    reordered = list(ranking)
    for place, number in zip(places, order, strict=True):
        if place != number:
            held, taken = ranking[place], ranking[number]
            reordered[place] = Ranked(taken.chunk, held.rank, held.score, taken.coverage)
    return reordered


def _best_beside(said: Sequence[tuple[Stretch, float]]) -> list[float]:
    """For each window of a room the best score of those at most `NEAR_MS` of silence away; 0 where none has more.

    Only those are looked at that begin in the time in which one so near can begin.
    """
    in_order = sorted(range(len(said)), key=lambda number: said[number][0].first_ms)
    starts = [said[number][0].first_ms for number in in_order]
    longest = max(stretch.last_ms - stretch.first_ms for stretch, _ in said)
    found = []
    for number, (own, _) in enumerate(said):
        earliest = own.first_ms - NEAR_MS
        first, past = bisect_left(starts, earliest - longest), bisect_right(starts, own.last_ms + NEAR_MS)
        beside = (
            said[other][1] for other in in_order[first:past] if other != number and said[other][0].last_ms >= earliest
        )
        found.append(max(0.0, max(beside, default=0.0)))
    return found
