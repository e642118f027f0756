"""BM25 over postings, our own because the set over which a word's rarity is judged is the audience's.

FTS5's `bm25()` counts all rows of the table: a word said often in a hidden room would then move the order of hits in
another room. Pure: postings in, scores out.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), with the fields weighted
inside the term frequency (BM25F).
"""

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Final

from msgspec import Struct

K1: Final = 2.5
B: Final = 0.3
"""Measured on the sets of documents (docs/quality.md); a frequency here adds up a word's keys, forms and titles, so it
saturates later than that of a bare word, and chunks of one size need little of the correction for length."""
TITLE_WEIGHT: Final = 3.0
"""What a word counts more in title, headings and path."""
PART_WEIGHT: Final = 0.5
"""What a word counts that only contains the one typed."""


class Feature(Struct, frozen=True):
    """One thing to be found: `frequency` is how often, weighted by field, it stands in each chunk that has it.

    `estimated_chunks` is in how many chunks it stands where `frequency` knows of some of them alone.
    """

    frequency: Mapping[int, float]
    weight: float = 1.0
    estimated_chunks: int | None = None

    @property
    def chunks(self) -> int:
        """In how many chunks it stands."""
        return len(self.frequency) if self.estimated_chunks is None else self.estimated_chunks

    def gain(self, chunks: int) -> float:
        """What it can add to a score at most."""
        return self.weight * idf(self.chunks, chunks) * (K1 + 1.0)


def idf(frequency: int, chunks: int) -> float:
    """Rarity of something that stands in `frequency` of `chunks` chunks; never negative."""
    return log(1.0 + (chunks - frequency + 0.5) / (frequency + 0.5))


def saturation(frequency: float, size: int, mean_size: float) -> float:
    """The share of its gain that a frequency has in a chunk of `size` words; below 1."""
    return frequency / (frequency + K1 * (1.0 - B + B * size / max(mean_size, 1.0)))


def scores(features: Sequence[Feature], sizes: Mapping[int, int], *, chunks: int, mean_size: float) -> dict[int, float]:
    """The score of every chunk that has any of the features. `sizes` are words of a chunk; a missing one is average."""
    total: dict[int, float] = {}
    norms: dict[int, float] = {}
    mean = max(mean_size, 1.0)
    for feature in features:
        if not feature.frequency:
            continue
        gain = feature.gain(chunks)
        for key, frequency in feature.frequency.items():
            norm = norms.get(key)
            if norm is None:
                norm = norms[key] = K1 * (1.0 - B + B * sizes.get(key, mean) / mean)
            total[key] = total.get(key, 0.0) + gain * frequency / (frequency + norm)
    return total


def ceilings(features: Sequence[Feature], *, chunks: int) -> dict[int, float]:
    """What `scores` gives each chunk at most: its score if it had no length. Never below it, not even by rounding."""
    total: dict[int, float] = {}
    norm = K1 * (1.0 - B + B * 0.0)
    for feature in features:
        gain = feature.gain(chunks)
        worth = {frequency: gain * frequency / (frequency + norm) for frequency in set(feature.frequency.values())}
        for key, frequency in feature.frequency.items():
            total[key] = total.get(key, 0.0) + worth[frequency]
    return total


def only(features: Sequence[Feature], keys: Iterable[int]) -> list[Feature]:
    """The same features, of these chunks alone; how rare they are does not change."""
    kept = list(keys)
    return [
        Feature({key: one.frequency[key] for key in kept if key in one.frequency}, one.weight, one.chunks)
        for one in features
    ]


def coverage(groups: Sequence[Sequence[Feature]], keys: Sequence[int], *, chunks: int) -> dict[int, float]:
    """The share of a question that each of the chunks has, 0.0 to 1.0, each word counting by its rarity.

    A group is one word: any of its features will do. A word that no chunk has counts as the rarest there is.
    """
    weights = [idf(min((one.chunks for one in group if one.chunks), default=0), chunks) for group in groups]
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
