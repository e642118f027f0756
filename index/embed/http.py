"""The embedder on a server: OpenAI-compatible or Ollama. Defensive, since these servers fail quietly.

What each defence is against, with the reports, stands in section 3E of the notes that docs/embedding.md names.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import httpx

from index.embed.base import Embedded, EmbedderIdentity, EmbedSettings, Refusal, Role
from index.embed.batches import batches
from index.embed.breaker import Breaker
from index.embed.probe import PROBES
from index.embed.transport import Patience, RefusedError, Transport, UnavailableError
from index.embed.truncation import TokenWatch
from index.embed.vectors import cosine, unit_vector
from index.embed.wire import WireError, endpoint, parse_reply, request_body
from index.errors import CredentialError, EmbedderError

_BATCH_TRIAL_TEXTS: Final = 16  # from here on batches have come back with worse vectors
_SAME_TEXT_COSINE: Final = 0.999
_BYTES_OF_A_VALUE: Final = 32


class HttpEmbedder:
    """Asks `settings.url`. Holds no connection of its own: the client is the program's."""

    def __init__(
        self,
        settings: EmbedSettings,
        identity: EmbedderIdentity,
        client: httpx.AsyncClient,
        *,
        breaker: Breaker | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._settings = settings
        self._identity = identity
        address = endpoint(settings.url, settings.api)
        self._shown = address.partition("?")[0]
        self._transport = transport or Transport(client, address, settings)
        self._breaker = breaker or Breaker()
        self._watch = TokenWatch(settings.max_tokens)
        self._texts_at_once = settings.batch_texts
        self._is_tried = False

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    @property
    def notes(self) -> tuple[str, ...]:
        """What somebody who reads a report should know about the server, in words."""
        notes = []
        if self._watch.suspected:
            notes.append(f"the embedding server seems to cut long texts ({self._watch.suspected} answers)")
        if self._is_tried and self._texts_at_once < self._settings.batch_texts:
            notes.append("the embedding server gives other vectors in batches, so texts are sent one by one")
        return tuple(notes)

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        if not texts:
            return []
        if reason := self._breaker.refusal():
            raise self._error(reason)
        try:
            async with asyncio.timeout(self._settings.query_budget_s if role is Role.QUERY else None):
                if role is Role.DOCUMENT and not self._is_tried:
                    await self._try_batches()
                results = await self._embed(texts, role)
        except TimeoutError as fault:
            reason = f"no answer within {self._settings.query_budget_s:.1f} s"
            self._breaker.failed(reason)
            raise self._error(reason) from fault
        except (UnavailableError, WireError, CredentialError) as fault:
            reason = fault.reason if isinstance(fault, UnavailableError) else str(fault)
            self._breaker.failed(reason)
            raise self._error(reason) from fault
        self._breaker.succeeded()
        return results

    async def close(self) -> None:
        return None

    async def _embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        results: list[Embedded] = [Refusal("nothing to embed: the text is empty")] * len(texts)
        sendable = [at for at, text in enumerate(texts) if text.strip()]
        prefix = self._identity.prefix(role)
        clean = [prefix + texts[at].encode("utf-8", "replace").decode("utf-8") for at in sendable]
        sizes = [len(text.encode("utf-8")) for text in clean]
        for batch in batches(sizes, max_bytes=self._settings.batch_bytes, max_texts=self._texts_at_once):
            vectors = await self._bisected([clean[at] for at in batch], self._patience(role))
            for at, vector in zip(batch, vectors, strict=True):
                results[sendable[at]] = vector
        return results

    async def _bisected(self, texts: Sequence[str], patience: Patience) -> list[Embedded]:
        """One text that the server will not have fails its whole request, so halves are sent until it stands alone."""
        try:
            return await self._request(texts, patience)
        except RefusedError as fault:
            reason = fault.reason
        except UnavailableError as fault:
            if not fault.is_inner_fault or not await self._is_alive(patience):
                raise
            reason = "the server fails on it with HTTP 500"
        if len(texts) == 1:
            return [Refusal(reason)]
        half = len(texts) // 2
        return await self._bisected(texts[:half], patience) + await self._bisected(texts[half:], patience)

    async def _request(self, texts: Sequence[str], patience: Patience) -> list[Embedded]:
        dimension = self._identity.dimension
        body = request_body(self._settings.api, self._settings.model, texts)
        max_bytes = 100_000 + len(texts) * max(dimension, 4096) * _BYTES_OF_A_VALUE
        answer = await self._transport.post(body, patience=patience, max_bytes=max_bytes)
        reply = parse_reply(self._settings.api, answer, len(texts))
        wrong = {len(values) for values in reply.values} - {dimension}
        if wrong:
            raise WireError(f"its vectors have {max(wrong)} values, dimension says {dimension}")
        if self._watch.saw([len(text.encode("utf-8")) for text in texts], reply.tokens):
            self._log_truncation(len(texts))
        return [unit_vector(values, dimension) for values in reply.values]

    async def _is_alive(self, patience: Patience) -> bool:
        try:
            await self._request(PROBES[:1], patience)
        except (UnavailableError, RefusedError, WireError):
            return False
        return True

    async def _try_batches(self) -> None:
        """Whether a text in a batch gets the vector it gets alone, which is not so on every server."""
        patience = self._patience(Role.DOCUMENT)
        texts = [f"{PROBES[at % len(PROBES)]} {at}" for at in range(min(_BATCH_TRIAL_TEXTS, self._texts_at_once))]
        try:
            together = await self._request(texts, patience)
            alone = [(await self._request([texts[at]], patience))[0] for at in (0, -1)]
        except RefusedError as fault:
            raise UnavailableError(f"{fault.reason}, a plain sentence: is model the name the server knows?") from fault
        for one, other in zip(alone, (together[0], together[-1]), strict=True):
            if isinstance(one, Refusal) or isinstance(other, Refusal):
                raise UnavailableError("a plain sentence gets no vector with finite values")
            if cosine(one, other) < _SAME_TEXT_COSINE:
                self._texts_at_once = 1
        self._is_tried = True

    def _patience(self, role: Role) -> Patience:
        if role is Role.QUERY:
            budget_s = self._settings.query_budget_s
            return Patience(total_s=budget_s, attempt_s=budget_s, attempts=2)
        attempt_s = self._settings.document_timeout_s
        return Patience(total_s=3 * attempt_s, attempt_s=attempt_s, attempts=5)

    def _error(self, reason: str) -> EmbedderError:
        return EmbedderError(
            f"embedding server {self._shown}: {reason} (search is lexical and vectors stay pending until it answers)"
        )

    def _log_truncation(self, texts: int) -> None:
        import structlog  # late: a tenth of a second, and most processes never log here

        structlog.get_logger().warning("embed.truncation_suspected", texts=texts, answers=self._watch.suspected)
