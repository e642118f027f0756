"""A deterministic embedder for tests and demonstrations: words hashed into a vector, no model, no network.

Texts that share words are near. It knows nothing of meaning, so nothing about quality can be learnt from it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

from index.embed.base import Embedded, EmbedderIdentity, Refusal, Role
from index.embed.vectors import unit_vector

_WORD = re.compile(r"\w+")


class HashingEmbedder:
    def __init__(self, dimension: int = 64) -> None:
        self._identity = EmbedderIdentity(
            name=f"hashing-{dimension}", dimension=dimension, query_prefix="", document_prefix="", max_tokens=0
        )
        self.embedded_count = 0  # texts so far: tests count what a refresh embeds

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        self.embedded_count += len(texts)
        return [self._vector(text) for text in texts]

    async def close(self) -> None:
        return None

    def _vector(self, text: str) -> Embedded:
        if not text.strip():
            return Refusal("nothing to embed: the text is empty")
        values = [0.0] * self._identity.dimension
        words = Counter(_WORD.findall(text.casefold())) or Counter([text])
        for word, count in words.items():
            digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            place = int.from_bytes(digest[:4], "big") % len(values)
            values[place] += float(count) if digest[4] & 1 else -float(count)
        if not any(values):  # two words in one place may cancel each other
            values[0] = 1.0
        return unit_vector(values, len(values))
