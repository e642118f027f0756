"""Fusion goes by rank alone, and its order is total and the same every time."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from index.model import ChunkId, Ranked
from index.text.fuse import K, WeightedRanking, fuse


def ranking(chunks: Sequence[int], *, name: str = "bm25", text: int = 1, weight: float = 1.0) -> WeightedRanking:
    places = [Ranked(ChunkId(chunk), rank, 1.0 / rank) for rank, chunk in enumerate(chunks, start=1)]
    return WeightedRanking(name, text, places, weight)


def order(*rankings: WeightedRanking) -> list[int]:
    return [one.chunk for one in fuse(rankings)]


CHUNKS = st.lists(st.integers(1, 30), unique=True, max_size=20)
WEIGHTS = st.sampled_from([0.3, 0.5, 1.0, 2.0])


@st.composite
def all_rankings(draw: st.DrawFn) -> list[WeightedRanking]:
    return [
        ranking(draw(CHUNKS), name=name, text=text, weight=draw(WEIGHTS))
        for text in range(1, draw(st.integers(1, 4)) + 1)
        for name in ("bm25", "vec")
    ]


def test_ranks_count_from_one_and_k_is_sixty() -> None:
    """First in one ranking and fifth in another. An engine that counts from 0 reaches this figure with k = 61; with
    k = 60 it gets 0.032292."""
    fused = fuse([ranking([7]), ranking([1, 2, 3, 4, 7], name="vec")])
    score = next(one.score for one in fused if one.chunk == 7)
    assert K == 60
    assert round(score, 6) == round(1 / 61 + 1 / 65, 6) == 0.031778
    assert round(1 / 60 + 1 / 64, 6) == 0.032292


@given(CHUNKS)
def test_one_ranking_keeps_its_order(chunks: list[int]) -> None:
    assert order(ranking(chunks)) == chunks


@given(CHUNKS, CHUNKS, WEIGHTS, st.integers(1, 3))
def test_one_text_keeps_the_hybrid_order_however_often_it_is_given(
    lexical: list[int], near: list[int], weight: float, times: int
) -> None:
    pair = [ranking(lexical), ranking(near, name="vec", weight=weight)]
    assert fuse(pair * times) == fuse(pair)


@given(all_rankings(), st.data())
def test_a_repeated_text_changes_nothing(rankings: list[WeightedRanking], data: st.DataObject) -> None:
    again = data.draw(st.sampled_from(rankings))
    assert fuse([*rankings, again]) == fuse(rankings)


@given(CHUNKS, CHUNKS)
def test_first_in_two_rankings_outranks_first_in_one(left: list[int], right: list[int]) -> None:
    both, one = 100, 200
    others = [ranking([both, *left]), ranking([both, *right], name="vec"), ranking([one, both], text=2)]
    assert order(*others)[0] == both


@given(all_rankings(), st.randoms(use_true_random=False))
def test_the_order_is_total_and_does_not_depend_on_the_order_of_the_rankings(
    rankings: list[WeightedRanking], shuffler: random.Random
) -> None:
    fused = fuse(rankings)
    shuffled = rankings[:]
    shuffler.shuffle(shuffled)
    assert fuse(shuffled) == fused
    keys = [(-one.score, min(origin.rank for origin in one.origins), one.chunk) for one in fused]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


@given(all_rankings())
def test_every_place_is_named_once_and_no_chunk_is_lost(rankings: list[WeightedRanking]) -> None:
    fused = fuse(rankings)
    named = {(one.chunk, origin.ranking, origin.text, origin.rank) for one in fused for origin in one.origins}
    given_places = {(place.chunk, r.name, r.text, place.rank) for r in rankings for place in r.places}
    assert named == given_places
    assert sum(len(one.origins) for one in fused) == len(given_places)


def test_equal_scores_go_by_best_rank_and_then_by_id() -> None:
    assert order(ranking([5]), ranking([3], name="vec")) == [3, 5]
    quarter = ranking([8], text=1, weight=61.0)
    two = [ranking([1, 9], text=2, weight=31.0), ranking([2, 9], name="vec", text=2, weight=31.0)]
    assert order(quarter, *two)[:2] == [8, 9]


def test_trust_may_fall_with_the_rank() -> None:
    places = [Ranked(ChunkId(chunk), chunk, 0.0) for chunk in (1, 2, 3)]
    trusted = WeightedRanking("vec", 1, places, trust=(1.0, 0.5))
    assert trusted.shares() == [1 / 61, 0.5 / 62, 0.5 / 63]


def test_a_chunk_given_twice_in_one_ranking_counts_once() -> None:
    twice = WeightedRanking("bm25", 1, [Ranked(ChunkId(4), 1, 2.0), Ranked(ChunkId(4), 2, 1.0)])
    assert [(one.chunk, one.score) for one in fuse([twice])] == [(4, 1 / 61)]


def test_nothing_fuses_to_nothing() -> None:
    assert fuse([]) == []
