"""Qdrant's own storage engine behind its REST interface: a body goes in and a result comes out, both as JSON.

qdrant-edge is the code by which a server keeps and searches a shard, as a library. What a server has on top is not in
it and stands here, as little as the engine asks for: names and metadata of collections. Nothing optimises by itself;
`optimize` does what a server's optimiser would have done by then. A collection without vectors, which a shard cannot
be, has a sparse one that no point fills.
"""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import qdrant_edge as edge

Body = dict[str, Any]

IN_MEMORY = Path("/dev/shm")
"""A shard often waits for its files to be on the disk, and tests need not; each may take 50 MB there."""
ENOUGH_BYTES = 2**30


@dataclass(slots=True)
class Collection:
    """`made` is the body that it was made with."""

    folder: Path
    shard: edge.EdgeShard
    made: Body
    metadata: Body

    def close(self) -> None:
        self.shard.close()
        shutil.rmtree(self.folder)


class Edge:
    """Collections by name, in a folder that goes with `close`. `optimizers` count instead of what a collection asks."""

    def __init__(self, parent: Path | None = None, **optimizers: int) -> None:
        self.collections: dict[str, Collection] = {}
        self._optimizers = optimizers
        if parent is None and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ENOUGH_BYTES:
            parent = IN_MEMORY
        self._folder = Path(tempfile.mkdtemp(dir=parent))
        self._made = 0

    def answer(self, verb: str, name: str, body: Body) -> Any:
        """The `result` of a request. `ValueError` for one that a server would answer with 4xx."""
        match verb:
            case "GET exists":
                return {"exists": name in self.collections}
            case "PUT":
                return self._create(name, body)
        if name not in self.collections:
            raise ValueError(f"Collection {name} not found")
        match verb:
            case "PATCH":
                self.collections[name].metadata |= body["metadata"]
                return True
            case "DELETE":
                self.collections.pop(name).close()
                return True
        return _VERBS[verb](self.collections[name], _given(body))

    def _create(self, name: str, body: Body) -> bool:
        if name in self.collections:
            raise ValueError(f"Wrong input: Collection `{name}` already exists!")
        self._made += 1
        folder = self._folder / str(self._made)
        optimizers = {**(body.get("optimizers_config") or {}), **self._optimizers}
        shard = edge.EdgeShard.create(str(folder), config({**body, "optimizers_config": optimizers}))
        self.collections[name] = Collection(folder, shard, _given(body), body.get("metadata") or {})
        return True

    def optimize(self, name: str) -> bool:
        """Whether there was something to put in order."""
        return self.collections[name].shard.optimize()

    def close(self) -> None:
        for collection in self.collections.values():
            collection.close()
        self.collections.clear()
        self._folder.rmdir()


def config(body: Body) -> edge.EdgeConfig:
    """What a collection that is made with this body has."""
    hnsw: Body = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000} | _given(body.get("hnsw_config"))
    return edge.EdgeConfig(
        vectors={name: _dense(params) for name, params in (body.get("vectors") or {}).items()},
        sparse_vectors={name: _sparse(params) for name, params in (body.get("sparse_vectors") or {}).items()}
        or (None if body.get("vectors") else {"none": edge.EdgeSparseVectorParams()}),
        on_disk_payload=body.get("on_disk_payload"),
        hnsw_config=edge.HnswIndexConfig(**hnsw),
        optimizers=edge.EdgeOptimizersConfig(**_given(body.get("optimizers_config"))),
    )


def _dense(params: Body) -> edge.EdgeVectorParams:
    datatype, comparator = params.get("datatype"), (params.get("multivector_config") or {}).get("comparator")
    return edge.EdgeVectorParams(
        params["size"],
        getattr(edge.Distance, params["distance"]),
        on_disk=params.get("on_disk"),
        datatype=None if datatype is None else getattr(edge.VectorStorageDatatype, _pascal(datatype)),
        multivector_config=None
        if comparator is None
        else edge.MultiVectorConfig(getattr(edge.MultiVectorComparator, _pascal(comparator))),
    )


def _sparse(params: Body) -> edge.EdgeSparseVectorParams:
    modifier = params.get("modifier")
    return edge.EdgeSparseVectorParams(
        on_disk=(params.get("index") or {}).get("on_disk"),
        modifier=None if modifier is None else getattr(edge.Modifier, _pascal(modifier)),
    )


def _info(collection: Collection, _body: Body) -> Body:
    told, made = collection.shard.info(), collection.made
    vectors = {name: _given(params) for name, params in (made.get("vectors") or {}).items()}
    return {
        "status": "green",
        "optimizer_status": "ok",
        "points_count": told.points_count,
        "indexed_vectors_count": told.indexed_vectors_count,
        "segments_count": told.segments_count,
        "config": {
            "params": {"vectors": vectors, "sparse_vectors": made.get("sparse_vectors")},
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000}
            | _given(made.get("hnsw_config")),
            "optimizer_config": {
                "deleted_threshold": 0.2, "vacuum_min_vector_number": 1_000, "default_segment_number": 0,
                "flush_interval_sec": 5, **_given(made.get("optimizers_config")),
            },
            "metadata": collection.metadata,
        },
        "payload_schema": {
            name: {"data_type": str(found.data_type).rpartition(".")[2].lower(), "points": found.points}
            for name, found in told.payload_schema.items()
        },
    }  # fmt: skip


_INDEXES = {
    "keyword": edge.KeywordIndexParams,
    "integer": edge.IntegerIndexParams,
    "text": edge.TextIndexParams,
}


def _index(collection: Collection, body: Body) -> Body:
    schema = _given(body["field_schema"])
    if "tokenizer" in schema:
        schema["tokenizer"] = getattr(edge.TokenizerType, _pascal(schema["tokenizer"]))
    params = _INDEXES[schema.pop("type")](**schema)
    return _done(collection, edge.UpdateOperation.create_field_index(body["field_name"], params))


def _upsert(collection: Collection, body: Body) -> Body:
    points = [edge.Point(one["id"], _vectors(one["vector"]), one.get("payload")) for one in body["points"]]
    return _done(collection, edge.UpdateOperation.upsert_points(points))


def _vectors(named: Body) -> Body:
    return {name: _vector(one) for name, one in named.items()}


def _vector(one: Any) -> Any:
    return edge.SparseVector(one["indices"], one["values"]) if isinstance(one, dict) else one


def _delete(collection: Collection, body: Body) -> Body:
    if "points" in body:
        return _done(collection, edge.UpdateOperation.delete_points(body["points"]))
    return _done(collection, edge.UpdateOperation.delete_points_by_filter(_clauses(body["filter"])))


def _set_payload(collection: Collection, body: Body) -> Body:
    payload, points = body["payload"], body.get("points")
    if points is not None:
        return _done(collection, edge.UpdateOperation.set_payload(points, payload))
    return _done(collection, edge.UpdateOperation.set_payload_by_filter(_clauses(body["filter"]), payload))


def _done(collection: Collection, operation: edge.UpdateOperation) -> Body:
    collection.shard.update(operation)
    return {"operation_id": 0, "status": "completed"}


def _retrieve(collection: Collection, body: Body) -> list[Body]:
    found = collection.shard.retrieve(body["ids"], body.get("with_payload", True), body.get("with_vector", False))
    return [_record(one) for one in found]


def _scroll(collection: Collection, body: Body) -> Body:
    found, place = collection.shard.scroll(
        edge.ScrollRequest(
            offset=body.get("offset"),
            limit=body.get("limit"),
            filter=_filter(body.get("filter")),
            with_payload=body.get("with_payload", True),
            with_vector=body.get("with_vector", False),
            order_by=_order(body.get("order_by")),
        )
    )
    return {"points": [_record(one) for one in found], "next_page_offset": place}


def _order(body: Body | None) -> edge.OrderBy | None:
    if body is None:
        return None
    return edge.OrderBy(body["key"], edge.Direction.Desc if body.get("direction") == "desc" else edge.Direction.Asc)


