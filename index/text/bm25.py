"""BM25 over postings, our own because the set over which a word's rarity is judged is the audience's.

FTS5's `bm25()` counts all rows of the table: a word said often in a hidden room would then move the order of hits in
another room. Pure: postings in, scores out.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), with the fields weighted
inside the term frequency (BM25F).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

K1: Final = 3.0
B: Final = 0.4
"""Measured on the sets of documents (docs/quality.md); a frequency here adds up a word's keys, forms and titles, so it
saturates later than that of a bare word, and chunks of one size need little of the correction for length."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing to be found: `frequency` is how often, weighted by field, it stands in each chunk that has it."""

    frequency: Mapping[int, float]
    weight: float = 1.0


def idf(frequency: int, chunks: int) -> float:
    """Rarity of something that stands in `frequency` of `chunks` chunks; never negative."""
    return log(1.0 + (chunks - frequency + 0.5) / (frequency + 0.5))


def scores(features: Sequence[Feature], sizes: Mapping[int, int], *, chunks: int, mean_size: float) -> dict[int, float]:
    """The score of every chunk that has any of the features. `sizes` are words of a chunk; a missing one is average."""
    total: dict[int, float] = {}
    norms: dict[int, float] = {}
    mean = max(mean_size, 1.0)
    for feature in features:
        if not feature.frequency:
            continue
        gain = feature.weight * idf(len(feature.frequency), chunks) * (K1 + 1.0)
        for key, frequency in feature.frequency.items():
            norm = norms.get(key)
            if norm is None:
                norm = norms[key] = K1 * (1.0 - B + B * sizes.get(key, mean) / mean)
            total[key] = total.get(key, 0.0) + gain * frequency / (frequency + norm)
    return total


def coverage(groups: Sequence[Sequence[Feature]], keys: Sequence[int], *, chunks: int) -> dict[int, float]:
    """The share of a question that each of the chunks has, 0.0 to 1.0, each word counting by its rarity.

    A group is one word: any of its features will do. A word that no chunk has counts as the rarest there is.
    """
    weights = [idf(min((len(one.frequency) for one in group if one.frequency), default=0), chunks) for group in groups]
    whole = sum(weights)
    if not whole:
        return dict.fromkeys(keys, 0.0)
    return {
        key: sum(
            weight for weight, group in zip(weights, groups, strict=True) if any(key in one.frequency for one in group)
        )
        / whole
        for key in keys
    }
