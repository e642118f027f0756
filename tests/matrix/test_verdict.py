"""What each kind of answer means: table by table, then for anything at all."""

import json
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix.verdict import Dead, Good, Later, Refused, Unusable, Verdict, judge

NOW_S = 1_800_000_000.0


def verdict(status: int, body: object = None, *, retry_after: str | None = None, **more: object) -> Verdict:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return judge(status, raw, retry_after=retry_after, now_s=NOW_S, **more)  # type: ignore[arg-type]  # as told by the test


def test_a_good_answer_has_the_shape_that_was_asked_for() -> None:
    assert verdict(200, {"chunk": []}, needs={"chunk": list}) == Good({"chunk": []})
    assert verdict(200, [1], is_list=True) == Good([1])


@pytest.mark.parametrize("body", [None, [], "text", b"<html>", b'{"chunk": [', b"", {"start": "t1"}, {"chunk": {}}])
def test_a_good_status_with_another_shape_is_asked_for_again(body: object) -> None:
    assert isinstance(verdict(200, body, needs={"chunk": list}), Later)


@pytest.mark.parametrize("errcode", ["M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_dead_token_is_known_by_its_code(errcode: str, status: int) -> None:
    assert verdict(status, {"errcode": errcode}) == Dead(errcode, is_soft=False)
    assert verdict(status, {"errcode": errcode, "soft_logout": True}) == Dead(errcode, is_soft=True)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408, 520])
def test_a_failing_homeserver_is_temporary_also_when_it_cannot_look_up_the_token(status: int) -> None:
    assert isinstance(verdict(status, b"<html>"), Later)
    assert isinstance(verdict(status, {"errcode": "M_UNKNOWN_TOKEN"}), Later)


@pytest.mark.parametrize(
    ("status", "errcode"), [(400, "M_UNKNOWN"), (401, "M_FORBIDDEN"), (403, "M_FORBIDDEN"), (404, "")]
)
def test_any_other_no_is_definite(status: int, errcode: str) -> None:
    assert verdict(status, {"errcode": errcode}) == Refused(status, errcode, "")


@pytest.mark.parametrize(
    ("header", "field", "after_s"),
    [
        ("7", 1000, 7.0),
        ("7.5", None, 7.5),
        (format_datetime(datetime.fromtimestamp(NOW_S + 90, UTC), usegmt=True), 1000, 90.0),
        (format_datetime(datetime.fromtimestamp(NOW_S - 90, UTC), usegmt=True), None, 0.0),
        ("-3", None, 0.0),
        (None, 1500, 1.5),
        (None, -5, 0.0),
        ("soon", 2000, 2.0),
        ("inf", None, None),
        (None, "2000", None),
        (None, True, None),
        (None, None, None),
    ],
)
def test_how_long_to_wait_is_taken_from_the_header_then_from_the_field(
    header: str | None, field: object, after_s: float | None
) -> None:
    body = {"errcode": "M_LIMIT_EXCEEDED"} | ({} if field is None else {"retry_after_ms": field})
    assert verdict(429, body, retry_after=header) == Later("429", after_s, is_rate_limit=True)


def test_nesting_that_cannot_be_held_is_not_asked_for_again() -> None:
    assert isinstance(verdict(200, b"[" * 100_000), Unusable)


@given(st.integers(100, 599), st.binary(), st.none() | st.text())
def test_every_answer_has_a_verdict(status: int, body: bytes, retry_after: str | None) -> None:
    found = judge(status, body, retry_after=retry_after, now_s=NOW_S, needs={"chunk": list})
    assert isinstance(found, Good | Later | Unusable | Refused | Dead)
    if isinstance(found, Later) and found.after_s is not None:
        assert 0 <= found.after_s < float("inf")
