"""Reciprocal rank fusion: one order out of several rankings of the same chunks, by rank alone.

Ours for every engine, so that the same rankings give the same order whichever engine they came from. Ranks count from
1; an engine that counts from 0 means another k by the same number.

Source: Cormack, Clarke and Buettcher, Reciprocal Rank Fusion outperforms Condorcet and Individual Rank Learning
Methods (SIGIR 2009).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from index.model import ChunkId, Origin, Ranked

K: Final = 60


class WeightedRanking(NamedTuple):
    """One ranking of one text, best first. `name` is "bm25" or "vec", `text` the number of the text, from 1.

    `trust` are factors by rank from 1, the last one for all further ranks; empty trusts every rank alike. They may not
    rise, or a lower place would outrank a higher one.
    """

    name: str
    text: int
    places: Sequence[Ranked]
    weight: float = 1.0
    trust: tuple[float, ...] = ()

    def shares(self) -> list[float]:
        """What each place adds to the score of its chunk."""
        trust = self.trust or (1.0,)
        last = len(trust) - 1
        return [self.weight * trust[min(place.rank - 1, last)] / (K + place.rank) for place in self.places]


class Fused(NamedTuple):
    """`places` are those that it has in rankings, the text's order first, then the ranking's name."""

    chunk: ChunkId
    score: float
    places: tuple[tuple[WeightedRanking, Ranked], ...]

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Its places as they are shown. Made when they are asked for, since of hundreds ten are."""
        return tuple(Origin(ranking.name, ranking.text, place.rank, place.score) for ranking, place in self.places)


def fuse(rankings: Sequence[WeightedRanking]) -> list[Fused]:
    """Best first; equal scores by best rank, then by chunk id, so that the order is total.

    A second ranking of the same name and text counts nothing, nor does a second place of one chunk in one ranking. The
    order in which rankings are given does not matter as long as no two differ under the same name and text.
    """
    first = {(ranking.text, ranking.name): ranking for ranking in reversed(rankings)}
    scores: dict[ChunkId, float] = {}
    best: dict[ChunkId, int] = {}
    held: dict[ChunkId, tuple[tuple[WeightedRanking, Ranked], ...]] = {}
    for _, ranking in sorted(first.items(), key=lambda item: item[0]):
        for place, share in zip(ranking.places, ranking.shares(), strict=True):
            chunk, rank = place.chunk, place.rank
            if chunk not in scores:
                scores[chunk], best[chunk], held[chunk] = share, rank, ((ranking, place),)
            elif held[chunk][-1][0] is not ranking:
                scores[chunk] += share
                best[chunk] = min(rank, best[chunk])
                held[chunk] += ((ranking, place),)
    order = sorted([(-score, best[chunk], chunk) for chunk, score in scores.items()])
    return [Fused(chunk, scores[chunk], held[chunk]) for _, _, chunk in order]