def _record(one: edge.Record) -> Body:
    named: Any = one.vector  # by name in all that is made here
    vectors = None if named is None else {name: _as_json(vector) for name, vector in named.items()}
    return {"id": one.id, "payload": one.payload, "vector": vectors}


def _as_json(vector: Any) -> Any:
    return {"indices": vector.indices, "values": vector.values} if isinstance(vector, edge.SparseVector) else vector


def _count(collection: Collection, body: Body) -> Body:
    return {"count": collection.shard.count(edge.CountRequest(body.get("exact", True), _filter(body.get("filter"))))}


def _facet(collection: Collection, body: Body) -> Body:
    found = collection.shard.facet(
        edge.FacetRequest(body["key"], body.get("limit", 10), body.get("exact", False), _filter(body.get("filter")))
    )
    return {"hits": [{"value": one.value, "count": one.count} for one in found.hits]}


def _query(collection: Collection, body: Body) -> Body:
    return {"points": [_scored(one) for one in collection.shard.query(request(body))]}


def _batch(collection: Collection, body: Body) -> list[Body]:
    asked = edge.QueryBatchRequest([request(one) for one in body["searches"]])
    return [{"points": [_scored(one) for one in found]} for found in collection.shard.query_batch(asked)]


def _scored(one: edge.ScoredPoint) -> Body:
    return {"id": one.id, "version": one.version, "score": one.score, "payload": one.payload}


def request(body: Body) -> edge.QueryRequest:
    body = _given(body)
    query = body.get("query")
    nearest = query["nearest"] if isinstance(query, dict) and "nearest" in query else query
    return edge.QueryRequest(
        limit=body.get("limit", 10),
        query=None if nearest is None else edge.Query.Nearest(_vector(nearest), using=body.get("using")),
        filter=_filter(body.get("filter")),
        params=_params(body.get("params")),
        with_payload=body.get("with_payload", False),
    )


def _params(body: Body | None) -> edge.SearchParams | None:
    given = _given(body)
    if "idf" in given:
        given["idf"] = edge.IdfParams(_filter(given["idf"]["corpus"]))
    return edge.SearchParams(**given) if given else None


def _filter(body: Body | None) -> edge.Filter | None:
    return None if body is None else _clauses(body)


def _clauses(body: Body) -> edge.Filter:
    clauses: Body = {name: [_condition(one) for one in _listed(found)] for name, found in _given(body).items()}
    return edge.Filter(**clauses)


_MATCHES: dict[str, Callable[[Any], Any]] = {
    "value": edge.MatchValue,
    "any": edge.MatchAny,
    "phrase": edge.MatchPhrase,
    "text_any": edge.MatchTextAny,
    "prefix": edge.MatchPrefix,
    "substring": edge.MatchSubstring,
}


def _condition(body: Body) -> Any:
    if "has_id" in body:
        return edge.HasIdCondition(set(body["has_id"]))
    if "is_empty" in body:
        return edge.IsEmptyCondition(body["is_empty"]["key"])
    if "key" not in body:
        return _filter(body)
    given = _given(body)
    if "match" in given:
        [(kind, value)] = _given(given["match"]).items()
        return edge.FieldCondition(given["key"], match=_MATCHES[kind](value))
    return edge.FieldCondition(given["key"], range=edge.RangeFloat(**_given(given["range"])))


_VERBS: dict[str, Callable[[Collection, Body], Any]] = {
    "GET": _info,
    "PUT index": _index,
    "PUT points": _upsert,
    "POST points": _retrieve,
    "POST points/delete": _delete,
    "POST points/payload": _set_payload,
    "POST points/count": _count,
    "POST points/query": _query,
    "POST points/query/batch": _batch,
    "POST points/scroll": _scroll,
    "POST facet": _facet,
}


def _given(body: Body | None) -> Body:
    """Without the fields that say nothing."""
    return {name: value for name, value in (body or {}).items() if value is not None}


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _pascal(name: str) -> str:
    """`max_sim` as the library's enums have it: `MaxSim`."""
    return "".join(part.capitalize() for part in name.split("_"))
