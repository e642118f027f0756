"""A window of chat that stands beside another one that answers the question too is the better answer of two.

A conversation is longer than a window: the words of a question stand where it was asked, those of its answer right
after, and a byte bound may lie between them. So a window gets a share of the score of the best window next to it in
time, in the same room. Pure; it only reorders windows among the places that windows hold, so that chat neither gains
on documents nor loses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from index.model import ChunkId, Ranked, RoomId

MINUTE_MS: Final = 60_000
NEAR_MS: Final = 15 * MINUTE_MS
SHARE: Final = 0.2
"""Both measured with the question's own window taken away before (docs/quality.md): beside the message that a
question was made of, any share looks good."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """When a window was said, and where."""

    room: RoomId
    first_ms: int
    last_ms: int

    def distance_ms(self, other: "Stretch") -> int:
        """The silence between two windows; 0 where they overlap."""
        return max(0, other.first_ms - self.last_ms, self.first_ms - other.last_ms)


def lift_neighbours(ranking: Sequence[Ranked], stretches: Mapping[ChunkId, Stretch]) -> list[Ranked]:
    """`ranking` with its windows, those named in `stretches`, in the order of their scores and their neighbours'.

    A place keeps its rank and score: only who stands there changes. Quadratic in the windows of one room, which are at
    most the candidates of a search.
    """
    places = [number for number, ranked in enumerate(ranking) if ranked.chunk in stretches]
    rooms: dict[RoomId, list[int]] = {}
    for number in places:
        rooms.setdefault(stretches[ranking[number].chunk].room, []).append(number)
    lifted: dict[int, float] = {}
    for members in rooms.values():
        for number in members:
            own = stretches[ranking[number].chunk]
            beside = (
                ranking[other].score
                for other in members
                if other != number and own.distance_ms(stretches[ranking[other].chunk]) <= NEAR_MS
            )
            lifted[number] = ranking[number].score + SHARE * max(0.0, max(beside, default=0.0))
    order = sorted(places, key=lambda number: (-lifted[number], number))
    reordered = list(ranking)
    for place, number in zip(places, order, strict=True):
        held = ranking[place]
        reordered[place] = replace(ranking[number], rank=held.rank, score=held.score)
    return reordered
