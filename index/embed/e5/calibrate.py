"""How large the inputs of a layer's matrices become, seen on a few fixed texts in full precision.

A handful of channels run fifty times higher than the rest, the same ones for every text. Quantised by one scale for all
channels they leave the others a few steps of 8 bits. The graph divides each channel by a factor made from these peaks
and multiplies the weights by it, which halves the error for nothing (docs/embedding.md; the idea is SmoothQuant's).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from index.embed.e5.weights import Floats, Weights

_SHARE: Final = 0.7
"""How much of a peak moves from the activations into the weights: measured best between 0.5 (SmoothQuant's) and 1."""

TEXTS: Final = (
    "query: how do I restore a database from last night's backup, and who may read it?",
    "passage: ## Configuration\n\nSet `retention_days = 30` in /etc/app/config.toml (see issue #42), then restart"
    " it: `systemctl restart app.service`. Defaults: | name | value |\n|---|---|\n| port | 8008 |",
    "passage: Zálohy se ukládají každou noc ve dvě hodiny; sedm posledních zůstává na druhém disku. Obnovení trvá asi"
    " deset minut a nikdo při něm nesmí do databáze zapisovat.",
    "passage: #!/usr/bin/env bash\n# PURPOSE\n#   Rotate the logs -- never twice at once. Exit: 0, 1, 75.\nset -eu",
    "passage: <alice> seen this?? E: Unable to lock /var/lib/dpkg/ :( <bob> yes, try `sudo fuser -v`, then 👍",
    "passage: Bake the dough for forty minutes. Der Zug fährt um 7:45 Uhr ab. 日本語の文章です。 Это короткий текст.",
)


def smoothing(peaks: Floats, matrix: Floats) -> Floats:
    """A factor for each input of `matrix` (its columns): inputs are divided by it, columns multiplied."""
    weights = np.maximum(np.abs(matrix).max(axis=0), 1e-5)
    factors: Floats = np.maximum(peaks, 1e-3) ** _SHARE / weights ** (1 - _SHARE)
    factors /= np.exp(np.log(factors).mean())
    return factors.astype(np.float32)


def input_peaks(weights: Weights, texts: Sequence[Sequence[int]]) -> dict[str, Floats]:
    """The largest magnitude of each channel that enters `l<n>.fi` and `l<n>.fo`, over texts given as token ids."""
    ends = np.cumsum([len(ids) for ids in texts])[:-1].tolist()
    states = np.concatenate([_embedded(weights, ids) for ids in texts])  # together: few and large products
    peaks: dict[str, Floats] = {}
    for number in range(weights.shape.layers):
        layer = _Layer(weights, f"l{number}")
        middle = layer.attend(states, ends)
        inner = layer.widen(middle)
        states = layer.narrow(inner, middle)
        peaks[f"l{number}.fi"] = np.abs(middle).max(axis=0)
        peaks[f"l{number}.fo"] = np.abs(inner).max(axis=0)
    return peaks


class _Layer:
    """One layer of the network in full precision; states are tokens x hidden, the texts one after another."""

    def __init__(self, weights: Weights, name: str) -> None:
        self._weights = weights
        self._name = name
        hidden, inner = weights.shape.hidden, weights.shape.inner
        sizes = {"q": (hidden, hidden), "k": (hidden, hidden), "v": (hidden, hidden), "ao": (hidden, hidden)}
        sizes |= {"fi": (inner, hidden), "fo": (hidden, inner)}
        self._matrices = {part: weights.matrix(f"{name}.{part}.w", *size) for part, size in sizes.items()}
        self._biases = {part: weights.floats(f"{name}.{part}.b", size[0]) for part, size in sizes.items()}

    def attend(self, states: Floats, ends: list[int]) -> Floats:
        """Each token looks at those of its own text; `ends` are the places between two texts."""
        parts = [np.split(self._times(part, states), ends) for part in ("q", "k", "v")]
        mixed = np.concatenate([self._mixed(*text) for text in zip(*parts, strict=True)])
        return _norm(self._weights, f"{self._name}.aln", self._times("ao", mixed) + states)

    def _mixed(self, query: Floats, key: Floats, value: Floats) -> Floats:
        width = self._weights.shape.hidden // self._weights.shape.heads
        heads = [each.reshape(len(each), -1, width).transpose(1, 0, 2) for each in (query, key, value)]
        scores = heads[0] @ heads[1].transpose(0, 2, 1) / np.float32(np.sqrt(width))
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed: Floats = (shares @ heads[2]).transpose(1, 0, 2).reshape(query.shape)
        return mixed

    def widen(self, middle: Floats) -> Floats:
        raw = self._times("fi", middle)
        # GELU by its usual approximation: for peaks it is as good as the exact one
        gate: Floats = np.tanh(np.float32(0.7978845608) * (raw + np.float32(0.044715) * raw * raw * raw))
        return np.float32(0.5) * raw * (1 + gate)

    def narrow(self, inner: Floats, middle: Floats) -> Floats:
        return _norm(self._weights, f"{self._name}.oln", self._times("fo", inner) + middle)

    def _times(self, part: str, states: Floats) -> Floats:
        return states @ self._matrices[part].T + self._biases[part]


def _embedded(weights: Weights, ids: Sequence[int]) -> Floats:
    shape = weights.shape
    words = weights.matrix_rows("emb.word", shape.vocabulary, shape.hidden, ids)
    places = weights.floats("emb.pos", shape.positions, shape.hidden)[: len(ids)]
    return _norm(weights, "emb.ln", words + places + weights.floats("emb.type", shape.types, shape.hidden)[0])


def _norm(weights: Weights, name: str, states: Floats) -> Floats:
    size = weights.shape.hidden
    centred = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(weights.shape.epsilon))
    normal: Floats = centred / spread
    return normal * weights.floats(f"{name}.w", size) + weights.floats(f"{name}.b", size)
