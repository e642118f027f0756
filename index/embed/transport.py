"""One request to an embedding server, with its retries: bytes of an answer, or why there is none."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import httpx

from index.embed.base import EmbedSettings
from index.http_faults import BUSY, asked_wait_s, in_words

_REFUSED: Final = frozenset({400, 413, 422})
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0


class UnavailableError(Exception):
    """The server gave nothing usable. `is_inner_fault`: it said 500, which a single odd text can cause."""

    def __init__(self, reason: str, *, is_inner_fault: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_inner_fault = is_inner_fault


class RefusedError(Exception):
    """The server will not have this request, however often it is sent; another one may do."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to try: all attempts together, one attempt, and how many."""

    total_s: float
    attempt_s: float
    attempts: int


class Transport:
    """Posts to one address. Neither texts nor vectors nor the key get into a message."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        address: str,
        settings: EmbedSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._address = address
        self._settings = settings
        self._sleep = sleep
        self._random = random.Random()

    async def post(self, body: dict[str, object], *, patience: Patience, max_bytes: int) -> bytes:
        """Raises UnavailableError when time or attempts ran out, RefusedError when the request itself was judged."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience.total_s
        attempt = 0
        while True:
            attempt += 1
            limit_s = min(patience.attempt_s, deadline - loop.time())
            outcome = await self._attempt(body, limit_s, max_bytes)
            if isinstance(outcome, bytes):
                return outcome
            fault, asked_s = outcome
            backoff_s = _FIRST_WAIT_S * 2 ** (attempt - 1) * self._random.uniform(0.75, 1.25)
            wait_s = asked_s if asked_s is not None else backoff_s
            if attempt >= patience.attempts or loop.time() + wait_s >= deadline or wait_s > _LONGEST_WAIT_S:
                raise fault
            await self._sleep(wait_s)

    async def _attempt(
        self, body: dict[str, object], limit_s: float, max_bytes: int
    ) -> bytes | tuple[UnavailableError, float | None]:
        """The answer, or a fault that may pass with the seconds the server asked for. Raises what will not pass."""
        timeout = httpx.Timeout(limit_s, connect=min(self._settings.connect_timeout_s, limit_s))
        key = self._settings.api_key() if self._settings.api_key else None
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            async with (
                asyncio.timeout(limit_s),
                self._client.stream(
                    "POST", self._address, json=body, headers=headers, timeout=timeout, follow_redirects=False
                ) as response,
            ):
                return await self._answer(response, max_bytes)
        except (TimeoutError, httpx.TimeoutException):
            return UnavailableError(f"no answer within {limit_s:.1f} s"), None
        except httpx.TransportError as fault:
            return UnavailableError(in_words(fault)), None

    async def _answer(self, response: httpx.Response, max_bytes: int) -> bytes | tuple[UnavailableError, float | None]:
        status = response.status_code
        if status in BUSY:
            return UnavailableError(f"HTTP {status}", is_inner_fault=status == 500), asked_wait_s(response)
        if status in _REFUSED:
            raise RefusedError(f"the server refuses it with HTTP {status}")
        if status in (401, 403):
            raise UnavailableError(f"HTTP {status}: it wants another api_key")
        if status != 200:
            raise UnavailableError(f"HTTP {status}: is this its address, and does it have the model?")
        content = bytearray()
        async for part in response.aiter_bytes():
            content += part
            if len(content) > max_bytes:
                raise UnavailableError(f"an answer of more than {max_bytes} bytes")
        return bytes(content)
