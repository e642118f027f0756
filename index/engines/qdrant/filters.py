"""Audience and filters as conditions of the cluster: nothing that may not be shown ever leaves it.

Pure. The audience is a filter of its own, since the rarity of words is judged inside it; the reader's filters and the
phrases of a question narrow it further.
"""

from collections.abc import Iterable, Sequence

from qdrant_client import models

from index.engines.qdrant.weights import Asked
from index.model import Audience, Filters, Query
from index.text.fold import tokens

Condition = models.Condition


def audience_filter(audience: Audience) -> models.Filter:
    """What the audience may see. A hidden source is in no answer, whoever asks."""
    must: list[Condition] = []
    if audience.sources is not None:
        must.append(_any("source", audience.sources))
    return models.Filter(must=must, must_not=[_is("is_hidden", 1)])


def narrowed(base: models.Filter, further: Iterable[Condition], without: Iterable[Condition] = ()) -> models.Filter:
    return models.Filter(must=[*_list(base.must), *further], must_not=[*_list(base.must_not), *without])


def filter_conditions(filters: Filters) -> list[Condition]:
    """The reader's own filters; values of one field are alternatives."""
    wanted: dict[str, Iterable[str]] = {
        "corpus": [corpus.value for corpus in filters.corpora],
        "source": filters.sources,
        "repo_names": filters.repos,
        "room_names": filters.rooms,
        "kind": [kind.value for kind in filters.kinds],
        "section": [section.upper() for section in filters.sections],
        "tag": [tag.casefold() for tag in filters.tags],
        "area": [area.casefold() for area in filters.areas],
        "confidence": [confidence.casefold() for confidence in filters.confidences],
        "sender": filters.senders,
    }
    found: list[Condition] = [_any(name, values) for name, values in wanted.items() if values]
    if filters.before_ms is not None:
        found.append(models.FieldCondition(key="first_ms", range=models.Range(lt=filters.before_ms)))
    if filters.after_ms is not None:
        found.append(models.FieldCondition(key="last_ms", range=models.Range(gte=filters.after_ms)))
    if filters.has_link:
        found.append(_is("has_link", 1))
    return found


def demands(query: Query) -> tuple[list[Condition], list[Condition]] | None:
    """What the phrases of a question demand, and what it excludes; None: a phrase without a word, which nothing has."""
    wanted: list[Condition] = []
    unwanted: list[Condition] = []
    for term in query.terms:
        found = tokens(term.text)
        if not found and term.is_phrase and not term.is_excluded:
            return None
        if found and term.is_excluded:
            unwanted.append(_phrase(found))
        elif found and term.is_phrase:
            wanted.append(_phrase(found))
    return wanted, unwanted


def holding(word: Asked) -> models.Filter:
    """Chunks that have the word, literally or by a key."""
    any_of: list[Condition] = []
    if word.terms:
        any_of.append(_any("terms", word.terms))
    if word.keys:
        match = models.MatchTextAny(text_any=" ".join(word.keys))
        any_of.append(models.FieldCondition(key="keys", match=match))
    return models.Filter(should=any_of)


def containing(part: str, *, is_prefix: bool) -> Condition:
    """Chunks with a word that begins with the part, or has it inside."""
    match = models.MatchPrefix(prefix=part) if is_prefix else models.MatchSubstring(substring=part)
    return models.FieldCondition(key="terms", match=match)


def pending() -> Condition:
    return models.Filter(must_not=[_is("pending", 0)])


def without(name: str) -> Condition:
    """Chunks that have no such field, or null in it."""
    return models.IsEmptyCondition(is_empty=models.PayloadField(key=name))


def of_sources(keys: Iterable[int]) -> models.Filter:
    match = models.MatchAny(any=sorted(keys))
    return models.Filter(must=[models.FieldCondition(key="source_key", match=match)])


def of_document(document: str) -> models.Filter:
    return models.Filter(must=[_any("document", [document])])


def of_event(source: str, event: str) -> models.Filter:
    return models.Filter(must=[_any("source", [source]), _any("event", [event])])


def _phrase(found: Sequence[str]) -> Condition:
    return models.FieldCondition(key="words", match=models.MatchPhrase(phrase=" ".join(found)))


def _any(name: str, values: Iterable[str]) -> Condition:
    return models.FieldCondition(key=name, match=models.MatchAny(any=sorted(values)))


def _is(name: str, value: int) -> Condition:
    return models.FieldCondition(key=name, match=models.MatchValue(value=value))


def _list(conditions: object) -> list[Condition]:
    return list(conditions) if isinstance(conditions, list) else []
