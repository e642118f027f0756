"""What goes to an embedding server and what comes back, for the two usual APIs. Pure: bytes and records only."""

import base64
import binascii
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from index.embed.base import Api

_ROUTES: Final = {Api.OPENAI: "/v1/embeddings", Api.OLLAMA: "/api/embed"}


class WireError(Exception):
    """An answer that cannot be used. The message holds nothing of its content."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Raw values in the order of the texts; `tokens` as the server counted them, None where it does not say."""

    values: tuple[Sequence[float], ...]
    tokens: int | None


def endpoint(url: str, api: Api) -> str:
    """The address to post to: the route is added to a base, `/v1` included or not, and left alone where it is there."""
    base = url.rstrip("/")
    route = _ROUTES[api]
    if urlsplit(base).path.endswith(("/embeddings", "/embed")):
        return base
    if api is Api.OPENAI and base.endswith("/v1"):
        return base + "/embeddings"
    return base + route


def request_body(api: Api, model: str, texts: Sequence[str]) -> dict[str, object]:
    """Floats are asked for in words, since servers differ in what they send unasked; truncation is forbidden where
    the API has a word for it."""
    if api is Api.OLLAMA:
        return {"model": model, "input": list(texts), "truncate": False}
    return {"model": model, "input": list(texts), "encoding_format": "float"}


def parse_reply(api: Api, body: bytes, count: int) -> Reply:
    """Raises WireError unless there is exactly one vector for each of `count` texts. Values are not judged here."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as fault:
        kind = "HTML" if body.lstrip()[:1] == b"<" else "no JSON"
        raise WireError(f"answered {kind}") from fault
    if not isinstance(answer, dict):
        raise WireError("answered JSON of another form")
    if api is Api.OLLAMA:
        return Reply(_listed(answer.get("embeddings"), count), _whole(answer.get("prompt_eval_count")))
    usage = answer.get("usage")
    tokens = _whole(usage.get("prompt_tokens")) if isinstance(usage, dict) else None
    return Reply(_indexed(answer.get("data"), count), tokens)


def _listed(found: object, count: int) -> tuple[Sequence[float], ...]:
    if not isinstance(found, list) or len(found) != count:
        raise WireError(f"answered {len(found) if isinstance(found, list) else 'no'} vectors for {count} texts")
    return tuple(_values(entry) for entry in found)


def _indexed(found: object, count: int) -> tuple[Sequence[float], ...]:
    """By `index`, which servers fill in after sorting by length; by position where no entry has one."""
    if not isinstance(found, list) or len(found) != count or not all(isinstance(entry, dict) for entry in found):
        raise WireError(f"answered {len(found) if isinstance(found, list) else 'no'} vectors for {count} texts")
    places = [entry.get("index") for entry in found]
    if all(place is None for place in places):
        places = list(range(count))
    if any(not isinstance(place, int) for place in places) or sorted(places) != list(range(count)):
        raise WireError("numbered its vectors twice or not at all")
    ordered = sorted(zip(places, found, strict=True), key=lambda pair: pair[0])
    return tuple(_values(entry.get("embedding")) for _, entry in ordered)


def _values(found: object) -> Sequence[float]:
    if isinstance(found, str):  # base64 of little-endian floats: some servers send it unasked
        try:
            raw = base64.b64decode(found, validate=True)
            return struct.unpack(f"<{len(raw) // 4}f", raw)
        except (binascii.Error, struct.error, ValueError) as fault:
            raise WireError("answered a vector that is no base64 of floats") from fault
    if isinstance(found, list):
        return found
    raise WireError("answered without a vector")


def _whole(found: object) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
