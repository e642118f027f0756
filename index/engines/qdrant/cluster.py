"""One open connection to a cluster: its errors become ours, and what may be tried again is.

Every call has a limit of its own. Reading is tried twice at most and never beyond the limit; a change may be repeated,
since each says what shall be, not what to add.
"""

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from json import JSONDecodeError, loads
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from index.engines.qdrant.settings import LEAST_VERSION, QdrantSettings
from index.errors import ConfigError, CredentialError, EngineError

T = TypeVar("T")
READ_TRIES: Final = 2
WAIT_S: Final = 0.2
"""Before the first repetition; doubled before each further one."""
MOST_WAIT_S: Final = 10.0
_SHOWN: Final = 160
_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504})

Call = Callable[[AsyncQdrantClient], Awaitable[T]]


class Cluster:
    """`name` is for messages: the host, never a key."""

    def __init__(self, client: AsyncQdrantClient, settings: QdrantSettings, name: str) -> None:
        self.settings = settings
        self.name = name
        self._client = client

    async def read(self, call: Call[T]) -> T:
        """Raises `EngineError` when there is no answer in time, `CredentialError` when the key was refused."""
        return await self._called(call, self.settings.query_timeout_s, READ_TRIES, is_budget=True)

    async def write(self, call: Call[T]) -> T:
        """As `read`, with the patience of a writer."""
        return await self._called(call, self.settings.write_timeout_s, self.settings.write_tries, is_budget=False)

    async def _called(self, call: Call[T], limit_s: float, tries: int, *, is_budget: bool) -> T:
        """`is_budget`: the limit is for all tries together."""
        loop = asyncio.get_running_loop()
        end = loop.time() + limit_s
        for number in range(1, tries + 1):
            left_s = end - loop.time() if is_budget else limit_s
            try:
                async with asyncio.timeout(left_s):
                    return await call(self._client)
            except TimeoutError as error:
                failure: Exception = error
                wait_s: float | None = _wait_s(number)
            except Exception as error:  # noqa: BLE001 the client raises many kinds; `_fault` hands on what is a bug
                failure = error
                wait_s = _wait_before_repeating(error, number)
            if wait_s is None:
                raise self._fault(failure, limit_s) from failure
            if number == tries or (is_budget and loop.time() + wait_s >= end):
                raise self._fault(failure, limit_s) from failure
            await asyncio.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    def _fault(self, error: Exception, limit_s: float) -> Exception:
        match error:
            case TimeoutError():
                return EngineError(f"{self.name}: no answer within {limit_s:g} s (is the cluster busy, or too small?)")
            case ResponseHandlingException(source=httpx.TimeoutException()):
                return EngineError(f"{self.name}: no answer in time (is the cluster up, and reached from here?)")
            case ResponseHandlingException(source=httpx.ConnectError()):
                return EngineError(f"{self.name}: cannot be reached (check [index.qdrant] url, and that it runs)")
            case ResponseHandlingException():
                kind = type(error.source).__name__
                return EngineError(f"{self.name}: the answer was cut or cannot be read: {kind} (try again)")
            case ResourceExhaustedResponse():
                return EngineError(f"{self.name}: too busy (try again later, or raise its limits)")
            case UnexpectedResponse():
                return self._refusal(error)
            case JSONDecodeError():
                return EngineError(f"{self.name}: the answer is not Qdrant's (check [index.qdrant] url)")
        return error

    def _refusal(self, error: UnexpectedResponse) -> Exception:
        said = _said(error)
        if error.status_code in (401, 403):
            return CredentialError(f"{self.name}: the key was refused (check the credential in [index.qdrant])")
        if error.status_code == 404:
            message = f"{self.name}: there is no such collection (check [index.qdrant], or run `sources refresh`)"
            return EngineError(message)
        return EngineError(f"{self.name}: answered {error.status_code}: {said}")


def _wait_before_repeating(error: Exception, number: int) -> float | None:
    """None: to repeat it is of no use."""
    match error:
        case ResourceExhaustedResponse():
            return min(MOST_WAIT_S, float(error.retry_after_s))
        case UnexpectedResponse():
            return _wait_s(number) if error.status_code in _BUSY else None
        case ResponseHandlingException(source=httpx.HTTPError() | httpx.InvalidURL()):
            return _wait_s(number)
    return None


def _wait_s(number: int) -> float:
    return float(min(MOST_WAIT_S, WAIT_S * 2 ** (number - 1)))


def _said(error: UnexpectedResponse) -> str:
    """The cluster's own words, cut short, on one line."""
    told: Any = error.reason_phrase
    with suppress(JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        told = loads(error.content)["status"]["error"]
    return " ".join(str(told).split())[:_SHOWN] or "without a reason"


@asynccontextmanager
async def open_cluster(settings: QdrantSettings) -> AsyncIterator[Cluster]:
    """Connects with the first call. Raises `ConfigError` for a server that is too old."""
    name = f"qdrant at {urlsplit(settings.url).netloc.rpartition('@')[2]}"
    key = None if settings.api_key is None else settings.api_key()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a key without TLS: `sources check` tells of it
        client = AsyncQdrantClient(
            url=settings.url,
            api_key=key,
            port=None,
            prefer_grpc=False,
            check_compatibility=False,
            verify=settings.url.startswith("https:"),  # else the authorities of the machine are read for nothing
            timeout=max(1, round(max(settings.query_timeout_s, settings.write_timeout_s))),
        )
    try:
        cluster = Cluster(client, settings, name)
        await check_version(cluster)
        yield cluster
    finally:
        await client.close()


async def check_version(cluster: Cluster) -> str:
    """The server's version; raises `ConfigError` for one that lacks what searches need."""
    told = (await cluster.read(lambda client: client.info())).version
    numbers = tuple(int(part) for part in told.split("-")[0].split(".")[:2] if part.isdigit())
    if numbers < LEAST_VERSION:
        least = ".".join(map(str, LEAST_VERSION))
        raise ConfigError(f"{cluster.name}: is version {told}; {least} or newer is needed (upgrade it)")
    return told
