"""Vectors for as many texts as wanted, near those that the configured model gave for a sample of them.

Embedding a million texts takes hours and says nothing about an engine. A few hundred real vectors do: between two of
them, with some noise, lie others that are as crowded and as far apart as those of the model are.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy
from numpy.typing import NDArray

from index.embed.base import Embedded, EmbedderIdentity, Role
from index.model import Vector

SAMPLE: Final = 512
"""Texts that the model itself embeds."""
_NOISES: Final = 1_024
_NOISE_LENGTH: Final = 0.3

Floats = NDArray[numpy.float32]


class Neighbours:
    """An `Embedder` that knows only its sample. A text has the same vector each time, question or not."""

    def __init__(self, identity: EmbedderIdentity, sample: Sequence[Vector]) -> None:
        """`sample` must not be empty."""
        self._identity = identity
        self._sample: Floats = numpy.array([numpy.frombuffer(vector, "<f4") for vector in sample], numpy.float32)
        noise = numpy.random.default_rng(1).standard_normal((_NOISES, self._sample.shape[1]))
        length = numpy.linalg.norm(noise, axis=1, keepdims=True) / _NOISE_LENGTH
        self._noise: Floats = (noise / length).astype(numpy.float32)

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        return [Vector(row.tobytes()) for row in self.vectors(texts)]

    async def close(self) -> None:
        return None

    def vectors(self, texts: Sequence[str]) -> Floats:
        """A row of length 1 for each text."""
        drawn = numpy.array(
            [numpy.frombuffer(blake2b(text.encode(), digest_size=16).digest(), "<u4") for text in texts]
        ).reshape(len(texts), 4)
        share = (0.5 + drawn[:, 2:3] / 2**33).astype(numpy.float32)
        made = share * self._sample[drawn[:, 0] % len(self._sample)]
        made += (1 - share) * self._sample[drawn[:, 1] % len(self._sample)]
        made += self._noise[drawn[:, 3] % _NOISES]
        made /= numpy.linalg.norm(made, axis=1, keepdims=True)
        unit: Floats = made.astype("<f4")
        return unit
