"""One GET to a forge: its answer, or one line about why there is none.

The token travels in one header, to the configured server alone: redirects are followed only inside it, and the links
of an answer are never followed, only their query is used. Every wait and every size is bounded.
"""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx

from index.errors import CredentialError, ForgeError
from index.http_faults import in_words
from ingest.forge.listed import ForgeKind
from ingest.forge.remote import may_carry_login, origin, shown

_PASSING: Final = frozenset({500, 502, 503, 504})
_REDIRECTS: Final = frozenset({301, 302, 307, 308})
_GONE: Final = frozenset({404, 410, 451})
_MAX_REDIRECTS: Final = 3
_MAX_TOKEN: Final = 4000
_OPEN: Final = "https://api.github.com"  # to everybody, who has few requests there: none is spent on asking


@dataclass(frozen=True, slots=True)
class ApiPatience:
    """`attempt_s` for one try, answer included; a server that asks for a longer pause than `longest_wait_s` has
    failed for this run."""

    attempt_s: float = 30.0
    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is parsed JSON. Not modified: `is_same` and no body. `is_gone`: there is nothing of that name.

    `next_query` is what the server's rel="next" link asks for; None when it names no next page.
    """

    body: object = None
    is_same: bool = False
    is_gone: bool = False
    etag: str | None = None
    next_query: Mapping[str, str] | None = None
    total: int | None = None
    told_ms: int = 0  # by the server's clock where it tells it


class _PassingError(Exception):
    """May be gone at the next try, after `asked_s` if the server said so."""

    def __init__(self, problem: str, asked_s: float | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.asked_s = asked_s


class _LoginWantedError(ForgeError):
    """Nobody is answered there without a token."""


class ForgeApi:
    """The API of one forge. `token` is called at each request and kept nowhere; None asks as anybody."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        kind: ForgeKind,
        url: str,
        *,
        about: str,
        token: Callable[[], str] | None = None,
        patience: ApiPatience = ApiPatience(),
        max_bytes: int = 16 << 20,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.kind = kind
        self.base = api_base(kind, url)
        self.about = about
        self.is_anonymous = token is None
        self.requests = 0
        self._client = client
        self._token = token
        self._patience = patience
        self._max_bytes = max_bytes
        self._sleep = sleep

    async def is_open(self, path: str, query: Mapping[str, str]) -> bool:
        """Whether anybody gets an answer there, without a token."""
        if self.is_anonymous or self.base == _OPEN:
            return True
        try:
            return not (await self.get(path, query, as_anybody=True)).is_gone
        except _LoginWantedError:
            return False

    async def get(
        self, path: str, query: Mapping[str, str], *, etag: str | None = None, as_anybody: bool = False
    ) -> Answer:
        """Raises ForgeError, or CredentialError when the token is at fault. `as_anybody` leaves the token out."""
        headers = self._headers(etag, is_anonymous=as_anybody or self.is_anonymous)
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._attempt(path, query, headers)
            except _PassingError as fault:
                wait_s = self._patience.first_wait_s * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)
                if fault.asked_s is not None:
                    wait_s = max(wait_s, fault.asked_s)
                if wait_s > self._patience.longest_wait_s:
                    problem = f"{fault.problem}, and asks to wait {wait_s:.0f} s"
                    raise self._error(problem, "the next run tries again; a token raises limits") from None
                if attempt >= self._patience.attempts:
                    raise self._error(fault.problem, "check the forge; the next run tries again") from None
                await self._sleep(wait_s)

    async def _attempt(self, path: str, query: Mapping[str, str], headers: dict[str, str]) -> Answer:
        """One try, with the redirects inside it."""
        url, params = self.base + path, dict(query) or None
        try:
            async with asyncio.timeout(self._patience.attempt_s):
                for _ in range(_MAX_REDIRECTS + 1):
                    self.requests += 1
                    async with self._client.stream(
                        "GET",
                        url,
                        params=params,
                        headers=headers,
                        follow_redirects=False,
                        timeout=httpx.Timeout(self._patience.attempt_s),
                    ) as response:
                        if response.status_code not in _REDIRECTS:
                            return await self._answer(response)
                        url, params = self._redirected(str(response.url), response.headers.get("location", "")), None
        except (TimeoutError, httpx.TimeoutException):
            raise _PassingError(f"no answer within {self._patience.attempt_s:g} s") from None
        except httpx.TransportError as fault:
            raise _PassingError(in_words(fault)) from fault
        except (httpx.InvalidURL, httpx.DecodingError) as fault:
            raise _PassingError("its answer cannot be read") from fault
        raise self._error("redirects in a circle", "check the url")

    def _headers(self, etag: str | None, *, is_anonymous: bool) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "sources"}
        if self.kind is ForgeKind.GITHUB:
            headers |= {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        if etag is not None:
            headers["If-None-Match"] = etag
        if self._token is not None and not is_anonymous:
            if not may_carry_login(self.base):
                raise CredentialError(f"{self.about}: its token would travel unencrypted (use https in its url)")
            token = self._token()
            if not (token.isascii() and token.isprintable() and 0 < len(token) <= _MAX_TOKEN and " " not in token):
                raise CredentialError(f"{self.about}: its credential is no token (write the token alone, one line)")
            is_gitea = self.kind in (ForgeKind.FORGEJO, ForgeKind.GITEA)
            headers["Authorization"] = f"token {token}" if is_gitea else f"Bearer {token}"
        return headers

    def _redirected(self, asked: str, location: str) -> str:
        target = urljoin(asked, location)
        if not location or origin(target) != origin(self.base):
            where = origin(target) or "nowhere"
            raise self._error(f"redirects to another server, {shown(where)[:100]}", "write that one as its url")
        return target

    async def _answer(self, response: httpx.Response) -> Answer:
        status, headers = response.status_code, response.headers
        told_ms = _date_ms(headers.get("date", "")) or time.time_ns() // 1_000_000
        if status == 304:
            return Answer(is_same=True, told_ms=told_ms)
        if status in _GONE:
            return Answer(is_gone=True, told_ms=told_ms)
        if status in _PASSING:
            raise _PassingError(f"HTTP {status}", _asked_s(headers, told_ms))
        if status in (403, 429):
            asked_s = _asked_s(headers, told_ms)
            if status == 429 or asked_s is not None:
                raise _PassingError(f"its rate limit is reached (HTTP {status})", asked_s)
        if status in (401, 403):
            if "authorization" not in response.request.headers:
                raise _LoginWantedError(f"{self.about}: wants a login (HTTP {status}) (give it a credential)")
            raise CredentialError(f"{self.about}: refuses the token (HTTP {status}) (renew it, or widen what it may)")
        if status != 200:
            raise self._error(f"HTTP {status}", "is this the address and the kind of the forge?")
        content = bytearray()
        async for part in response.aiter_bytes(1 << 16):
            content += part
            if len(content) > self._max_bytes:
                raise self._error(f"an answer of more than {self._max_bytes:,} bytes", "look at it by hand")
        try:
            body: object = json.loads(content)
        except (ValueError, RecursionError):
            raise _PassingError("answers, but not in JSON: is this a forge, and of this kind?") from None
        return Answer(
            body=body,
            etag=headers.get("etag"),
            next_query=_next_query(response),
            total=_total(headers),
            told_ms=told_ms,
        )

    def _error(self, problem: str, remedy: str) -> ForgeError:
        return ForgeError(f"{self.about}: {problem} ({remedy})")


def api_base(kind: ForgeKind, url: str) -> str:
    """Where the API of the forge at `url` is, without a slash at the end."""
    url = url.rstrip("/")
    match kind:
        case ForgeKind.GITHUB:
            is_main = urlsplit(url).hostname in ("github.com", "www.github.com", "api.github.com")
            return "https://api.github.com" if is_main else f"{url}/api/v3"
        case ForgeKind.GITLAB:
            return f"{url}/api/v4"
        case _:
            return f"{url}/api/v1"


def _asked_s(headers: httpx.Headers, told_ms: int) -> float | None:
    """The pause that a server asks for, in seconds; None when it names none."""
    after = headers.get("retry-after", "")
    if after.isascii() and after.isdigit():
        return float(after[:9])
    if (then_ms := _date_ms(after)) is not None:
        return max(0.0, (then_ms - told_ms) / 1000)
    if headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining")) == "0":
        reset = headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", ""))
        if reset.isascii() and reset.isdigit():
            return max(0.0, float(reset[:12]) - told_ms / 1000 + 1)
    return None


def _date_ms(text: str) -> int | None:
    try:
        told = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return int((told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp() * 1000)


def _next_query(response: httpx.Response) -> Mapping[str, str] | None:
    try:
        link = response.links.get("next", {}).get("url", "")
        return dict(parse_qsl(urlsplit(link).query)) if link else None
    except ValueError:
        return None


def _total(headers: httpx.Headers) -> int | None:
    told = headers.get("x-total-count", headers.get("x-total", ""))
    return int(told[:9]) if told.isascii() and told.isdigit() else None
