"""One question to a chat endpoint, with its retries: text as it arrives, and in the end what is to be said about it.

Before the first piece of text a busy or broken service is asked again; after it, never: nobody shall read two answers.
Neither the prompt nor the answer nor the key get into a message.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Final

import httpx
from msgspec import Struct

from index.ask import Prompt
from index.errors import CredentialError, ModelError
from index.http_faults import BUSY, asked_wait_s, in_words
from sources.asking.wire import AnswerError, Limits, Reading, endpoint, request_body

_ATTEMPTS: Final = 3
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0


class ModelSettings(Struct, frozen=True):
    """Where and how to ask. `api_key` is called at each request and kept nowhere."""

    url: str
    model: str
    api_key: Callable[[], str] | None = None
    temperature: float | None = None
    connect_timeout_s: float = 5.0
    silence_timeout_s: float = 60.0
    timeout_s: float = 300.0


class End(Struct, frozen=True):
    """How an answer ended. `fault` says why it broke off, `note` why a whole one is short."""

    fault: str = ""
    note: str = ""


class _FaultError(Exception):
    """Asking failed; with `wait_s` when the service said how long to wait, and `is_passing` when that may help."""

    def __init__(self, reason: str, *, is_passing: bool = True, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_passing = is_passing
        self.wait_s = wait_s


class ChatModel:
    """Asks one model. Holds no connection of its own: the client is the program's."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        settings: ModelSettings,
        *,
        limits: Limits | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._settings = settings
        self._limits = limits
        self._address = endpoint(settings.url)
        self._sleep = sleep
        self._random = random.Random()

    @property
    def name(self) -> str:
        return self._settings.model

    async def answer(self, prompt: Prompt) -> AsyncGenerator[str | End, None]:
        """Pieces of text, then one `End`. ModelError when there was no answer at all, CredentialError for a bad key."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.timeout_s
        for attempt in range(1, _ATTEMPTS + 1):
            reading = Reading(self._limits)
            try:
                async with aclosing(self._attempt(prompt, reading, deadline)) as pieces:
                    async for piece in pieces:
                        yield piece
                yield End(note=reading.note)
                return
            except _FaultError as fault:
                if not reading.is_empty:
                    yield End(fault=fault.reason)
                    return
                wait_s = fault.wait_s
                if wait_s is None:
                    wait_s = _FIRST_WAIT_S * 2 ** (attempt - 1) * self._random.uniform(0.75, 1.25)
                is_last = attempt == _ATTEMPTS or wait_s > _LONGEST_WAIT_S or loop.time() + wait_s >= deadline
                if is_last or not fault.is_passing:
                    shown = self._address.partition("?")[0]
                    raise ModelError(f"ask: {shown}: {fault.reason} (`--sources-only` does without it)") from fault
            await self._sleep(wait_s)

    async def _attempt(self, prompt: Prompt, reading: Reading, deadline: float) -> AsyncGenerator[str, None]:
        settings = self._settings
        timeout = httpx.Timeout(settings.silence_timeout_s, connect=settings.connect_timeout_s)
        key = settings.api_key() if settings.api_key else None
        headers = {"Accept": "text/event-stream, application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        body = request_body(settings.model, prompt.system, prompt.user, settings.temperature)
        try:
            async with AsyncExitStack() as opened:
                # No timeout is open while a piece is handed out: it would strike whoever reads.
                async with asyncio.timeout_at(deadline):
                    response = await opened.enter_async_context(
                        self._client.stream(
                            "POST", self._address, json=body, headers=headers, timeout=timeout, follow_redirects=False
                        )
                    )
                _judge(response)
                received = response.aiter_bytes()
                while not reading.is_whole:  # some services keep the connection open
                    async with asyncio.timeout_at(deadline):
                        data = await anext(received, None)
                    if data is None:
                        break
                    if piece := reading.feed(data):
                        yield piece
                if piece := reading.finish():
                    yield piece
        except AnswerError as error:
            raise _FaultError(str(error), is_passing=False) from error
        except (TimeoutError, httpx.TimeoutException) as error:
            raise _FaultError(_too_slow(error, settings)) from error
        except httpx.TransportError as error:
            raise _FaultError(in_words(error)) from error
        if not reading.is_whole:
            raise _FaultError("the answer broke off")
        if reading.is_empty:
            raise _FaultError("the answer is empty", is_passing=False)


def _judge(response: httpx.Response) -> None:
    status = response.status_code
    if status in BUSY:
        raise _FaultError(f"HTTP {status}", wait_s=asked_wait_s(response))
    if status in (401, 403):
        raise CredentialError(f"ask: HTTP {status}: the service wants another key (renew ask.api_key_credential)")
    if status in (400, 413, 422):
        reason = f"HTTP {status}: it refuses the question; is it too long for the model (see ask.max_context)?"
        raise _FaultError(reason, is_passing=False)
    if status != 200:
        raise _FaultError(f"HTTP {status}: is this its address, and does it have the model?", is_passing=False)


def _too_slow(error: Exception, settings: ModelSettings) -> str:
    match error:
        case httpx.ConnectTimeout():
            return f"cannot be reached within {settings.connect_timeout_s:g} s"
        case httpx.TimeoutException():
            return f"said nothing for {settings.silence_timeout_s:g} s"
        case _:
            return f"did not finish within {settings.timeout_s:g} s"
