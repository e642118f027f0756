"""One model directory, loaded: text in, unit vector out. Synchronous; many threads may use it at once.

One text at a time goes through the network. Padding and dynamic quantisation would let a vector depend on the texts
beside it, and a refresh that was killed half-way would then end with other vectors than an undisturbed one.
"""

from types import TracebackType
from typing import Final, Self

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from index.embed.base import Embedded, Refusal, Role
from index.embed.folder import ModelFolder
from index.errors import EmbedderError
from index.model import Vector

_MAX_BYTES: Final = 1_000_000
"""Of one text. Chunks are a thousand times smaller; a text like this is a fault elsewhere and would take a minute."""

Floats = NDArray[np.float32]


class OnnxModel:
    def __init__(
        self,
        folder: ModelFolder,
        *,
        threads: int,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
    ) -> None:
        """`threads` work on one text together. Raises EmbedderError when a file is no model or no tokenizer."""
        self._folder = folder
        self._prefixes = {
            Role.QUERY: folder.query_prefix if query_prefix is None else query_prefix,
            Role.DOCUMENT: folder.document_prefix if document_prefix is None else document_prefix,
        }
        self._tokenizer = _load_tokenizer(folder)
        self._special = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self._session = _load_session(folder, threads)
        self._inputs = {node.name for node in self._session.get_inputs()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        del self._session

    def vector(self, text: str, role: Role) -> Embedded:
        """A text longer than the model reads is read in windows, and their vectors averaged by length."""
        if not text.strip():
            return Refusal("nothing to embed: the text is empty")
        clean = text.encode("utf-8", "replace")
        if len(clean) > _MAX_BYTES:
            return Refusal(f"text of {len(clean)} bytes; at most {_MAX_BYTES} are embedded")
        windows = self._windows(self._prefixes[role] + clean.decode("utf-8"))
        pooled = [self._pooled(window) * np.float32(len(window) - self._special) for window in windows]
        return _unit(np.sum(pooled, axis=0))

    def _windows(self, text: str) -> list[list[int]]:
        encoding = self._tokenizer.encode(text)
        return [encoding.ids, *(window.ids for window in encoding.overflowing)]

    def _pooled(self, ids: list[int]) -> Floats:
        row = np.array([ids], np.int64)
        feed = {"input_ids": row}
        if "attention_mask" in self._inputs:
            feed["attention_mask"] = np.ones_like(row)
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(row)
        try:
            states: Floats = self._session.run(None, feed)[0]
        except Exception as fault:
            raise EmbedderError(
                f"model {self._folder.model}: cannot run on {len(ids)} tokens: {type(fault).__name__}"
                " (is it an encoder for sentences, with its own tokenizer.json?)"
            ) from fault
        if states.ndim == 2:  # the model pools for itself
            states = states[:, None, :]
        pooled: Floats = states[0, 0] if self._folder.is_first_token else states[0].mean(axis=0)
        return pooled


def _load_tokenizer(folder: ModelFolder) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(folder.tokenizer))
    except Exception as fault:
        raise EmbedderError(f"tokenizer {folder.tokenizer}: cannot be loaded (copy the file again)") from fault
    tokenizer.no_padding()
    tokenizer.enable_truncation(folder.max_tokens)
    tokenizer.encode_special_tokens = True  # "</s>" in a text is text
    return tokenizer


def _load_session(folder: ModelFolder, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.force_spinning_stop", "1")  # idle threads of a resident bot sleep
    try:
        return onnxruntime.InferenceSession(
            str(folder.model),
            options,
            providers=["CPUExecutionProvider"],
            # The fused operator of this name is several times slower than the two it replaces (docs/embedding.md).
            disabled_optimizers=["SkipLayerNormFusion"],
        )
    except Exception as fault:
        raise EmbedderError(f"model {folder.model}: cannot be loaded (remove it, or copy it again)") from fault


def _unit(values: Floats) -> Embedded:
    length = float(np.linalg.norm(values))
    if not np.isfinite(length) or length < 1e-12:
        return Refusal("the model gave a vector without a direction")
    return Vector((values / np.float32(length)).astype("<f4").tobytes())
