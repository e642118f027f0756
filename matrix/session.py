"""One account's HTTP with its homeserver: what may be asked, how long, how often, and what an answer is worth.

matrix-nio carries the requests and nothing more: it keeps no token, no store and no sync state here, and never sees
a body. Its own retries (without end unless told) are not in the path that is used.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlencode, urlsplit

import aiohttp
import structlog
from nio import AsyncClient, AsyncClientConfig  # type: ignore[import-untyped]  # nio ships no types

from index.errors import ConfigError, CredentialError, MatrixError
from matrix.budget import READER_BUDGET, REAL_TIME, Budget, Timing, backoff_s
from matrix.calls import Mode, check_allowed
from matrix.errors import BudgetSpentError, ForbiddenCallError, RefusedError, UnavailableError
from matrix.shape import JsonObject, JsonValue
from matrix.unreached import unreached
from matrix.verdict import Dead, Good, Later, Needs, Refused, Unusable, Verdict, judge

log = structlog.get_logger()

Params = Mapping[str, str | int]

_CHUNK_BYTES: Final = 64 * 1024


@asynccontextmanager
async def open_session(
    homeserver: str, token: str, mode: Mode, budget: Budget = READER_BUDGET, timing: Timing = REAL_TIME
) -> AsyncIterator["Session"]:
    """`homeserver` is its address, `https://matrix.example.org`. Nothing is requested yet."""
    parts = urlsplit(homeserver)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"homeserver: expected an address such as https://matrix.example.org, found '{homeserver}'")
    if not token or not (token.isascii() and token.isprintable()) or " " in token:
        raise CredentialError(f"{parts.hostname}: the access token holds characters that no token has (store it anew)")
    quiet_library_logs()
    config = AsyncClientConfig(
        store_sync_tokens=False, encryption_enabled=False, max_timeouts=1, max_limit_exceeded=1, request_timeout=60
    )
    client = AsyncClient(homeserver.rstrip("/"), store_path=None, config=config)
    session = Session(client, token, mode, budget, timing)
    try:
        yield session
    finally:
        session.shut()
        await client.close()


def quiet_library_logs() -> None:
    """Below INFO nio and aiohttp print whole answers; `nio.events.misc` prints message text as a warning."""
    for name in ("nio", "aiohttp"):
        library = logging.getLogger(name)
        library.setLevel(max(library.level, logging.INFO))
    logging.getLogger("nio.events.misc").disabled = True


class Session:
    """Answers are JSON, checked for status and shape. Errors: `matrix.errors`, and CredentialError for a dead token."""

    def __init__(self, client: AsyncClient, token: str, mode: Mode, budget: Budget, timing: Timing) -> None:
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self.host = urlsplit(client.homeserver).netloc.rpartition("@")[2]
        self._budget = budget
        self.timing = timing
        self._mode = mode
        self._deadline_s = None if budget.total_s is None else timing.clock() + budget.total_s
        self._not_before_s = 0.0
        self._dead_token = ""  # why no further request may be sent
        self._is_shut = False
        self.requests = 0

    async def get(
        self,
        path: str,
        params: Params | None = None,
        *,
        needs: Needs | None = None,
        wait_s: float = 0.0,
        attempts: int | None = None,
    ) -> JsonObject:
        """An object with at least the keys in `needs`. `wait_s` is how long the homeserver was asked to hold on."""
        value = await self._call("GET", path, params, None, needs=needs, wait_s=wait_s, attempts=attempts)
        return value if isinstance(value, dict) else {}

    async def get_list(
        self, path: str, params: Params | None = None, *, attempts: int | None = None
    ) -> list[JsonValue]:
        value = await self._call("GET", path, params, None, is_list=True, attempts=attempts)
        return value if isinstance(value, list) else []

    async def post(self, path: str, body: Mapping[str, JsonValue], *, needs: Needs | None = None) -> JsonObject:
        value = await self._call("POST", path, None, body, needs=needs)
        return value if isinstance(value, dict) else {}

    async def put(self, path: str, body: Mapping[str, JsonValue], *, needs: Needs | None = None) -> JsonObject:
        """Only for paths with a transaction id or another key that makes a repetition harmless."""
        value = await self._call("PUT", path, None, body, needs=needs)
        return value if isinstance(value, dict) else {}

    def shut(self) -> None:
        self._is_shut = True

    async def _call(
        self,
        method: str,
        path: str,
        params: Params | None,
        body: Mapping[str, JsonValue] | None,
        *,
        is_list: bool = False,
        needs: Needs | None = None,
        wait_s: float = 0.0,
        attempts: int | None = None,
    ) -> JsonValue:
        check_allowed(self._mode, method, path)
        target = f"{path}?{urlencode(params)}" if params else path
        data = None if body is None else json.dumps(body)
        most = self._budget.max_attempts if attempts is None else attempts
        for attempt in range(1, most + 1):
            await self._hold_back()
            verdict = await self._attempt(method, target, data, is_list=is_list, needs=needs, wait_s=wait_s)
            match verdict:
                case Good(value):
                    return value
                case Dead():
                    raise self._end(verdict)
                case Refused(status, errcode):
                    raise RefusedError(self._refusal(path, verdict), status=status, errcode=errcode)
                case Unusable(why):
                    raise UnavailableError(f"{self.host}: {path}: {why} (ask for less at once)")
                case Later() if verdict.is_lasting or attempt == most:
                    raise UnavailableError(f"{self.host}: {path}: {_given_up(verdict, attempt)}")
                case Later():
                    await self._pause(verdict, attempt, path)
        raise ValueError("max_attempts must be at least 1")

    async def _hold_back(self) -> None:
        """Wait out what another call was told by a 429; refuse to go on when the session is over."""
        held_s = self._not_before_s - self.timing.clock()
        if held_s > 0:
            self._remaining_s(at_least=held_s)
            await self.timing.sleep(held_s)
        if self._is_shut:
            raise ForbiddenCallError("the session is closed")
        if self._dead_token:
            raise CredentialError(self._dead_token)

    def _remaining_s(self, at_least: float = 0.0) -> float:
        """Seconds that are left; raises when they are no more than `at_least`."""
        if self._deadline_s is None:
            return float("inf")
        left_s = self._deadline_s - self.timing.clock()
        if left_s <= at_least:
            total = f"{self._budget.total_s:g} s"
            raise BudgetSpentError(f"{self.host}: the {total} for one run are over (the next run goes on from here)")
        return left_s

    async def _attempt(
        self, method: str, target: str, data: str | None, *, is_list: bool, needs: Needs | None, wait_s: float
    ) -> Verdict:
        timeout_s = min(self._budget.request_timeout_s + wait_s, self._remaining_s())
        headers = self._headers if data is None else {**self._headers, "Content-Type": "application/json"}
        self.requests += 1
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._client.send(method, target, data, headers, timeout=timeout_s)
                async with response:
                    self._check_not_redirected(response)
                    body = await self._body(response)
        except TimeoutError:
            if self._client.homeserver.startswith("https:"):  # plain HTTP may wait for the end of a TLS greeting
                remedy = "is the homeserver well, and is it https that its port speaks? run again later"
                return Later(f"nothing within {timeout_s:g} s", remedy=remedy)
            return Later(f"nothing within {timeout_s:g} s")
        except (aiohttp.ClientError, OSError) as error:
            return unreached(error)
        if body is None:
            return Unusable(f"more than {self._budget.max_body_bytes} bytes")
        return judge(
            response.status,
            body,
            retry_after=response.headers.get("Retry-After"),
            now_s=self.timing.now(),
            is_list=is_list,
            needs=needs,
        )

    def _check_not_redirected(self, response: aiohttp.ClientResponse) -> None:
        if response.history:
            there = f"{response.url.scheme}://{response.url.authority}"
            raise MatrixError(f"{self.host}: redirects to {there} (write that as the homeserver's address)")

    async def _body(self, response: aiohttp.ClientResponse) -> bytes | None:
        """None when it is larger than allowed; the connection is given up then."""
        body = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
            body += chunk
            if len(body) > self._budget.max_body_bytes:
                response.close()
                return None
        return bytes(body)

    async def _pause(self, later: Later, attempt: int, path: str) -> None:
        asked_s = later.after_s
        wait_s = backoff_s(attempt, self.timing.jitter()) if asked_s is None else asked_s
        wait_s = min(wait_s, self._budget.retry_after_cap_s)
        log.info("matrix.asked_again", path=path, why=later.why, attempt=attempt, wait_s=round(wait_s, 2))
        self._remaining_s(at_least=wait_s)
        if later.is_rate_limit:
            self._not_before_s = max(self._not_before_s, self.timing.clock() + wait_s)
        await self.timing.sleep(wait_s)

    def _end(self, dead: Dead) -> CredentialError:
        reasons = {
            "M_USER_DEACTIVATED": "the account was deactivated (make another one and store its token)",
            "M_USER_LOCKED": "the account is locked (have it unlocked, then run again)",
        }
        reason = reasons.get(dead.errcode, "the access token is not valid (store a new one that does not expire)")
        if dead.is_soft and dead.errcode not in reasons:
            reason = "the session was softly logged out: its token expires (store one that does not)"
        self._dead_token = f"{self.host}: {dead.errcode}: {reason}"
        return CredentialError(self._dead_token)

    def _refusal(self, path: str, refused: Refused) -> str:
        place = f"{self.host}: {path}: {refused.status}"
        if not refused.errcode:
            return (
                f"{place} from something that is no homeserver (check the homeserver's address, and proxies before it)"
            )
        said = "".join(letter for letter in refused.error if letter.isprintable() and letter not in "()")
        remedy = "the homeserver's log says more"
        if refused.errcode == "M_UNRECOGNIZED" and path.endswith("/whoami"):  # which every homeserver knows
            remedy = "check the homeserver's address: it ends before /_matrix"
        elif refused.errcode == "M_FORBIDDEN":
            remedy = "is this account in the room, or invited? `sources rooms` shows where it is"
        return f"{place} {refused.errcode}: {said} ({remedy})"


def _given_up(last: Later, requests: int) -> str:
    after = f"no usable answer to {requests} requests, the last: " if requests > 1 else "no usable answer: "
    return f"{after}{last.why} ({last.remedy})"
