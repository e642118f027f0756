"""The same name, another model: servers change what a name stands for, and vectors of two models must never meet.

The first run that embeds keeps the vectors of three fixed texts; each later one compares before it adds to the index.
When they differ nothing is embedded and searches go by words alone, until `sources refresh --full`, or until the server
answers as it did.
"""

import json

from index.embed.base import Embedder
from index.embed.probe import is_same_model, probe
from index.model import Vector
from index.store.vectors import DRIFTED, PROBED
from ingest.writing import Writer


async def has_drifted(writer: Writer, embedder: Embedder) -> bool:
    """Whether the embedder answers otherwise than when the index was begun. Raises `EmbedderError` as `embed` does."""
    store = writer.store
    stored, was_drifted = await store.value(PROBED), bool(await store.value(DRIFTED))
    fresh = await probe(embedder)
    is_drifted = bool(stored) and not is_same_model(_parsed(stored or "[]"), fresh)
    if stored and is_drifted == was_drifted:
        return is_drifted
    async with writer.transaction():
        if not stored:
            await store.set_value(PROBED, json.dumps([vector.hex() for vector in fresh]))
        await store.set_value(DRIFTED, "yes" if is_drifted else "")
    return is_drifted


def _parsed(stored: str) -> list[Vector]:
    return [Vector(bytes.fromhex(text)) for text in json.loads(stored)]
