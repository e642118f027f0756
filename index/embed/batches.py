"""Cutting many texts into batches, and putting the results back in order. Pure, but for the stream at the end."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from index.embed.base import Embedded, Embedder, Role

Key = TypeVar("Key")


def batches(sizes: Sequence[int], *, max_bytes: int, max_texts: int) -> list[list[int]]:
    """Positions of texts grouped by similar size, longest first; every position is in exactly one batch.

    A batch keeps to both bounds; a text larger than `max_bytes` stands alone. Longest first, so that a model that is
    too big for its machine shows it at once and the last batches are the short ones.
    """
    cut: list[list[int]] = []
    room = 0
    for position in sorted(range(len(sizes)), key=lambda at: (-sizes[at], at)):
        if not cut or sizes[position] > room or len(cut[-1]) >= max_texts:
            cut.append([])
            room = max_bytes
        cut[-1].append(position)
        room -= sizes[position]
    return cut


async def embed_stream(
    embedder: Embedder, texts: Iterable[tuple[Key, str]], role: Role = Role.DOCUMENT, *, texts_at_once: int = 256
) -> AsyncIterator[list[tuple[Key, Embedded]]]:
    """A long run of texts in slices, so that each can be stored, shown as progress and survived before the next.

    The slice is large enough to keep every core busy and small enough to lose little to a kill. Raises EmbedderError
    when the embedder goes away; slices already given stay good.
    """
    for keyed in _slices(texts, texts_at_once):
        embedded = await embedder.embed([text for _, text in keyed], role)
        yield [(key, vector) for (key, _), vector in zip(keyed, embedded, strict=True)]


def _slices(texts: Iterable[tuple[Key, str]], size: int) -> Iterator[list[tuple[Key, str]]]:
    source = iter(texts)
    while part := list(islice(source, size)):
        yield part
