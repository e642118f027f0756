"""How well a ranking answers questions whose answers are known: MRR, nDCG and recall at k. Pure.

Questions are JSON lines `{"id", "query", "kind", "relevant": [TARGET], "any", "source": [PLACE]}`. In documents a
target is a `path` with maybe `lines`, a `heading`, or `section` and `paragraph`; in chat it is `events`. It is met
exactly by a hit of that path that overlaps its lines (three of them, or all of a shorter target) or, where lines are
not known on both sides, has its heading or paragraph; at level `path` the path is enough. In chat a shared event does.

`source` is where the question was taken from. A hit on it is no feat and leaves the ranking before places are counted,
in documents unless it meets a target as well.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log2
from typing import Final

from index.errors import QueryError
from index.model import Corpus, Hit
from index.text.query import MOST_BYTES

HITS: Final = 30
"""How many to ask for, so that enough are left without those on the source of the question."""
K: Final = 10

_ENOUGH_LINES: Final = 3
_NOT_A_WORD: Final = re.compile(r"[\W_]+")


class Level(StrEnum):
    EXACT = "exact"
    PATH = "path"


@dataclass(frozen=True, slots=True)
class Place:
    """A target, a source, or what a hit covers. Of chat it has `events` alone."""

    path: str = ""
    lines: tuple[int, int] | None = None
    headings: tuple[str, ...] = ()
    section: str | None = None
    paragraph: str | None = None
    events: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """`needs_any`: one of the targets is enough."""

    id: str
    text: str
    kind: str
    targets: tuple[Place, ...]
    needs_any: bool = False
    source: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """Of one question, or the mean of several; each from 0 to 1."""

    mrr: float
    ndcg: float
    recall: float


def question_of(raw: object, place: str) -> Question:
    """One line, read strictly. Raises `QueryError` that names `place` and the field."""
    if not isinstance(raw, dict):
        raise QueryError(f"{place}: is no JSON object (write id, query, kind and relevant)")
    texts: dict[str, str] = {}
    for name in ("id", "query", "kind"):
        value = raw.get(name)
        if not isinstance(value, str) or not value.strip():
            raise QueryError(f"{place}: {name}: is missing or no text (write it)")
        texts[name] = value
    targets = _places(raw.get("relevant"), f"{place}: relevant")
    if not targets:
        raise QueryError(f"{place}: relevant: names no target (write at least one)")
    if len({target.events is None for target in targets}) > 1:
        raise QueryError(f"{place}: relevant: mixes chat and documents (make two questions of it)")
    source = _places(raw.get("source") or [], f"{place}: source")
    return Question(texts["id"], texts["query"], texts["kind"], targets, raw.get("any") is True, source)


def _places(raw: object, place: str) -> tuple[Place, ...]:
    if not isinstance(raw, list):
        raise QueryError(f"{place}: is missing or no list (write a list of targets)")
    return tuple(_place(one, f"{place}[{number}]") for number, one in enumerate(raw, 1))


def _place(raw: object, place: str) -> Place:
    if not isinstance(raw, dict):
        raise QueryError(f"{place}: is no JSON object (write path, or events)")
    events = raw.get("events")
    if events is not None:
        if not isinstance(events, list) or not events or not all(isinstance(event, str) for event in events):
            raise QueryError(f"{place}: events: is no list of event ids (write them)")
        return Place(events=frozenset(events))
    if not isinstance(raw.get("path"), str):
        raise QueryError(f"{place}: path: is missing or no text (write it, or events)")
    heading, section, paragraph = (_text(raw, name, place) for name in ("heading", "section", "paragraph"))
    headings = () if heading is None else (heading,)
    return Place(str(raw["path"]), _lines(raw.get("lines"), place), headings, section, paragraph)


def _text(raw: Mapping[str, object], name: str, place: str) -> str | None:
    value = raw.get(name)
    if value is not None and not isinstance(value, str):
        raise QueryError(f"{place}: {name}: is no text (write it in quotes)")
    return value


def _lines(raw: object, place: str) -> tuple[int, int] | None:
    if raw is None:
        return None
    if isinstance(raw, list) and len(raw) == 2 and all(isinstance(line, int) for line in raw) and raw[0] <= raw[1]:
        return (raw[0], raw[1])
    raise QueryError(f"{place}: lines: is no pair of line numbers (write [first, last])")


def as_text(query: str) -> str:
    """A question as words to search for: what looks like an operator is a word of it, and its length is in bounds."""
    words = query.replace('"', " ").split()
    text = " ".join(word.lstrip("-") or "-" for word in words)
    while len(text.encode("utf-8", "replace")) > MOST_BYTES:
        text = text.rpartition(" ")[0] or text[: len(text) // 2]
    return text


def place_of(hit: Hit) -> Place:
    """What a hit covers; its path begins with the name of its source."""
    if hit.corpus is Corpus.CHAT:
        return Place(events=frozenset(message.event for message in hit.messages))
    name = hit.source.partition(":")[2]
    return Place(f"{name}/{hit.path}", hit.lines, hit.heading, hit.section, hit.paragraph)


def result_line(question: Question, hits: Sequence[Hit]) -> dict[str, object]:
    """What scorers of this format read."""
    return {"id": question.id, "hits": [_result(hit) for hit in hits]}


def _result(hit: Hit) -> dict[str, object]:
    if hit.corpus is Corpus.CHAT:
        return {"room": hit.room, "events": [message.event for message in hit.messages]}
    place = place_of(hit)
    return {
        "path": place.path,
        "headings": list(place.headings),
        "section": place.section,
        "paragraph": place.paragraph,
        "lines": list(place.lines) if place.lines else None,
    }


def score(question: Question, ranking: Sequence[Place], *, level: Level = Level.EXACT, k: int = K) -> Score:
    """MRR, nDCG and recall of one ranking, best first."""
    places = [place for place in ranking if not _is_given_away(place, question, level)][:k]
    firsts = [_first(target, places, level) for target in question.targets]
    found = sorted(rank for rank in firsts if rank is not None)
    wanted = 1 if question.needs_any else len(question.targets)
    counted = found[:wanted]
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(wanted, k) + 1))
    return Score(
        mrr=1 / found[0] if found else 0.0,
        ndcg=_gain(counted) / ideal,
        recall=_recall(question, places, len(counted) / wanted),
    )


def _first(target: Place, places: Sequence[Place], level: Level) -> int | None:
    return next((rank for rank, place in enumerate(places, 1) if _meets(place, target, level)), None)


def _gain(ranks: Sequence[int]) -> float:
    """Two targets that one hit meets take two places: the second counts from the next free one."""
    gain, free = 0.0, 1
    for rank in ranks:
        free = max(free, rank)
        gain += 1 / log2(free + 1)
        free += 1
    return gain


def _recall(question: Question, places: Sequence[Place], of_targets: float) -> float:
    """In chat the part of the first target's events, since a conversation is found piece by piece."""
    events = question.targets[0].events
    if events is None:
        return min(1.0, of_targets)
    seen = frozenset[str]().union(*(place.events or frozenset() for place in places))
    return len(events & seen) / len(events)


def _meets(place: Place, target: Place, level: Level) -> bool:
    if target.events is not None:
        return bool(target.events & (place.events or frozenset()))
    if place.events is not None or _path(place.path) != _path(target.path):
        return False
    if level is Level.PATH or not (target.lines or target.headings or target.paragraph is not None):
        return True
    if target.lines and place.lines:
        size = target.lines[1] - target.lines[0] + 1
        return _overlap(place.lines, target.lines) >= min(_ENOUGH_LINES, size)
    if target.paragraph is not None:
        is_same = bool(place.paragraph) and _words(place.paragraph or "") == _words(target.paragraph)
        return is_same and (not place.section or _words(place.section) == _words(target.section or ""))
    return bool(
        {_words(heading) for heading in target.headings} & {_words(heading) for heading in place.headings if heading}
    )


def _is_given_away(place: Place, question: Question, level: Level) -> bool:
    if not any(_covers(place, source) for source in question.source):
        return False
    is_chat = any(source.events is not None for source in question.source)
    return is_chat or not any(_meets(place, target, level) for target in question.targets)


def _covers(place: Place, source: Place) -> bool:
    if source.events is not None:
        return bool(source.events & (place.events or frozenset()))
    return (
        _path(place.path) == _path(source.path)
        and place.lines is not None
        and source.lines is not None
        and _overlap(place.lines, source.lines) > 0
    )


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> int:
    return min(one[1], other[1]) - max(one[0], other[0]) + 1


def _path(path: str) -> str:
    return unicodedata.normalize("NFC", path).removeprefix("./")


def _words(text: str) -> str:
    return _NOT_A_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def means(questions: Sequence[Question], scores: Sequence[Score]) -> dict[str, tuple[int, Score]]:
    """Count and mean by kind, sorted, and under `all` when there is more than one."""
    by_kind: dict[str, list[Score]] = {}
    for question, one in zip(questions, scores, strict=True):
        by_kind.setdefault(question.kind, []).append(one)
    groups = dict(sorted(by_kind.items()))
    if len(groups) > 1:
        groups["all"] = list(scores)
    return {kind: (len(group), _mean(group)) for kind, group in groups.items()}


def _mean(scores: Sequence[Score]) -> Score:
    count = len(scores)
    return Score(
        sum(one.mrr for one in scores) / count,
        sum(one.ndcg for one in scores) / count,
        sum(one.recall for one in scores) / count,
    )
