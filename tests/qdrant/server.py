"""A Qdrant on loopback: the part of its REST interface that the engine uses, with real HTTP.

So timeouts, cut answers and refusals are real too. What keeps the points and ranks them is Qdrant's own storage engine
(`edge.py`), or with `is_local` the client's local mode, an imitation of it in Python without indexes, whose collections
can be copied. Faults are queued by a piece of the path and used up one by one.
"""

import json
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python
from qdrant_client import QdrantClient, models

from tests.loopback import in_a_thread
from tests.qdrant.edge import Edge

VERSION = "1.20.0"


class Fault(StrEnum):
    SLOW = "slow"  # answers after `slow_s`
    BUSY = "busy"  # 429 with Retry-After: 0
    BROKEN = "broken"  # 500
    CUT = "cut"  # does it, then half an answer
    DEAF = "deaf"  # does it, then closes without a word
    HELD = "held"  # does it, then waits for `release`
    NONSENSE = "nonsense"  # 200 with a page of HTML


def to_put(found: models.Record, identity: int | None = None) -> models.PointStruct:
    """What was found, to be written again; under another id if one is given."""
    there = {"id": found.id if identity is None else identity, "vector": found.vector, "payload": found.payload}
    return models.PointStruct.model_validate(there)


@dataclass(slots=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    body: Any
    key: str | None


@dataclass
class QdrantServer:
    """`requests` are all that came, in order. `client` reaches the points past them."""

    is_local: bool = False
    api_key: str | None = None
    version: str = VERSION
    slow_s: float = 3.0
    requests: list[Request] = field(default_factory=list)
    faults: list[tuple[str, Fault]] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def __post_init__(self) -> None:
        self.edge = None if self.is_local else Edge()
        self.schemas: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    @cached_property
    def client(self) -> QdrantClient:
        if self.edge is None:
            return QdrantClient(":memory:")
        return QdrantClient("http://edge", transport=transport(self.edge), check_compatibility=False)

    def close(self) -> None:
        if "client" in vars(self):
            self.client.close()
        if self.edge is not None:
            with self._lock:  # a request that was slow may come to it only now, and finds nothing
                self.edge.close()

    def next_fault(self, path: str) -> Fault | None:
        with self._lock:
            for place, (piece, fault) in enumerate(self.faults):
                if piece in path:
                    del self.faults[place]
                    return fault
        return None

    def asked(self, piece: str) -> list[Request]:
        return [one for one in self.requests if piece in one.path]

    def points(self, collection: str) -> dict[int, Any]:
        """Everything that is there, with vectors."""
        with self._lock:
            if not self.client.collection_exists(collection):
                return {}
            found, _ = self.client.scroll(collection, limit=100_000, with_payload=True, with_vectors=True)
        return {int(one.id): to_jsonable_python({"payload": one.payload, "vector": one.vector}) for one in found}

    def answer(self, request: Request) -> tuple[int, Any]:
        with self._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return 200, self._answer(request)
            except ValueError as error:
                return _status(error), {"status": {"error": str(error)}, "time": 0.0}

    def _answer(self, request: Request) -> Any:
        if request.path == "/":
            return {"title": "qdrant - vector search engine", "version": self.version, "commit": "0"}
        _, _, collection, *rest = request.path.split("/")
        verb = f"{request.method} {'/'.join(rest)}".strip()
        name, body = unquote(collection), request.body or {}
        result = _VERBS[verb](self, name, body) if self.edge is None else self.edge.answer(verb, name, body)
        return {"result": to_jsonable_python(result, by_alias=True), "status": "ok", "time": 0.0}


def transport(edge: Edge) -> httpx.MockTransport:
    """For a client that reaches the engine in this process, without HTTP."""

    def answer(request: httpx.Request) -> httpx.Response:
        _, _, collection, *rest = request.url.path.split("/")
        verb = f"{request.method} {'/'.join(rest)}".strip()
        try:
            result = edge.answer(verb, unquote(collection), json.loads(request.content or b"{}"))
        except ValueError as error:
            return httpx.Response(_status(error), json={"status": {"error": str(error)}, "time": 0.0})
        return httpx.Response(200, json={"result": result, "status": "ok", "time": 0.0})

    return httpx.MockTransport(answer)


def _status(error: ValueError) -> int:
    return 404 if "not found" in str(error) else 400


Verb = Callable[[QdrantServer, str, dict[str, Any]], Any]
_FILTER = TypeAdapter(models.Filter | None)
_VECTORS = TypeAdapter(models.VectorsConfig)
_SPARSE = TypeAdapter(dict[str, models.SparseVectorParams] | None)
_DONE = {"operation_id": 0, "status": "completed"}


def _filter(body: dict[str, Any]) -> models.Filter | None:
    return _FILTER.validate_python(body.get("filter"))


def _create(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    if server.client.collection_exists(name):
        raise ValueError(f"Wrong input: Collection `{name}` already exists!")
    models.CreateCollection.model_validate(body)
    server.client.create_collection(
        name,
        vectors_config=_VECTORS.validate_python(body.get("vectors") or {}),
        sparse_vectors_config=_SPARSE.validate_python(body.get("sparse_vectors")),
        metadata=body.get("metadata"),
    )
    server.schemas[name] = {}
    return True


def _info(server: QdrantServer, name: str, _body: dict[str, Any]) -> Any:
    found = to_jsonable_python(server.client.get_collection(name), by_alias=True)
    found["payload_schema"] = server.schemas.get(name, {})
    return found


def _index(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    asked = models.CreateFieldIndex.model_validate(body)
    schema = to_jsonable_python(asked.field_schema)
    kind = schema if isinstance(schema, str) else schema["type"]
    server.schemas[name][asked.field_name] = {"data_type": kind, "params": None, "points": 0}
    return _DONE


def _drop(server: QdrantServer, name: str, _body: dict[str, Any]) -> Any:
    server.schemas.pop(name, None)
    return server.client.delete_collection(name)


def _upsert(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    return server.client.upsert(name, models.PointsList.model_validate(body).points)


def _delete(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    selector = TypeAdapter(models.PointsSelector).validate_python(body)
    return server.client.delete(name, selector)


def _set_payload(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    asked = models.SetPayload.model_validate(body)
    if asked.filter is None:
        raise ValueError("only by filter")
    return server.client.set_payload(name, asked.payload, models.FilterSelector(filter=asked.filter))


def _retrieve(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    asked = models.PointRequest.model_validate(body)
    return server.client.retrieve(
        name, asked.ids, with_payload=asked.with_payload or False, with_vectors=asked.with_vector or False
    )


def _query(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    asked = models.QueryRequest.model_validate(body)
    query: Any = asked.query
    if isinstance(query, models.NearestQuery):
        query = query.nearest
    return server.client.query_points(
        name,
        query=query,
        using=asked.using,
        query_filter=asked.filter,
        search_params=asked.params,
        limit=asked.limit or 10,
        with_payload=asked.with_payload or False,
    )


def _batch(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    return [_query(server, name, one) for one in body["searches"]]


def _scroll(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    asked = models.ScrollRequest.model_validate(body)
    points, place = server.client.scroll(
        name,
        scroll_filter=asked.filter,
        limit=asked.limit or 10,
        offset=asked.offset,
        with_payload=True if asked.with_payload is None else asked.with_payload,
        with_vectors=asked.with_vector or False,
    )
    return {"points": points, "next_page_offset": place}


def _facet(server: QdrantServer, name: str, body: dict[str, Any]) -> Any:
    asked = models.FacetRequest.model_validate(body)
    return server.client.facet(name, asked.key, facet_filter=asked.filter, limit=asked.limit or 10, exact=True)


_VERBS: dict[str, Verb] = {
    "GET exists": lambda server, name, body: {"exists": server.client.collection_exists(name)},
    "GET": _info,
    "PUT": _create,
    "PATCH": lambda server, name, body: server.client.update_collection(name, metadata=body["metadata"]),
    "DELETE": _drop,
    "PUT index": _index,
    "PUT points": _upsert,
    "POST points": _retrieve,
    "POST points/delete": _delete,
    "POST points/payload": _set_payload,
    "POST points/count": lambda server, name, body: server.client.count(name, _filter(body), exact=True),
    "POST points/query": _query,
    "POST points/query/batch": _batch,
    "POST points/scroll": _scroll,
    "POST facet": _facet,
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: QdrantServer

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(size)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = json.loads(raw) if raw else None
        request = Request(self.command, parts.path, query, body, self.headers.get("api-key"))
        self.owner.requests.append(request)
        if self.owner.api_key is not None and request.key != self.owner.api_key:
            self._send(401, b"Must provide an API key or an Authorization bearer token", kind="text/plain")
            return
        fault = self.owner.next_fault(f"{self.command} {parts.path}")
        if fault is Fault.BUSY:
            self._send(429, b'{"status": {"error": "rate limit"}, "time": 0}', extra=("Retry-After", "0"))
            return
        if fault is Fault.BROKEN:
            self._send(500, b'{"status": {"error": "Service internal error: disk"}, "time": 0}')
            return
        if fault is Fault.NONSENSE:
            self._send(200, b"<html>welcome</html>", kind="text/html")
            return
        if fault is Fault.SLOW:
            time.sleep(self.owner.slow_s)
        status, answer = self.owner.answer(request)
        data = json.dumps(answer).encode()
        if fault is Fault.HELD:
            self.owner.held.set()
            self.owner.release.wait(30)
        if fault is Fault.DEAF:
            self.close_connection = True
            return
        self._send(status, data, is_cut=fault is Fault.CUT)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 the names that http.server looks for

    def _send(
        self, status: int, data: bytes, *, kind: str = "application/json", extra: tuple[str, str] | None = None,
        is_cut: bool = False,
    ) -> None:  # fmt: skip
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            if extra is not None:
                self.send_header(*extra)
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if is_cut else data)
        except OSError:  # the other side has gone: some tests kill it
            pass
        if is_cut:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(**settings: Any) -> Iterator[QdrantServer]:
    owner = QdrantServer(**settings)
    handler = type("Handler", (_Handler,), {"owner": owner})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    with in_a_thread(server) as owner.url:
        try:
            yield owner
        finally:
            owner.release.set()
    owner.close()
