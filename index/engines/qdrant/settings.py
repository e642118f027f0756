"""What the engine is told about a cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

LEAST_VERSION: Final = (1, 20)
"""Rarity judged inside an audience came with 1.19, matching the inside of a keyword with 1.20."""


@dataclass(frozen=True, slots=True)
class QdrantSettings:
    """`api_key` is read when the cluster is opened. `read_consistency` is Qdrant's own word, "one" for any replica.

    `write_factor` replicas must have a change before it counts as made.
    """

    url: str
    collection: str = "sources"
    api_key: Callable[[], str] | None = None
    shards: int = 1
    replicas: int = 1
    write_factor: int = 1
    read_consistency: str = "majority"
    query_timeout_s: float = 5.0
    write_timeout_s: float = 60.0
    write_tries: int = 5

    @property
    def records(self) -> str:
        """The collection beside it."""
        return f"{self.collection}-records"
