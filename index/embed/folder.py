"""What a model directory says about itself, in the layout that sentence-transformers made usual. No model is loaded.

tokenizer.json                       required
model.onnx (or onnx/model.onnx)      required; another name if it is the only one
config.json                          hidden_size, max_position_embeddings
sentence_bert_config.json            max_seq_length, which wins
1_Pooling/config.json                pooling_mode_cls_token, else the mean
config_sentence_transformers.json    prompts: query; document or passage
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from index.errors import EmbedderError

_MODELS: Final = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_TOKENS_IF_UNSAID: Final = 512


@dataclass(frozen=True, slots=True)
class ModelFolder:
    path: Path
    model: Path
    tokenizer: Path
    dimension: int | None  # None: the directory does not say
    max_tokens: int
    query_prefix: str
    document_prefix: str
    is_first_token: bool  # the vector is the first token's, not the mean of all


def read_folder(path: Path) -> ModelFolder:
    """Raises EmbedderError when a required file is missing or a setting is not what it should be."""
    tokenizer = path / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderError(
            f"model directory {path}: no tokenizer.json in it (model takes 'e5', or a directory with tokenizer.json"
            " and an ONNX file)"
        )
    config = _settings(path / "config.json")
    prompts = _settings(path / "config_sentence_transformers.json").get("prompts")
    prompts = prompts if isinstance(prompts, dict) else {}
    positions = _number(config, "max_position_embeddings") or _TOKENS_IF_UNSAID
    return ModelFolder(
        path=path,
        model=_find_model(path),
        tokenizer=tokenizer,
        dimension=_number(config, "hidden_size"),
        max_tokens=_number(_settings(path / "sentence_bert_config.json"), "max_seq_length") or positions,
        query_prefix=_text(prompts, "query"),
        document_prefix=_text(prompts, "document") or _text(prompts, "passage"),
        is_first_token=_settings(path / "1_Pooling" / "config.json").get("pooling_mode_cls_token") is True,
    )


def _find_model(path: Path) -> Path:
    for name in _MODELS:
        if (path / name).is_file():
            return path / name
    found = sorted([*path.glob("*.onnx"), *path.glob("onnx/*.onnx")])
    if len(found) == 1:
        return found[0]
    problem = f"{len(found)} ONNX files and none is called model.onnx" if found else "no ONNX file in it"
    raise EmbedderError(f"model directory {path}: {problem} (put the one to use there as model.onnx)")


def _settings(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as fault:
        raise EmbedderError(f"model directory: {path}: cannot be read as JSON (copy the file again)") from fault
    return content if isinstance(content, dict) else {}


def _number(settings: dict[str, object], name: str) -> int | None:
    value = settings.get(name)
    return value if isinstance(value, int) and value > 0 else None


def _text(settings: dict[str, object], name: str) -> str:
    value = settings.get(name)
    return value if isinstance(value, str) else ""
