"""Answers of embedding servers as bytes: whatever comes, a reply or a WireError."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.embed.base import Api
from index.embed.wire import Reply, WireError, endpoint, parse_reply

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["data", "index", "embedding", "usage"]), inner),
    max_leaves=20,
)


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()), st.sampled_from(Api), st.integers(0, 4))
def test_any_bytes_give_a_reply_or_a_wire_error(body: bytes, api: Api, count: int) -> None:
    try:
        reply = parse_reply(api, body, count)
    except WireError:
        return
    assert isinstance(reply, Reply)
    assert len(reply.values) == count


@given(st.permutations(range(6)))
def test_the_index_decides_the_order(order: list[int]) -> None:
    data = [{"index": index, "embedding": [float(index)]} for index in order]
    reply = parse_reply(Api.OPENAI, json.dumps({"data": data}).encode(), 6)
    assert [values[0] for values in reply.values] == [0, 1, 2, 3, 4, 5]


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    with pytest.raises(WireError):
        parse_reply(Api.OPENAI, b"[" * 200_000, 1)


@pytest.mark.parametrize(
    ("url", "api", "expected"),
    [
        ("http://h:1", Api.OPENAI, "http://h:1/v1/embeddings"),
        ("http://h:1/", Api.OPENAI, "http://h:1/v1/embeddings"),
        ("http://h:1/v1", Api.OPENAI, "http://h:1/v1/embeddings"),
        ("http://h:1/api/v1/embeddings", Api.OPENAI, "http://h:1/api/v1/embeddings"),
        ("http://h:1", Api.OLLAMA, "http://h:1/api/embed"),
        ("http://h:1/api/embed", Api.OLLAMA, "http://h:1/api/embed"),
    ],
)
def test_the_route_is_added_unless_it_is_there(url: str, api: Api, expected: str) -> None:
    assert endpoint(url, api) == expected
