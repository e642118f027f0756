"""What quantising costs: the built model against the same weights in full precision."""

from pathlib import Path

import numpy as np
import pytest

from index.embed.e5.build import build_e5, find_weights
from index.embed.e5.calibrate import _embedded, _Layer, input_peaks, smoothing
from index.embed.e5.weights import Weights, read_weights
from index.embed.folder import read_folder
from index.embed.onnx_model import OnnxModel
from index.embed.unigram import FILE_NAME, UnigramTokenizer

TEXT = "passage: Obnovení ze zálohy trvá deset minut; see `restore.sh`."


@pytest.fixture(scope="module")
def weights() -> Weights:
    return read_weights(find_weights())


@pytest.fixture(scope="module")
def ids(cache_dir: Path) -> list[int]:
    return UnigramTokenizer(build_e5(cache_dir) / FILE_NAME).windows(TEXT)[0]


def test_the_built_model_is_near_the_weights_in_full_precision(
    cache_dir: Path, weights: Weights, ids: list[int]
) -> None:
    states = _embedded(weights, ids)
    for number in range(weights.shape.layers):
        layer = _Layer(weights, f"l{number}")
        middle = layer.attend(states, [])
        states = layer.narrow(layer.widen(middle), middle)
    exact = states.mean(axis=0)
    built = OnnxModel(read_folder(build_e5(cache_dir)))._pooled(ids)
    cosine = float(exact @ built / np.linalg.norm(exact) / np.linalg.norm(built))
    assert cosine > 0.995


def test_high_channels_are_found_and_smoothed(weights: Weights, ids: list[int]) -> None:
    high = input_peaks(weights, [ids])["l4.fo"]
    assert high.max() > 20 * np.median(high)
    matrix = weights.matrix("l4.fo.w", weights.shape.hidden, weights.shape.inner)
    smooth = high / smoothing(high, matrix)
    assert smooth.max() / np.median(smooth) < 0.5 * high.max() / np.median(high)
