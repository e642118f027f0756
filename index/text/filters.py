"""The operators of a query and what their values may be.

Senders and rooms are compared as given, so a sender is a full id (`from:@alice:example.org`) and a room an alias or id.
Days are those of UTC; `before:` is exclusive and `after:` inclusive, both at the beginning of the day that is named.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from index.errors import QueryError
from index.model import Corpus, Filters, Kind, UserId

_SHOWN: Final = 40
_HOUR_MS: Final = 3_600_000
_UNITS_MS: Final = {
    "h": _HOUR_MS,
    "d": 24 * _HOUR_MS,
    "w": 7 * 24 * _HOUR_MS,
    "m": 30 * 24 * _HOUR_MS,
    "y": 365 * 24 * _HOUR_MS,
}
# Compiled when an operator is met: most questions have none.
_AGO: Final = r"(?ai)(\d{1,5})([hdwmy])"
_DATE: Final = r"(?a)\d{4}(-\d{2}){0,2}"
_TIME: Final = r"(?ai)\d{4}-\d{2}-\d{2}T\d{2}(:\d{2}){1,2}(\.\d{1,6})?(Z|[+-]\d{2}:?\d{2})?"
_SENDER: Final = r"@[^\s:]+:\S+"
_ROOM: Final = r"#[^\s:]+:\S+|![^\s:]+(:\S+)?"  # ids of newer rooms name no server


class FilterBuilder:
    """Gathers the filters of one text. Values of one operator are alternatives; of two times the narrower counts."""

    def __init__(self, *, now_ms: int, field: str) -> None:
        self._now_ms = now_ms
        self._field = field
        self._values: dict[str, list[str]] = {}
        self._before_ms: int | None = None
        self._after_ms: int | None = None

    def add(self, operator: str, value: str, *, is_excluded: bool) -> None:
        if is_excluded:
            raise self._fault(operator, "cannot be turned round", "only words and phrases take a minus")
        if not value.strip():
            raise self._fault(operator, "is empty", _REMEDIES[operator])
        checked = _CHECKS[operator](value)
        if operator in ("before", "after"):
            self._narrow(operator, value)
        elif checked is None:
            raise self._fault(operator, f"cannot be {_shown(value)}", _REMEDIES[operator])
        else:
            self._values.setdefault(operator, []).append(checked)

    def built(self) -> Filters:
        if self._before_ms is not None and self._after_ms is not None and self._after_ms >= self._before_ms:
            raise QueryError(f"{self._field}: after: is not earlier than before:, so nothing lies between (widen them)")
        values = {operator: frozenset(found) for operator, found in self._values.items()}
        empty: frozenset[str] = frozenset()
        return Filters(
            corpora=frozenset(map(Corpus, values.get("corpus", empty))),
            repos=values.get("repo", empty),
            kinds=frozenset(map(Kind, values.get("kind", empty))),
            sections=values.get("section", empty),
            tags=values.get("tag", empty),
            areas=values.get("area", empty),
            confidences=values.get("confidence", empty),
            senders=frozenset(map(UserId, values.get("from", empty))),
            rooms=values.get("in", empty),
            before_ms=self._before_ms,
            after_ms=self._after_ms,
            has_link="has" in values,
        )

    def _narrow(self, operator: str, value: str) -> None:
        time_ms = read_time(value, now_ms=self._now_ms)
        if time_ms is None:
            raise self._fault(operator, f"cannot be {_shown(value)}", _REMEDIES[operator])
        if operator == "before":
            self._before_ms = time_ms if self._before_ms is None else min(time_ms, self._before_ms)
        else:
            self._after_ms = time_ms if self._after_ms is None else max(time_ms, self._after_ms)

    def _fault(self, operator: str, problem: str, remedy: str) -> QueryError:
        return QueryError(f"{self._field}: {operator}: {problem} ({remedy})")


def read_time(value: str, *, now_ms: int) -> int | None:
    """Milliseconds of a date, a time or a span before now (`7d`; a month is 30 days, a year 365); None for neither."""
    if ago := re.fullmatch(_AGO, value):
        return max(0, now_ms - int(ago[1]) * _UNITS_MS[ago[2].lower()])
    if re.fullmatch(_DATE, value):
        text = value + "-01-01"[len(value) - 4 :] if len(value) < 10 else value
    elif re.fullmatch(_TIME, value):
        text = value.upper()
    else:
        return None
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return round(moment.timestamp() * 1_000)
    except (ValueError, OverflowError):
        return None


def _shown(value: str) -> str:
    return repr(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…")


def _one_of(names: frozenset[str]) -> Callable[[str], str | None]:
    return lambda value: value.lower() if value.lower() in names else None


def _like(pattern: str) -> Callable[[str], str | None]:
    return lambda value: value if re.fullmatch(pattern, value) else None


_KINDS: Final = frozenset(kind.value for kind in Kind)
_CORPORA: Final = frozenset(corpus.value for corpus in Corpus)
_CHECKS: Final[dict[str, Callable[[str], str | None]]] = {
    "from": _like(_SENDER),
    "in": _like(_ROOM),
    "repo": str,
    "kind": _one_of(_KINDS),
    "section": str.upper,
    "tag": str.casefold,
    "area": str.casefold,
    "confidence": str.casefold,
    "before": str,
    "after": str,
    "has": _one_of(frozenset({"link"})),
    "corpus": _one_of(_CORPORA),
}
_WHEN: Final = "write a day like 2026-11-01, a time like 2026-11-01T18:30, or a span like 12h 7d 2w 3m 1y"
_REMEDIES: Final = {
    "from": "write the full id, like from:@alice:example.org",
    "in": "write a room's alias or id, like in:#room:example.org",
    "repo": "write the name of a repository, like repo:docs",
    "kind": f"one of {', '.join(sorted(_KINDS))}",
    "section": 'write the name of a section, like section:CONFIGURATION or section:"RUNTIME MODES"',
    "tag": "write a tag, like tag:backup",
    "area": "write an area, like area:network",
    "confidence": "write a word of the front matter, like confidence:high",
    "before": _WHEN,
    "after": _WHEN,
    "has": "only has:link is known",
    "corpus": f"one of {', '.join(sorted(_CORPORA))}",
}
OPERATORS: Final = tuple(_CHECKS)
