"""What one HTTP answer means for the request: done, wait and ask again, refused, or never ask again.

Pure. The status decides, then the Matrix error code, then the shape of the body; nothing is taken on trust.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from matrix.shape import JsonObject, JsonValue, TooDeepError, parse, text_at

DEAD_TOKEN_CODES: Final = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED"})

_TOO_MANY: Final = 429
_REQUEST_TIMEOUT: Final = 408


@dataclass(frozen=True, slots=True)
class Good:
    value: JsonValue


@dataclass(frozen=True, slots=True)
class Later:
    """Temporary. `after_s` is what the homeserver asked for, None when it did not say.

    `is_lasting`: not within this run, unless somebody does what `remedy` says.
    """

    why: str
    after_s: float | None = None
    is_rate_limit: bool = False
    remedy: str = "is the homeserver well? run again later"
    is_lasting: bool = False


@dataclass(frozen=True, slots=True)
class Unusable:
    """Whole, and nothing that we could hold: the same request would bring the same again."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    status: int
    errcode: str
    error: str


@dataclass(frozen=True, slots=True)
class Dead:
    """The token will not work again; after a soft logout another one from a new login would."""

    errcode: str
    is_soft: bool


Verdict = Good | Later | Unusable | Refused | Dead

Needs = Mapping[str, type]
"""Keys that an answer must have, and what each must be. Without them the answer is not the one we asked for."""


def judge(
    status: int,
    body: bytes,
    *,
    retry_after: str | None,
    now_s: float,
    is_list: bool = False,
    needs: Needs | None = None,
) -> Verdict:
    """`retry_after` is the header; `now_s` the time of day, for one that holds a date."""
    try:
        value = parse(body)
    except TooDeepError:
        return Unusable("an answer that is nested too deeply")
    except ValueError:
        value = None
    if 200 <= status < 300:
        return _good(value, is_list=is_list, needs=needs or {})
    fault: JsonObject = value if isinstance(value, dict) else {}
    errcode = text_at(fault, "errcode") or ""
    if status in (401, 403) and errcode in DEAD_TOKEN_CODES:
        return Dead(errcode, is_soft=fault.get("soft_logout") is True)
    if status == _TOO_MANY or errcode == "M_LIMIT_EXCEEDED":
        asked_s = _header_seconds(retry_after, now_s)
        return Later("429", _field_seconds(fault) if asked_s is None else asked_s, is_rate_limit=True)
    if status >= 500 or status == _REQUEST_TIMEOUT:
        return Later(f"{status} {errcode}".strip(), _header_seconds(retry_after, now_s))
    if value is None and body.lstrip()[:1] == b"{":
        return Later(f"{status} in pieces")
    return Refused(status, errcode, (text_at(fault, "error") or "")[:120])


def _good(value: JsonValue, *, is_list: bool, needs: Needs) -> Good | Later:
    """A cut, HTML or empty answer under a good status comes from something between us and the homeserver."""
    if not isinstance(value, list if is_list else dict):
        return Later(f"an answer that is no JSON {'list' if is_list else 'object'}")
    if isinstance(value, dict):
        for key, kind in needs.items():
            if not isinstance(value.get(key), kind):
                return Later(f"an answer without {key}")
    return Good(value)


def _header_seconds(header: str | None, now_s: float) -> float | None:
    """Retry-After holds seconds or a date. None when it is absent or neither."""
    if header is None:
        return None
    try:
        return _sane(float(header))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    return _sane((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now_s)


def _field_seconds(fault: JsonObject) -> float | None:
    """`retry_after_ms`, deprecated in favour of the header."""
    asked_ms = fault.get("retry_after_ms")
    return _sane(asked_ms / 1000) if isinstance(asked_ms, int | float) and not isinstance(asked_ms, bool) else None


def _sane(seconds: float) -> float | None:
    return max(0.0, seconds) if math.isfinite(seconds) else None
