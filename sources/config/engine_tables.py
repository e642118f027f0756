"""The tables of engines other than the SQLite file. See `sources.config.model` for how tables are written."""

from typing import Annotated, Literal

from msgspec import Struct

from sources.config.forms import DURATION, HTTP_URL, NAME, whole
from sources.config.units import MINUTE_MS, SECOND_MS


class Qdrant(Struct, frozen=True, kw_only=True):
    """`[index.qdrant]`: the cluster of `engine = "qdrant"`. Needs the extra `qdrant`; docs/qdrant.md says more."""

    url: Annotated[str | None, HTTP_URL, "Its REST endpoint, like `http://localhost:6333`."] = None
    collection: Annotated[str, NAME, "Name of the collection; a second one, `<name>-records`, is made beside it."] = (
        "sources"
    )
    api_key_credential: Annotated[
        str | None, NAME, "Name of the credential that holds the key; none is sent without it."
    ] = None
    shards: Annotated[int, whole(1, 1024), "Shards, when the collection is made; later changes are the cluster's."] = 1
    replicas: Annotated[int, whole(1, 32), "Copies of each shard, when the collection is made."] = 1
    write_consistency: Annotated[
        Literal["majority", "all", "one"], "Replicas that must have a change before it counts as made."
    ] = "majority"
    read_consistency: Annotated[
        Literal["majority", "all", "quorum", "one"], "Replicas that are asked, and must agree, where there are several."
    ] = "majority"
    query_timeout_ms: Annotated[
        int, DURATION, "For each request of a question, connecting and a repetition included."
    ] = 5 * SECOND_MS
    write_timeout_ms: Annotated[int, DURATION, "For each try of a change; a refresh tries five times."] = MINUTE_MS

    @property
    def write_factor(self) -> int:
        """`write_consistency` as a number of replicas."""
        return {"one": 1, "majority": self.replicas // 2 + 1, "all": self.replicas}[self.write_consistency]
