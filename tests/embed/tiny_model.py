"""A model directory of a few kilobytes, for what is about directories and not about quality."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

DIMENSION = 4
WORDS = ("[UNK]", "[CLS]", "[SEP]", "backup", "restore", "bread")


def write_tiny_model(
    folder: Path,
    *,
    name: str = "model.onnx",
    pools_itself: bool = False,
    with_mask: bool = True,
    files: Mapping[str, object] | None = None,
) -> Path:
    """Each word has a fixed vector; the network only looks it up, and may pool over the words."""
    table = np.eye(len(WORDS), DIMENSION, dtype=np.float32) + np.float32(0.1)
    output = "sentence_embedding" if pools_itself else "last_hidden_state"
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    if pools_itself:
        nodes.append(helper.make_node("ReduceMean", ["states"], [output], axes=[1], keepdims=0))
    else:
        nodes.append(helper.make_node("Identity", ["states"], [output]))
    inputs = ["input_ids", "attention_mask", "token_type_ids"] if with_mask else ["input_ids"]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(each, TensorProto.INT64, ["batch", "tokens"]) for each in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(table, "table")],
    )
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    standard: dict[str, object] = {"config.json": {"hidden_size": DIMENSION, "max_position_embeddings": 8}}
    for each, content in {**standard, **(files or {})}.items():
        (folder / each).parent.mkdir(exist_ok=True)
        (folder / each).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder
