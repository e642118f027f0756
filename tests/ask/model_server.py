"""A chat endpoint on loopback that can misbehave in the ways real ones were reported to.

async with FakeModelServer() as server:
    server.answer = lambda prompt: "It is so [1]."
    server.plan = [Fault.BUSY]          # the next request; later ones are answered well
    server.always = Fault.HTML          # or every request
"""

import asyncio
import json
from collections.abc import Callable
from enum import StrEnum

from tests.loopback import LoopbackServer


class Fault(StrEnum):
    NONE = "none"
    SLOW = "slow"  # never answers
    SILENT = "silent"  # begins to, then says nothing more
    BUSY = "busy"  # 429 with Retry-After: 0
    BUSY_LONG = "busy long"  # 429 with Retry-After: 3600
    INNER = "inner"  # 500
    UNAUTHORISED = "unauthorised"  # 401
    MISSING = "missing"  # 404
    TOO_LONG = "too long"  # 400
    REDIRECT = "redirect"  # 307
    CUT_EARLY = "cut early"  # closes before the first word
    CUT = "cut"  # closes in the middle of the answer
    CUT_QUIETLY = "cut quietly"  # as if it had ended, in the middle of an event
    HTML = "html"
    EMPTY = "empty"  # 200 without a body
    EMPTY_STREAM = "empty stream"
    WRONG_JSON = "wrong json"
    NO_JSON = "no json"  # in an event
    ERROR_EVENT = "error event"
    NO_STREAM = "no stream"  # answers whole
    NO_DONE = "no done"  # keeps the connection open after the last word
    LENGTH = "length"  # stopped at its longest answer
    HUGE = "huge"  # an answer without end
    CRLF = "crlf"  # other line ends, comments, events without text


_STATUS = {
    Fault.BUSY: (429, "Retry-After: 0\r\n"),
    Fault.BUSY_LONG: (429, "Retry-After: 3600\r\n"),
    Fault.INNER: (500, ""),
    Fault.UNAUTHORISED: (401, ""),
    Fault.MISSING: (404, ""),
    Fault.TOO_LONG: (400, ""),
    Fault.REDIRECT: (307, "Location: http://127.0.0.1:9/v1/chat/completions\r\n"),
}
_BODIES = {
    Fault.HTML: b"<!doctype html><title>Welcome</title>",
    Fault.EMPTY: b"",
    Fault.WRONG_JSON: b'{"data": []}',
    Fault.NO_JSON: b"data: {nonsense\n\n",
    Fault.ERROR_EVENT: b'data: {"error": {"message": "overloaded"}}\n\n',
    Fault.EMPTY_STREAM: b"data: [DONE]\n\n",
}


class FakeModelServer(LoopbackServer):
    def __init__(self) -> None:
        super().__init__()
        self.answer: Callable[[str], str] = lambda prompt: "It is so [1]."
        self.plan: list[Fault] = []
        self.always = Fault.NONE
        self.requests: list[dict[str, object]] = []
        self.heads: list[str] = []

    @property
    def prompts(self) -> list[str]:
        """What each request said, both messages."""
        return [_prompt(request) for request in self.requests]

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        if head.startswith("GET "):
            await self._list(writer)
            return
        length = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
        self.requests.append(json.loads(await reader.readexactly(length)))
        await self._answer(writer, self.plan.pop(0) if self.plan else self.always)

    async def _list(self, writer: asyncio.StreamWriter) -> None:
        """The models that it has."""
        if self.always in _STATUS:
            return await _send(writer, _STATUS[self.always][0], b"{}")
        return await _send(writer, 200, _BODIES.get(self.always, b'{"data": [{"id": "tiny"}, {"id": "huge"}]}'))

    async def _answer(self, writer: asyncio.StreamWriter, fault: Fault) -> None:
        if fault is Fault.SLOW:
            await asyncio.Event().wait()
        if fault in _STATUS:
            status, extra = _STATUS[fault]
            return await _send(writer, status, b"{}", extra)
        if fault in _BODIES:
            return await _send(writer, 200, _BODIES[fault])
        said = self.answer(_prompt(self.requests[-1]))
        if fault is Fault.NO_STREAM:
            message = {"role": "assistant", "content": said}
            body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            return await _send(writer, 200, json.dumps(body).encode())
        end = "\r\n" if fault is Fault.CRLF else "\n"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        if fault is Fault.CUT_EARLY:
            return None
        if fault is Fault.CRLF:
            await _chunk(writer, f": ping{end}{end}event: x{end}data: {{}}{end}{end}")
        words = said.split(" ")
        if fault is Fault.HUGE:
            while True:
                await _chunk(writer, _event("word " * 2_000, end))
        for number, word in enumerate(words):
            if number == len(words) // 2:
                if fault is Fault.SILENT:
                    await asyncio.Event().wait()
                if fault is Fault.CUT:
                    return await writer.drain()
                if fault is Fault.CUT_QUIETLY:
                    await _chunk(writer, _event(word, end)[:-9])
                    writer.write(b"0\r\n\r\n")
                    return await writer.drain()
            await _chunk(writer, _event(word + " " * (number < len(words) - 1), end))
        reason = "length" if fault is Fault.LENGTH else "stop"
        await _chunk(writer, f'data: {{"choices": [{{"delta": {{}}, "finish_reason": "{reason}"}}]}}{end}{end}')
        if fault is Fault.NO_DONE:
            await asyncio.Event().wait()
        await _chunk(writer, f'data: {{"choices": [], "usage": {{}}}}{end}{end}data: [DONE]{end}{end}')
        writer.write(b"0\r\n\r\n")
        return await writer.drain()


def _prompt(request: dict[str, object]) -> str:
    messages = request["messages"]
    assert isinstance(messages, list)
    return "\n".join(message["content"] for message in messages)


def _event(text: str, end: str) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}{end}{end}"


async def _chunk(writer: asyncio.StreamWriter, text: str) -> None:
    data = text.encode()
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


async def _send(writer: asyncio.StreamWriter, status: int, body: bytes, extra: str = "") -> None:
    writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{extra}\r\n".encode() + body)
    await writer.drain()
