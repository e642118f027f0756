"""The network of multilingual-e5-small as an ONNX graph: BERT with its matrices at 8 bits.

Word embeddings stay at 4 bits, exactly as they came, and are unpacked for the words of a text alone. The matrices of
the layers get one scale for each output. Activations are quantised while it runs, over the whole input of a matrix:
therefore one text at a time goes through it, or a vector would depend on its neighbours.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from index.embed.e5.calibrate import smoothing
from index.embed.e5.weights import BLOCK, Floats, Weights

_CONTRIB: Final = "com.microsoft"
INPUT: Final = "input_ids"
OUTPUT: Final = "last_hidden_state"


def make_graph(weights: Weights, peaks: dict[str, Floats], *, weight_levels: int) -> ModelProto:
    """Ids of one text in (`1 x n`, int64), hidden states of its tokens out (`1 x n x hidden`).

    Inputs with `peaks` are smoothed before they are quantised (calibrate.py). A weight of a layer is a whole number
    from `-weight_levels` to `weight_levels`, at most 127, times its scale.
    """
    graph = _Graph(weights, peaks, weight_levels)
    states = graph.embeddings()
    for layer in range(weights.shape.layers):
        states = graph.layer(f"l{layer}", states)
    return graph.finish(states)


class _Graph:
    def __init__(self, weights: Weights, peaks: dict[str, Floats], weight_levels: int) -> None:
        self._weights = weights
        self._peaks = peaks
        self._weight_levels = weight_levels
        self._shape = weights.shape
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def embeddings(self) -> str:
        words, shape = self._words(), self._shape
        positions = self._weights.floats("emb.pos", shape.positions, shape.hidden)
        types = self._weights.floats("emb.type", shape.types, shape.hidden)
        length = self._add("Shape", [INPUT], "length", start=1, end=2)
        start = self._constant("start", np.array([0], np.int64))
        table = self._constant("positions", positions + types[0])  # one text at a time: its type is always the first
        placed = self._add("Slice", [table, start, length, start], "placed")
        return self._norm("emb.ln", self._add("Add", [words, placed], "summed"))

    def layer(self, name: str, states: str) -> str:
        shape = self._shape
        hidden = shape.hidden
        thirds = self._constant(f"{name}.thirds", np.array([hidden] * 3, np.int64))
        joined = self._linear(name, ("q", "k", "v"), states, hidden, hidden)
        parts = [f"{name}.q", f"{name}.k", f"{name}.v"]
        self._nodes.append(helper.make_node("Split", [joined, thirds], parts, axis=-1))
        mixed = self._add("MultiHeadAttention", parts, f"{name}.mixed", domain=_CONTRIB, num_heads=shape.heads)
        attended = self._linear(name, ("ao",), mixed, hidden, hidden)
        states = self._norm(f"{name}.aln", self._add("Add", [attended, states], f"{name}.first"))
        inner = self._add("Gelu", [self._linear(name, ("fi",), states, shape.inner, hidden)], f"{name}.inner")
        outer = self._linear(name, ("fo",), inner, hidden, shape.inner)
        return self._norm(f"{name}.oln", self._add("Add", [outer, states], f"{name}.second"))

    def finish(self, states: str) -> ModelProto:
        self._add("Identity", [states], OUTPUT)
        ids = helper.make_tensor_value_info(INPUT, TensorProto.INT64, ["batch", "tokens"])
        out = helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", "tokens", self._shape.hidden])
        return helper.make_model(
            helper.make_graph(self._nodes, "multilingual-e5-small", [ids], [out], self._constants),
            opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(_CONTRIB, 1)],
            ir_version=9,
        )

    def _words(self) -> str:
        rows, columns = self._shape.vocabulary, self._shape.hidden
        values, scales = self._weights.nibbles("emb.word", rows, columns)
        table = self._constant("words", values[:, 0::2] | (values[:, 1::2] << 4))
        scale = self._add("Gather", [self._constant("word_scales", scales.astype(np.float16)), INPUT], "scale16")
        packed = self._add("Gather", [table, INPUT], "packed")
        last = self._constant("last", np.array([-1], np.int64))
        low = self._add("BitwiseAnd", [packed, self._constant("fifteen", np.array(15, np.uint8))], "low")
        high = self._add("BitShift", [packed, self._constant("four", np.array(4, np.uint8))], "high", direction="RIGHT")
        pairs = [self._add("Unsqueeze", [half, last], f"{half}.column") for half in (low, high)]
        blocks = self._constant("blocks", np.array([0, 0, columns // BLOCK, BLOCK], np.int64))
        whole = self._add("Reshape", [self._add("Concat", pairs, "pairs", axis=-1), blocks], "nibbles")
        offset = self._constant("eight", np.array(8, np.float32))
        centred = self._add("Sub", [self._add("Cast", [whole], "numbers", to=TensorProto.FLOAT), offset], "centred")
        factor = self._add("Unsqueeze", [self._add("Cast", [scale], "scale32", to=TensorProto.FLOAT), last], "factor")
        flat = self._constant("flat", np.array([0, 0, columns], np.int64))
        return self._add("Reshape", [self._add("Mul", [centred, factor], "scaled"), flat], "words_of_text")

    def _linear(self, layer: str, names: tuple[str, ...], states: str, rows: int, columns: int) -> str:
        """`states` times the matrices side by side, plus their biases."""
        out = f"{layer}.{'-'.join(names)}.out"
        matrices = [self._weights.matrix(f"{layer}.{name}.w", rows, columns) for name in names]
        biases = [self._weights.floats(f"{layer}.{name}.b", rows) for name in names]
        matrix = np.concatenate(matrices)
        peaks = self._peaks.get(f"{layer}.{names[0]}")
        if peaks is not None:
            factors = smoothing(peaks, matrix)
            matrix = matrix * factors
            states = self._add("Mul", [states, self._constant(f"{out}.smooth", 1 / factors)], f"{out}.smoothed")
        quantised, scales = _quantise(matrix, self._weight_levels)
        inputs = [
            states,
            self._constant(f"{out}.w", quantised.T),
            self._constant(f"{out}.scale", scales),
            self._constant(f"{out}.zero", np.zeros(scales.shape, np.int8)),
            self._constant(f"{out}.bias", np.concatenate(biases)),
        ]
        return self._add("DynamicQuantizeMatMul", inputs, out, domain=_CONTRIB)

    def _norm(self, name: str, states: str) -> str:
        size = self._shape.hidden
        gain = self._constant(f"{name}.gain", self._weights.floats(f"{name}.w", size))
        shift = self._constant(f"{name}.shift", self._weights.floats(f"{name}.b", size))
        return self._add("LayerNormalization", [states, gain, shift], name, axis=-1, epsilon=self._shape.epsilon)

    def _constant(self, name: str, values: NDArray[np.generic]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _add(
        self, operator: str, inputs: list[str], output: str, *, domain: str = "", **settings: int | float | str
    ) -> str:
        node = helper.make_node(operator, inputs, [output], domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in settings.items())
        self._nodes.append(node)
        return output


def _quantise(matrix: Floats, levels: int) -> tuple[NDArray[np.int8], Floats]:
    """Symmetric, one scale for each row (an output of the layer)."""
    scales = np.maximum(np.abs(matrix).max(axis=1), 1e-12).astype(np.float32) / np.float32(levels)
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales
