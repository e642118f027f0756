"""One model directory, loaded: text in, unit vector out. Synchronous; many threads may use it at once.

One text at a time goes through the network. Padding and dynamic quantisation would let a vector depend on the texts
beside it, and a refresh that was killed half-way would then end with other vectors than an undisturbed one.
"""

import os
from threading import Lock
from types import TracebackType
from typing import Final, Protocol, Self

import numpy as np

# onnxruntime 1.32 brings a client that reports to its maker, and keeps a device id in the home folder, unless this is
# set before it is loaded; `disable_telemetry_events` comes too late. What is embedded here concerns nobody else.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime
from numpy.typing import NDArray

from index.embed.base import Embedded, Refusal, Role
from index.embed.folder import ModelFolder
from index.embed.unigram import FILE_NAME, UnigramTokenizer
from index.errors import EmbedderError
from index.model import Vector

_MAX_BYTES: Final = 1_000_000
"""Of one text. Chunks are a thousand times smaller; a text like this is a fault elsewhere and would take a minute."""

Floats = NDArray[np.float32]


class Tokens(Protocol):
    @property
    def special_count(self) -> int: ...

    def windows(self, text: str) -> list[list[int]]: ...


class OnnxModel:
    def __init__(
        self,
        folder: ModelFolder,
        *,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
    ) -> None:
        """Raises EmbedderError when a file is no model or no tokenizer."""
        self._folder = folder
        self._prefixes = {
            Role.QUERY: folder.query_prefix if query_prefix is None else query_prefix,
            Role.DOCUMENT: folder.document_prefix if document_prefix is None else document_prefix,
        }
        self._tokenizers: dict[Role, Tokens] = {}
        self._loading = Lock()
        self._session = _load_session(folder)
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
        tokenizer = self._tokenizer(role)
        windows = tokenizer.windows(self._prefixes[role] + clean.decode("utf-8"))
        weights = np.array([max(len(window) - tokenizer.special_count, 1) for window in windows], np.float32)
        return _unit(weights @ np.array([self._pooled(window) for window in windows]))

    def _tokenizer(self, role: Role) -> Tokens:
        """Queries take the small one where the directory has it: a search would wait a second for the other."""
        with self._loading:
            if role not in self._tokenizers:
                pieces = self._folder.path / FILE_NAME
                if role is Role.QUERY and pieces.is_file():
                    self._tokenizers[role] = UnigramTokenizer(pieces)
                else:
                    self._tokenizers[role] = _library_tokenizer(self._folder)
            return self._tokenizers[role]

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


def _library_tokenizer(folder: ModelFolder) -> Tokens:
    from index.embed.tokens import LibraryTokenizer

    return LibraryTokenizer(folder)


def _load_session(folder: ModelFolder) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # threads take a text each
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
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
