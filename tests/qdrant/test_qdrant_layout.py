"""What the collection is made of: an index for each filter, small segments, and a version that others are told by."""

from random import Random

import pytest
from qdrant_client import models

from index.engines.qdrant import filters
from index.engines.qdrant.label import LAYOUT
from index.engines.qdrant.layout import INDEXES, optimizers
from index.engines.qdrant.weights import Asked
from index.errors import EngineError
from index.model import Audience, Corpus, Filters, Kind, Query, SourceId, Term, UserId
from sources.app import open_searcher
from sources.migrating import to_sqlite
from tests.qdrant.conftest import Place

EVERY = Filters(
    corpora=frozenset({Corpus.NOTES}),
    sources=frozenset({SourceId("notes:wiki")}),
    repos=frozenset({"ops"}),
    rooms=frozenset({"#talk:example.org"}),
    kinds=frozenset({Kind.README}),
    sections=frozenset({"runbook"}),
    tags=frozenset({"disk"}),
    areas=frozenset({"infra"}),
    confidences=frozenset({"high"}),
    senders=frozenset({UserId("@alice:example.org")}),
    before_ms=2,
    after_ms=1,
    has_link=True,
)


def fields(condition: object) -> list[models.FieldCondition]:
    if isinstance(condition, models.FieldCondition):
        return [condition]
    assert isinstance(condition, models.Filter)
    clauses = (condition.must, condition.must_not, condition.should)
    return [found for clause in clauses if isinstance(clause, list) for one in clause for found in fields(one)]


def is_served(condition: models.FieldCondition) -> bool:
    """Whether the index of the field answers it: one of another kind is not asked, and payloads are read."""
    index = INDEXES[condition.key]
    match condition.match:
        case None:
            return isinstance(index, models.IntegerIndexParams) and bool(index.range)
        case models.MatchTextAny():
            return isinstance(index, models.TextIndexParams)
        case models.MatchPhrase():
            return isinstance(index, models.TextIndexParams) and bool(index.phrase_matching)
        case models.MatchPrefix() | models.MatchSubstring():
            return isinstance(index, models.KeywordIndexParams) and bool(index.prefix)
        case models.MatchValue() | models.MatchAny() if isinstance(index, models.IntegerIndexParams):
            return bool(index.lookup)
    return isinstance(index, models.KeywordIndexParams)


def test_each_field_has_an_index_that_serves_what_is_asked_of_it() -> None:
    demanded = filters.demands(Query("", (Term("a b", is_phrase=True), Term("c", is_excluded=True))))
    assert demanded is not None
    asked = [
        filters.audience_filter(Audience(frozenset({SourceId("notes:wiki")}))),
        *filters.filter_conditions(EVERY),
        *demanded[0],
        *demanded[1],
        filters.holding(Asked("disks", ("disks",), ("en0disk",))),
        filters.containing("di", is_prefix=True),
        filters.containing("sk", is_prefix=False),
        filters.pending(),
        filters.of_sources([1]),
        filters.of_document("notes:wiki a.md"),
        filters.of_event("chat:!a:example.org", "$a"),
    ]
    found = [field for condition in asked for field in fields(condition)]
    assert [field for field in found if not is_served(field)] == []
    assert {field.key for field in found} == set(INDEXES)


def test_segments_are_small_and_grow_with_the_collection() -> None:
    def of(chunks: int, dimension: int) -> tuple[int | None, int | None]:
        made = optimizers(chunks, dimension)
        return made.max_segment_size, made.indexing_threshold

    assert of(1, 0) == of(40_000, 384) == (5_000, 2_500)
    assert of(20_000, 1_024) == (5_120, 2_560)
    assert of(1_000_000, 384) == (125_000, 62_500)


async def test_a_collection_of_an_older_layout_is_refused_and_the_writer_makes_it_anew(place: Place) -> None:
    await place.refresh()
    label, points = place.server.client.get_collection("sources").config.metadata or {}, place.server.points("sources")
    place.server.client.update_collection("sources", metadata=label | {"layout": 1})
    with pytest.raises(EngineError, match=r"has layout 1, this program reads 2 \(run `sources refresh` on the writer"):
        async with open_searcher(place.config(state="nowhere"), place.credentials):
            pass
    done = await to_sqlite(place.config(state="back"), place.credentials, Random(), lambda done, total: None)
    assert done.chunks == done.points == len(points)
    await place.refresh(place.config(state="back"))
    now = place.server.client.get_collection("sources").config.metadata or {}
    assert now["layout"] == LAYOUT and now["made"] != label["made"]
    assert place.server.points("sources").keys() == points.keys()


async def test_a_collection_of_a_newer_layout_is_left_to_the_version_that_wrote_it(place: Place) -> None:
    await place.refresh()
    label = place.server.client.get_collection("sources").config.metadata or {}
    place.server.client.update_collection("sources", metadata=label | {"layout": LAYOUT + 1})
    with pytest.raises(EngineError, match="use the same version as the writer"):
        async with open_searcher(place.config(state="nowhere"), place.credentials):
            pass
    with pytest.raises(EngineError, match="use the same version as the writer"):
        await to_sqlite(place.config(state="back"), place.credentials, Random(), lambda done, total: None)
