"""A loopback proxy between the program and the homeserver that records every request and spoils answers on demand.

    async with Proxy(homeserver.url) as proxy:
        proxy.add(Rule(limited(retry_after="2"), path="/messages", times=3))
        ...  # point the program at proxy.url
        assert proxy.methods() == {"GET"}

Rules are asked in the order they were added; the first that matches spoils the answer. Without one, requests and
answers pass unchanged. `upstream=None` makes it a server of its own, on which every request needs a rule.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import httpx


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str  # as sent: path and query
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> dict[str, str]:
        return {key: values[-1] for key, values in parse_qs(urlsplit(self.target).query).items()}


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back. `declared_length` other than the body's cuts the connection in the middle of the body."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    declared_length: int | None = None
    abort: bool = False  # send nothing, reset the connection

    def json(self) -> Any:
        return json.loads(self.body)


Forward = Callable[[], Awaitable[Reply]]
Fault = Callable[[Request, Forward], Awaitable[Reply]]
"""Gets the request and a function that fetches the true answer; gives the answer to send."""


@dataclass(slots=True)
class Rule:
    """`path` is a pattern searched in the decoded path; `skip` matches pass first, then every `every`-th is spoilt."""

    fault: Fault
    path: str = ""
    method: str | None = None
    times: int | None = None
    skip: int = 0
    every: int = 1
    when: Callable[[Request], bool] = lambda request: True
    seen: int = 0
    spoilt: int = 0

    def applies(self, request: Request) -> bool:
        if self.method not in (None, request.method) or not re.search(self.path, request.path):
            return False
        if not self.when(request):
            return False
        self.seen += 1
        if self.seen <= self.skip or (self.seen - self.skip) % self.every or self.spoilt == self.times:
            return False
        self.spoilt += 1
        return True


class Proxy:
    def __init__(self, upstream: str | None) -> None:
        self._upstream = upstream
        self._http = httpx.AsyncClient(base_url=upstream or "", timeout=120, trust_env=False, verify=False)
        self._server: asyncio.Server | None = None
        self._rules: list[Rule] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Request] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._http.aclose()

    def add(self, *rules: Rule) -> None:
        self._rules += rules

    def clear(self) -> None:
        """Forget rules and recorded requests."""
        self._rules.clear()
        self.requests.clear()

    def methods(self) -> set[str]:
        return {request.method for request in self.requests}

    def paths(self, method: str | None = None) -> list[str]:
        """Decoded, in the order of arrival."""
        return [request.path for request in self.requests if method in (None, request.method)]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                reply = await self._answer(request)
                if not await _write(writer, reply):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side left, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, request: Request) -> Reply:
        async def forward() -> Reply:
            return await self._forward(request)

        for rule in self._rules:
            if rule.applies(request):
                return await rule.fault(request, forward)
        return await forward()

    async def _forward(self, request: Request) -> Reply:
        if self._upstream is None:
            return refuse(404, "M_UNRECOGNIZED")
        kept = {key: value for key, value in request.headers.items() if key not in ("host", "connection")}
        kept["accept-encoding"] = "identity"
        try:
            answer = await self._http.request(request.method, request.target, headers=kept, content=request.body)
        except httpx.TransportError:
            return Reply(502, b"<html>no upstream</html>", {"Content-Type": "text/html"})
        headers = {"Content-Type": answer.headers.get("content-type", "application/json")}
        return Reply(answer.status_code, answer.content, headers)


# Faults


def limited(*, retry_after: str | None = None, retry_after_ms: Any = None) -> Fault:
    """429, with the header, the deprecated field, both or neither."""
    body: dict[str, Any] = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too many requests"}
    if retry_after_ms is not None:
        body["retry_after_ms"] = retry_after_ms
    headers = {"Content-Type": "application/json"} | ({"Retry-After": retry_after} if retry_after else {})
    return answer(Reply(429, json.dumps(body).encode(), headers))


def refuse(status: int, errcode: str, **more: Any) -> Reply:
    return Reply(status, json.dumps({"errcode": errcode, "error": "No", **more}).encode())


def dead_token(errcode: str = "M_UNKNOWN_TOKEN", **more: Any) -> Fault:
    return answer(refuse(401, errcode, **more))


def failing(status: int = 500) -> Fault:
    return answer(refuse(status, "M_UNKNOWN"))


def html(status: int = 502) -> Fault:
    return answer(Reply(status, b"<html><body>Bad gateway</body></html>", {"Content-Type": "text/html"}))


def answer(reply: Reply) -> Fault:
    async def fault(request: Request, forward: Forward) -> Reply:
        return reply

    return fault


def answer_json(value: Any) -> Fault:
    """`value` as the whole answer; a string is sent as it stands, so that odd JSON can be written."""
    return answer(Reply(body=value.encode("utf-8", "surrogatepass") if isinstance(value, str) else _dump(value)))


def rewrite(change: Callable[[Any], Any]) -> Fault:
    """The true answer's JSON goes through `change`."""

    async def fault(request: Request, forward: Forward) -> Reply:
        reply = await forward()
        return Reply(reply.status, _dump(change(reply.json())), reply.headers)

    return fault


def poisoned(word: str) -> Fault:
    """500 for every true answer that holds the word: an event that the homeserver cannot serve, for good."""

    async def fault(request: Request, forward: Forward) -> Reply:
        reply = await forward()
        return refuse(500, "M_UNKNOWN") if word.encode() in reply.body else reply

    return fault


def recording(bodies: list[bytes]) -> Fault:
    """Spoils nothing, and keeps the body of every answer."""

    async def fault(request: Request, forward: Forward) -> Reply:
        reply = await forward()
        bodies.append(reply.body)
        return reply

    return fault


def late(seconds: float) -> Fault:
    async def fault(request: Request, forward: Forward) -> Reply:
        await asyncio.sleep(seconds)
        return await forward()

    return fault


def hanging() -> Fault:
    """Never answers."""
    return late(3600)


def dropped() -> Fault:
    """The connection is reset without a word; the homeserver never hears of the request."""
    return answer(Reply(abort=True))


def lost_answer() -> Fault:
    """The homeserver does what was asked, its answer gets lost."""

    async def fault(request: Request, forward: Forward) -> Reply:
        await forward()
        return Reply(abort=True)

    return fault


def reset_in_body() -> Fault:
    """Half of the body arrives, then the connection is reset."""

    async def fault(request: Request, forward: Forward) -> Reply:
        reply = await forward()
        return Reply(reply.status, reply.body[: len(reply.body) // 2], reply.headers, declared_length=len(reply.body))

    return fault


def cut_json() -> Fault:
    """Half of the body arrives in an answer that looks whole."""

    async def fault(request: Request, forward: Forward) -> Reply:
        reply = await forward()
        return Reply(reply.status, reply.body[: len(reply.body) // 2], reply.headers)

    return fault


def _dump(value: Any) -> bytes:
    return json.dumps(value).encode()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """False when the connection is at its end."""
    if reply.abort:
        writer.transport.abort()
        return False
    length = len(reply.body) if reply.declared_length is None else reply.declared_length
    head = [f"HTTP/1.1 {reply.status} Told", *(f"{key}: {value}" for key, value in reply.headers.items())]
    writer.write("\r\n".join([*head, f"Content-Length: {length}", "", ""]).encode("latin-1") + reply.body)
    await writer.drain()
    if length != len(reply.body):
        writer.close()
        return False
    return True
