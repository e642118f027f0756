"""Three fixed texts whose vectors tell "the same name, another model" (retrieval-pitfalls.md, 42).

The store keeps the vectors that the index was begun with; before vectors are used again, fresh ones are compared. A
server's update that changes outputs under an unchanged name is found so, and search stays lexical instead of wrong.
"""

from collections.abc import Sequence
from typing import Final

from index.embed.base import Embedder, Refusal, Role
from index.embed.vectors import cosine
from index.errors import EmbedderError
from index.model import Vector

PROBES: Final = (
    "The backup runs every night and keeps seven copies.",
    "Jak obnovím data ze zálohy?",
    "def read_config(path): return tomllib.loads(path.read_text())",
)
SAME_MODEL_COSINE: Final = 0.99


async def probe(embedder: Embedder) -> tuple[Vector, ...]:
    """The vectors of `PROBES`. Raises EmbedderError as `embed` does, or when one of them is refused."""
    vectors: list[Vector] = []
    for result in await embedder.embed(PROBES, Role.DOCUMENT):
        if isinstance(result, Refusal):
            raise EmbedderError(
                f"embedder {embedder.identity.name!r}: refused a probe of {len(PROBES[0])} characters: {result.reason}"
                " (check the model's name and its route)"
            )
        vectors.append(result)
    return tuple(vectors)


def is_same_model(stored: Sequence[Vector], fresh: Sequence[Vector]) -> bool:
    """Whether two probes come from one model. Nothing stored agrees with nothing but itself."""
    return len(stored) == len(fresh) and all(
        cosine(old, new) >= SAME_MODEL_COSINE for old, new in zip(stored, fresh, strict=True)
    )
