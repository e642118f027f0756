"""How the collections are laid out: vectors, payload indexes, and the memory-frugal settings that they are made with.

The figures are those known to hold 20,000 vectors of 1,024 dimensions in 151 MiB: vectors in memory, the graph (m 8,
ef_construct 64) and the payload on disk, two segments, which are mapped from 5,000 kB and indexed from 20,000 kB on.
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
BREATH: Final = 5_000
"""After so many points the writer waits for the cluster to have put them in order."""

_KEYWORD: Final = models.KeywordIndexType.KEYWORD
_INTEGER: Final = models.IntegerIndexType.INTEGER
_NAMES: Final = (
    "corpus", "repo_names", "room_names", "kind", "section", "tag", "area", "confidence", "sender", "event", "document",
    "keys",
)  # fmt: skip
INDEXES: Final[dict[str, models.PayloadSchemaType | models.PayloadSchemaParams]] = {
    "source": models.KeywordIndexParams(type=_KEYWORD, is_tenant=True, on_disk=True),
    **{name: models.KeywordIndexParams(type=_KEYWORD, on_disk=True) for name in _NAMES},
    "terms": models.KeywordIndexParams(type=_KEYWORD, on_disk=True, prefix=True),
    "words": models.TextIndexParams(
        type=models.TextIndexType.TEXT,
        tokenizer=models.TokenizerType.WHITESPACE,
        lowercase=False,
        phrase_matching=True,
        on_disk=True,
    ),
    **{
        name: models.IntegerIndexParams(type=_INTEGER, lookup=False, range=True, on_disk=True)
        for name in ("first_ms", "last_ms")
    },
    **{
        name: models.IntegerIndexParams(type=_INTEGER, lookup=True, range=True, on_disk=True)
        for name in ("source_key", "is_hidden", "has_link", "pending")
    },
}
"""Every field that a filter looks at."""

HNSW: Final = models.HnswConfigDiff(m=8, ef_construct=64, on_disk=True)
OPTIMIZERS: Final = models.OptimizersConfigDiff(
    default_segment_number=2,
    memmap_threshold=5_000,
    indexing_threshold=20_000,
    # Qdrant buries what is deleted; a segment is written anew without it from this share on, and not below 100 points.
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
            on_disk=False,
            multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        )
    }


def sparse_vectors() -> dict[str, models.SparseVectorParams]:
    return {
        WORDS: models.SparseVectorParams(index=models.SparseIndexParams(on_disk=True), modifier=models.Modifier.IDF)
    }
