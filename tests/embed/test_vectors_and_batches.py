"""Vectors are unit length or refused; batches hold every text once and keep to their bounds."""

import math

from hypothesis import given
from hypothesis import strategies as st

from index.embed import EmbedSettings, Refusal, Role
from index.embed.base import Kind
from index.embed.batches import batches
from index.embed.breaker import Breaker
from index.embed.factory import open_embedder
from index.embed.hashing import HashingEmbedder
from index.embed.prefixes import known_prefixes
from index.embed.probe import is_same_model, probe
from index.embed.truncation import TokenWatch
from index.embed.vectors import cosine, unit_vector, values_of
from index.model import Vector


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8), st.integers(0, 8))
def test_a_vector_is_finite_whole_and_of_unit_length_or_refused(values: list[float], dimension: int) -> None:
    vector = unit_vector(values, dimension)
    if isinstance(vector, Refusal):
        return
    stored = values_of(vector)
    assert len(stored) == dimension == len(vector) // 4
    assert math.isclose(math.hypot(*stored), 1.0, rel_tol=1e-5)


def test_bytes_are_little_endian_whatever_the_machine() -> None:
    assert unit_vector([1.0, 0.0], 2) == Vector(b"\x00\x00\x80\x3f\x00\x00\x00\x00")


@given(st.lists(st.integers(0, 500)), st.integers(1, 600), st.integers(1, 9))
def test_every_text_is_in_one_batch_within_the_bounds(sizes: list[int], max_bytes: int, max_texts: int) -> None:
    cut = batches(sizes, max_bytes=max_bytes, max_texts=max_texts)
    assert sorted(at for batch in cut for at in batch) == list(range(len(sizes)))
    assert all(len(batch) <= max_texts for batch in cut)
    assert all(len(batch) == 1 or sum(sizes[at] for at in batch) <= max_bytes for batch in cut)
    flat = [sizes[at] for batch in cut for at in batch]
    assert flat == sorted(flat, reverse=True)


async def test_a_probe_tells_another_model_from_the_same_one() -> None:
    first, again, other = [await probe(HashingEmbedder(size)) for size in (64, 64, 32)]
    assert is_same_model(first, again)
    assert not is_same_model(first, other)
    assert not is_same_model(first, ())


async def test_hashing_puts_texts_that_share_words_near_each_other() -> None:
    embedder = open_embedder(EmbedSettings(kind=Kind.HASHING, dimension=128))
    assert embedder is not None
    near, middle, far = await embedder.embed(
        ["restore the backup", "restore the old backup", "bake some bread"], Role.DOCUMENT
    )
    assert isinstance(near, bytes)
    assert isinstance(middle, bytes)
    assert isinstance(far, bytes)
    assert cosine(near, middle) > 0.8 > cosine(near, far)


@given(st.text(min_size=1))
async def test_hashing_gives_any_text_a_vector_unless_it_is_blank(text: str) -> None:
    (vector,) = await HashingEmbedder().embed([text], Role.QUERY)
    assert isinstance(vector, Refusal) == (not text.strip())


def test_off_means_no_embedder() -> None:
    assert open_embedder(EmbedSettings(kind=Kind.OFF)) is None


def test_a_breaker_lets_one_call_try_after_each_pause() -> None:
    now = [0.0]
    breaker = Breaker(failures_allowed=2, pause_s=10, clock=lambda: now[0])
    breaker.failed("down")
    assert breaker.refusal() is None
    breaker.failed("down")
    assert breaker.refusal() == "down; not asked again for 10 s"
    now[0] = 10.0
    assert breaker.refusal() is None
    assert breaker.refusal() is not None
    breaker.succeeded()
    assert breaker.refusal() is None


def test_token_counts_show_a_server_that_cuts() -> None:
    watch = TokenWatch()
    assert not watch.saw([2_000], 500)
    assert not watch.saw([2_000], 500)
    assert not watch.saw([2_100], 500)
    assert watch.saw([2_200], 500)
    assert TokenWatch().saw([40_000, 100], 600)
    assert TokenWatch(max_tokens=512).saw([3_000, 3_000], 1_024)
    assert not TokenWatch(max_tokens=512).saw([3_000, 300], 600)
    assert not TokenWatch().saw([100_000], None)


def test_models_trained_with_prefixes_get_them() -> None:
    assert known_prefixes("nomic-embed-text:latest") == ("search_query: ", "search_document: ")
    assert known_prefixes("intfloat/multilingual-e5-large") == ("query: ", "passage: ")
    assert known_prefixes("multilingual-e5-large-instruct")[1] == ""
    assert known_prefixes("something-new") == ("", "")
