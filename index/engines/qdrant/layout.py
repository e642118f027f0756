"""How the collections are laid out: vectors, payload indexes, and the memory-frugal settings that they are made with.

What takes memory while a collection is filled is not the vectors. A segment that takes new points has their payload
indexes and words in memory, wherever those are to be later, and one that is written anew has those of all its points
there once more. Vectors that shall be in memory take 64 MB of each segment, however few they are. So segments are
small, and vectors, graph (m 8, ef_construct 64), payload and indexes are pages of files (figures: docs/qdrant.md).
A component is one byte, as in the SQLite file, so a vector and its distances are the same in both engines.
"""

from typing import Final

from qdrant_client import models

DENSE: Final = "dense"
"""A row for each part of the chunk that has a vector; the nearest row counts. Left out while there is none."""
WORDS: Final = "words"
ZERO: Final = 128
"""What stands for 0 in an unsigned byte."""

BATCH: Final = 250
"""Points in one request, and one request at a time: more at once is what a small cluster dies of."""
BREATH: Final = 2_500
"""After so many points the writer waits for the cluster to have put them in order."""
SEGMENTS: Final = 8
LEAST_SEGMENT: Final = 5_000
"""Points that a segment takes at least; in a larger collection the share of one of `SEGMENTS`."""
LEAST_POINT: Final = 1_000
"""Bytes that a point counts at least, for its words."""

_KEYWORD: Final = models.KeywordIndexType.KEYWORD
_INTEGER: Final = models.IntegerIndexType.INTEGER
_WHITESPACE: Final = models.TokenizerType.WHITESPACE
_NAMES: Final = (
    "corpus", "repo_names", "room_names", "kind", "section", "tag", "area", "confidence", "sender", "event", "document",
)  # fmt: skip
INDEXES: Final[dict[str, models.PayloadSchemaType | models.PayloadSchemaParams]] = {
    "source": models.KeywordIndexParams(type=_KEYWORD, is_tenant=True, on_disk=True),
    **{name: models.KeywordIndexParams(type=_KEYWORD, on_disk=True) for name in _NAMES},
    "terms": models.KeywordIndexParams(type=_KEYWORD, on_disk=True, prefix=True),
    "keys": models.TextIndexParams(
        type=models.TextIndexType.TEXT, tokenizer=_WHITESPACE, lowercase=False, on_disk=True
    ),
    "words": models.TextIndexParams(
        type=models.TextIndexType.TEXT, tokenizer=_WHITESPACE, lowercase=False, phrase_matching=True, on_disk=True
    ),
    **{
        name: models.IntegerIndexParams(type=_INTEGER, lookup=False, range=True, on_disk=True)
        for name in ("first_ms", "last_ms")
    },
    **{
        name: models.IntegerIndexParams(type=_INTEGER, lookup=True, range=False, on_disk=True)
        for name in ("source_key", "is_hidden", "has_link", "pending")
    },
}
"""Every field that a filter looks at. Words of a text index are kept as numbers: half of what names take."""

HNSW: Final = models.HnswConfigDiff(m=8, ef_construct=64, on_disk=True)


def optimizers(chunks: int, dimension: int) -> models.OptimizersConfigDiff:
    """For a collection that shall hold so many chunks at first.

    The optimiser writes a segment anew with what was added, until it is full. So the points of a segment decide what it
    needs at once, and their number how often it runs and how many segments a question is put to.
    """
    full_kb = max(LEAST_SEGMENT, chunks // SEGMENTS) * max(LEAST_POINT, dimension) // 1_000
    return models.OptimizersConfigDiff(
        default_segment_number=SEGMENTS,
        max_segment_size=full_kb,
        indexing_threshold=full_kb // 2,
        # Qdrant buries what is deleted; a segment is written anew without it from this share on, and not below 100
        # points.
        deleted_threshold=0.001,
        vacuum_min_vector_number=100,
    )


def vectors(dimension: int) -> dict[str, models.VectorParams]:
    """None for an index without an embedder."""
    if not dimension:
        return {}
    return {
        DENSE: models.VectorParams(
            size=dimension,
            distance=models.Distance.EUCLID,
            datatype=models.Datatype.UINT8,
            on_disk=True,
            multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        )
    }


def sparse_vectors() -> dict[str, models.SparseVectorParams]:
    return {
        WORDS: models.SparseVectorParams(index=models.SparseIndexParams(on_disk=True), modifier=models.Modifier.IDF)
    }
