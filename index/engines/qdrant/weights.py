"""Words as sparse vectors: BM25 term weights of a chunk, and the words of a question.

Pure. What is left of BM25 is the rarity, which the server multiplies in, judged over the audience of the question.
The dimension of a word is a hash of it; two words that share one in a million share a posting list, no more.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from index.text.bm25 import K1, TITLE_WEIGHT, B
from index.text.fold import tokens, words
from index.text.words import Keys

WEIGHTS_VERSION: Final = 2
"""Raise it with every change that gives some chunk other weights, so of `K1`, `B` and `TITLE_WEIGHT` too: the copy is
made anew, or chunks of before would be ranked by other rules than new ones."""
EXACT_WEIGHT: Final = 0.5
"""What a word counts where it stands as typed, beside 1 for its key: a dimension of its own, which saturates apart."""
MEAN_WORDS: Final = 150.0
"""A chunk of so many words is neither long nor short. Fixed: a mean of all chunks would tell of hidden ones."""


@dataclass(frozen=True, slots=True)
class Sparse:
    """`indices` are 32-bit and each once."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A word of a question: what it is stored as, literally and by keys."""

    text: str
    terms: tuple[str, ...]
    keys: tuple[str, ...]


def of_chunk(title: str, body: str, keys: str, size: int) -> Sparse:
    """Weights by BM25 without the rarity. `keys` are separated by blanks, `size` counts the words of title and body."""
    counts: Counter[str] = Counter()
    for token in tokens(body):
        counts[_term(token)] += 1
    exact: dict[str, float] = dict(counts)
    for token in tokens(title):
        exact[_term(token)] = exact.get(_term(token), 0.0) + TITLE_WEIGHT
    for key, count in Counter(keys.split()).items():
        exact[_key(key)] = float(count)
    norm = K1 * (1.0 - B + B * size / MEAN_WORDS)
    weights: dict[int, float] = {}
    for name, frequency in exact.items():
        dimension = _dimension(name)
        weights[dimension] = max(weights.get(dimension, 0.0), frequency * (K1 + 1.0) / (frequency + norm))
    return _sparse(weights)


def of_question(asked: Iterable[Asked], parts: Mapping[str, float]) -> Sparse:
    """Words as typed and by keys; `parts` are stored words that contain one that stands nowhere, with weights."""
    weights: dict[int, float] = {}
    for one in asked:
        for term in one.terms:
            _raise(weights, _term(term), EXACT_WEIGHT)
        for key in one.keys:
            _raise(weights, _key(key), 1.0)
    for term, weight in parts.items():
        _raise(weights, _term(term), weight)
    return _sparse(weights)


def asked_word(text: str, keys: Keys) -> Asked:
    """`SendAsync` is one word with its own key and those of its pieces."""
    found = dict.fromkeys(key for word in words(text) for key in keys.query_keys(word))
    found.update(dict.fromkeys(keys.query_keys(text)))
    return Asked(text, tuple(dict.fromkeys(tokens(text))), tuple(found))


def _raise(weights: dict[int, float], name: str, weight: float) -> None:
    dimension = _dimension(name)
    weights[dimension] = max(weights.get(dimension, 0.0), weight)


def _term(token: str) -> str:
    return f"t{token}"


def _key(key: str) -> str:
    return f"k{key}"


def _dimension(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big")


def _sparse(weights: Mapping[int, float]) -> Sparse:
    order = sorted(weights)
    return Sparse(tuple(order), tuple(weights[index] for index in order))
