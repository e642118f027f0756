"""Whatever a homeserver sends as JSON is read without losing a page, and walked without raising."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.shape import TooDeepError, integer_at, object_at, objects_in, parse, text_at

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (b'{"a": NaN, "b": -Infinity, "c": 1e999}', {"a": None, "b": None, "c": None}),
        (b'{"ts": 1180591620717411303424}', {"ts": 2**70}),
        (b'{"ts": ' + b"9" * 5_000 + b"}", {"ts": None}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (rb'{"body": "\ud800 alone"}', {"body": "\ud800 alone"}),
        (rb'{"body": "\u0000"}', {"body": "\0"}),
        (b'{"body": "\xff"}', {"body": "\ufffd"}),
    ],
    ids=["not finite", "above 2^64", "5000 digits", "key twice", "lone surrogate", "NUL", "no UTF-8"],
)
def test_odd_values_do_not_cost_the_answer_they_are_in(sent: bytes, read: object) -> None:
    assert parse(sent) == read


@pytest.mark.parametrize("sent", [b"", b"{", b'{"chunk": [{"a": 1}, {"b"', b"<html></html>", b"{} {}"])
def test_what_is_no_json_is_said_to_be_none(sent: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse(sent)


def test_nesting_without_end_is_refused_not_walked() -> None:
    with pytest.raises(TooDeepError):
        parse(b"[" * 200_000 + b"]" * 200_000)


@given(values)
def test_what_was_written_is_read_back(value: object) -> None:
    assert parse(json.dumps(value).encode()) == value


@given(st.binary())
def test_no_bytes_raise_anything_but_a_value_error(body: bytes) -> None:
    with contextlib.suppress(ValueError):
        parse(body)


@given(st.dictionaries(st.sampled_from(["a", "b"]), values))
def test_walking_by_keys_gives_the_right_type_or_nothing(event: dict[str, Any]) -> None:
    assert isinstance(object_at(event, "a", "b"), dict)
    assert isinstance(text_at(event, "a"), str | None)
    number = integer_at(event, "a")
    assert number is None or (isinstance(number, int) and not isinstance(number, bool))


@given(values)
def test_entries_of_a_list_are_kept_or_counted(value: object) -> None:
    found, odd = objects_in(parse(json.dumps(value).encode()))
    assert len(found) + odd == (len(value) if isinstance(value, list) else 0)
