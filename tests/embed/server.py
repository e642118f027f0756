"""An embedding server on loopback that can misbehave in the ways real ones were reported to.

    async with FakeEmbeddingServer(dimension=8) as server:
        server.plan = [Fault.BUSY]          # the next request; later ones are answered well
        server.always = Fault.HTML          # or every request
        server.poison = "xyzzy"             # a request with a text that holds it is answered 400

Vectors are those of the hashing embedder, so similar texts are near and every run gives the same.
"""

import asyncio
import base64
import json
from array import array
from collections.abc import Sequence
from enum import StrEnum

from index.embed import Refusal, Role
from index.embed.hashing import HashingEmbedder
from index.embed.vectors import values_of
from tests.loopback import LoopbackServer


class Fault(StrEnum):
    NONE = "none"
    SLOW = "slow"  # never answers
    BUSY = "busy"  # 429 with Retry-After: 0
    BUSY_LONG = "busy long"  # 429 with Retry-After: 3600
    INNER = "inner"  # 500
    QUEUE_FULL = "queue full"  # 503
    UNAUTHORISED = "unauthorised"  # 401
    MISSING = "missing"  # 404
    REDIRECT = "redirect"  # 307
    CUT = "cut"  # closes in the middle of the body
    WRONG_DIMENSION = "wrong dimension"
    SHUFFLED = "shuffled"  # OpenAI: entries out of order, with `index`
    TWICE = "twice"  # OpenAI: two entries with one index
    FEW = "few"  # a vector missing
    NAN = "nan"
    NULL = "null"
    ZERO = "zero"
    HTML = "html"
    EMPTY = "empty"  # 200 without a body
    BASE64 = "base64"
    DRIFTING = "drifting"  # batches get other vectors than single texts
    HUGE = "huge"  # an answer without end


_STATUS = {
    Fault.BUSY: (429, "Retry-After: 0\r\n"),
    Fault.BUSY_LONG: (429, "Retry-After: 3600\r\n"),
    Fault.INNER: (500, ""),
    Fault.QUEUE_FULL: (503, ""),
    Fault.UNAUTHORISED: (401, ""),
    Fault.MISSING: (404, ""),
    Fault.REDIRECT: (307, "Location: http://127.0.0.1:9/v1/embeddings\r\n"),
}


class FakeEmbeddingServer(LoopbackServer):
    def __init__(self, dimension: int = 8) -> None:
        super().__init__()
        self.dimension = dimension
        self.plan: list[Fault] = []
        self.always = Fault.NONE
        self.poison: str | None = None
        self.poison_status = 400
        self.max_tokens: int | None = None  # texts are cut here, silently; a token is four bytes
        self.requests: list[dict[str, object]] = []
        self.headers: list[str] = []
        self._embedder = HashingEmbedder(dimension)

    @property
    def texts(self) -> list[str]:
        """Every text that was sent, in the order it came."""
        return [text for request in self.requests for text in _texts(request)]

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await self._answer_one(reader, writer):
            pass

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
        request = json.loads(await reader.readexactly(length))
        self.headers.append(head)
        self.requests.append(request)
        fault = self.plan.pop(0) if self.plan else self.always
        texts = _texts(request)
        if self.poison is not None and any(self.poison in text for text in texts):
            return await _send(writer, self.poison_status, b'{"error":"input length exceeds the context length"}')
        if fault is Fault.SLOW:
            await asyncio.Event().wait()
        if fault in _STATUS:
            status, extra = _STATUS[fault]
            return await _send(writer, status, b"{}", extra)
        if fault is Fault.HTML:
            return await _send(writer, 200, b"<!doctype html><title>Welcome</title>")
        if fault is Fault.EMPTY:
            return await _send(writer, 200, b"")
        if fault is Fault.HUGE:
            return await _send_without_end(writer)
        vectors = [await self._vector(text) for text in texts]
        body = self._body(head, texts, vectors, fault)
        if fault is Fault.CUT:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body[: len(body) // 2])
            await writer.drain()
            return False
        return await _send(writer, 200, body)

    async def _vector(self, text: str) -> list[float]:
        (result,) = await self._embedder.embed(
            [text[: 4 * self.max_tokens] if self.max_tokens else text], Role.DOCUMENT
        )
        assert not isinstance(result, Refusal)
        return [7.0 * value for value in values_of(result)]  # servers do not all send unit vectors

    def _body(self, head: str, texts: Sequence[str], vectors: list[list[float]], fault: Fault) -> bytes:
        vectors = [_spoilt(vector, fault, len(texts)) for vector in vectors]
        if fault is Fault.FEW:
            vectors = vectors[:-1]
        tokens = sum(min(len(text) // 4 + 1, self.max_tokens or len(text)) for text in texts)
        if "/api/embed" in head.split("\r\n", 1)[0]:
            return json.dumps({"embeddings": vectors, "prompt_eval_count": tokens}).encode()
        entries: list[dict[str, object]] = [
            {"index": 0 if fault is Fault.TWICE else index, "embedding": _packed(vector, fault)}
            for index, vector in enumerate(vectors)
        ]
        if fault is Fault.SHUFFLED:
            entries = entries[1::2] + entries[::2][::-1]
        return json.dumps({"data": entries, "usage": {"prompt_tokens": tokens}}).encode()


def _texts(request: dict[str, object]) -> list[str]:
    found = request["input"]
    assert isinstance(found, list)
    return found


def _spoilt(vector: list[float], fault: Fault, count: int) -> list[float]:
    match fault:
        case Fault.WRONG_DIMENSION:
            return [*vector, 1.0]
        case Fault.NAN:
            return [float("nan"), *vector[1:]]
        case Fault.NULL:
            return [None, *vector[1:]]  # type: ignore[list-item]  # a server's fault, not ours
        case Fault.ZERO:
            return [0.0] * len(vector)
        case Fault.DRIFTING if count > 1:
            return [vector[-1] + 1.0, *vector[:-1]]
        case _:
            return vector


def _packed(vector: list[float], fault: Fault) -> object:
    if fault is not Fault.BASE64:
        return vector
    return base64.b64encode(array("f", vector).tobytes()).decode()


async def _send(writer: asyncio.StreamWriter, status: int, body: bytes, extra: str = "") -> bool:
    writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{extra}\r\n".encode() + body)
    await writer.drain()
    return True


async def _send_without_end(writer: asyncio.StreamWriter) -> bool:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
        await writer.drain()
