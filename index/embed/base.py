"""What every embedder promises: unit vectors for texts, in order, or a reason for each text that has none.

Light on purpose: the query path imports this module, so nothing here may load numpy, onnxruntime or httpx.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from index.model import Vector


class Role(StrEnum):
    """Models are trained with different prefixes for the two sides; mixing them up costs a third of the quality."""

    QUERY = "query"
    DOCUMENT = "document"


class Kind(StrEnum):
    LOCAL = "local"
    HTTP = "http"
    OFF = "off"
    HASHING = "hashing"


class Api(StrEnum):
    OPENAI = "openai"
    OLLAMA = "ollama"


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What a fingerprint needs: vectors of two identities never meet in one ranking.

    `max_tokens` is what the model reads at once, prefix and special tokens included; 0 where nobody says.
    """

    name: str
    dimension: int
    query_prefix: str
    document_prefix: str
    max_tokens: int

    def prefix(self, role: Role) -> str:
        return self.query_prefix if role is Role.QUERY else self.document_prefix


@dataclass(frozen=True, slots=True)
class Refusal:
    """One text that cannot be embedded while its neighbours can. The reason holds no part of the text."""

    reason: str


Embedded = Vector | Refusal


class Embedder(Protocol):
    """Turns texts into unit vectors. What it promises is spelled out by tests/embed/test_embedder_contract.py."""

    @property
    def identity(self) -> EmbedderIdentity: ...

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        """One entry for each text, in order. The same text gives the same vector whatever stands beside it.

        Raises EmbedderError when no vectors can be had at all; then none of these texts was embedded.
        """

    async def close(self) -> None:
        """Let go of model and threads. Safe to repeat."""


Progress = Callable[[str, float], None]
"""What is being done, and how much of the whole is done: 0.0 to 1.0. Called from a worker thread."""


@dataclass(frozen=True, slots=True)
class EmbedSettings:
    """Where vectors come from. A prefix of None means the model's own."""

    kind: Kind = Kind.LOCAL
    model: str = "e5"  # local: "e5" or a model directory; http: the name the server knows
    url: str = ""  # http: base of the service; the route of `api` is added unless it is there
    api: Api = Api.OPENAI
    dimension: int | None = None  # http: required; local: only where the directory does not say
    query_prefix: str | None = None
    document_prefix: str | None = None
    api_key: Callable[[], str] | None = field(default=None, repr=False)  # asked for at each request, never kept
    cache_dir: Path | None = None  # local "e5": where the model is built once; about 85 MB
    max_tokens: int = 0  # http: what the model reads at once, if known; used to tell truncation
    connect_timeout_s: float = 2.0
    query_budget_s: float = 2.5  # all attempts together; search goes on lexically afterwards
    document_timeout_s: float = 60.0  # one attempt: a server may load its model first
    batch_texts: int = 32
    batch_bytes: int = 64_000
    threads: int = 0  # 0: one for each core this process may use
