"""The same tokens as the `tokenizers` library gives, without loading it: for the one query of a cold search.

The library needs about a second to take in 250,000 pieces. Here they lie in a file that is mapped, found by their
checksum, and only those that occur in the query are touched. It is slow for long texts, so documents do not use it.

The file, little-endian: magic, the number of pieces and slots, the ids of begin, end and unknown, what the model reads
at once, the bytes of the longest piece, and the score of an unknown one; an offset for each piece and one more; a
score for each; the slots of a hash table, each a piece's id plus one or 0; the bytes of the pieces.
"""

import mmap
import struct
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

from index.errors import EmbedderError

FILE_NAME: Final = "pieces.bin"
_HEAD: Final = struct.Struct("<8s7Id")
_MAGIC: Final = b"UNIGRAM1"
_UNKNOWN_COSTS: Final = 10.0  # below the worst piece, as in SentencePiece
_SPACE: Final = "▁"

# What NMT's rules drop and what they make a space, before NFKC.
_DROPPED: Final = [*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F]
_SPACES: Final = [0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD]
_NMT: Final = {**dict.fromkeys(_DROPPED), **dict.fromkeys(_SPACES, " ")}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a file is written from; an id is a place in `pieces`. A piece that no text may become scores very low."""

    pieces: Sequence[str]
    scores: Sequence[float]
    begin: int
    end: int
    unknown: int
    max_tokens: int


def write_vocabulary(path: Path, vocabulary: Vocabulary) -> None:
    pieces = [piece.encode("utf-8") for piece in vocabulary.pieces]
    slots = [0] * (1 << (2 * len(pieces)).bit_length())
    for place, piece in enumerate(pieces):
        slot = crc32(piece) % len(slots)
        while slots[slot]:
            slot = (slot + 1) % len(slots)
        slots[slot] = place + 1
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    v = vocabulary
    with path.open("wb") as file:
        sizes = (len(pieces), len(slots), v.begin, v.end, v.unknown, v.max_tokens, max(map(len, pieces)))
        file.write(_HEAD.pack(_MAGIC, *sizes, min(v.scores) - _UNKNOWN_COSTS))
        file.write(struct.pack(f"<{len(offsets)}I", *offsets))
        file.write(struct.pack(f"<{len(pieces)}f", *v.scores))
        file.write(struct.pack(f"<{len(slots)}I", *slots))
        file.write(b"".join(pieces))


class UnigramTokenizer:
    special_count: Final = 2

    def __init__(self, path: Path) -> None:
        """Raises EmbedderError when the file is not one of `write_vocabulary`."""
        try:
            with path.open("rb") as file:
                mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            head = _HEAD.unpack_from(mapped)
        except (OSError, ValueError, struct.error) as fault:
            raise EmbedderError(f"vocabulary {path}: cannot be read (remove its directory, it is made anew)") from fault
        magic, count, self._slot_count, self._begin, self._end, self._unknown = head[:6]
        self._max_tokens, self._longest, self._unknown_score = head[6:]
        offsets_at = _HEAD.size
        scores_at = offsets_at + 4 * (count + 1)
        slots_at = scores_at + 4 * count
        pieces_at = slots_at + 4 * self._slot_count
        if magic != _MAGIC or len(mapped) < pieces_at:
            raise EmbedderError(f"vocabulary {path}: cut short or of another kind (remove its directory)")
        self._offsets = mapped[offsets_at:scores_at].cast("I")
        self._scores = mapped[scores_at:slots_at].cast("f")
        self._slots = mapped[slots_at:pieces_at].cast("I")
        self._pieces = mapped[pieces_at:]

    def windows(self, text: str) -> list[list[int]]:
        normal = unicodedata.normalize("NFKC", text.translate(_NMT))
        ids = [token for word in normal.split() for token in self._word(_SPACE + word)]
        room = self._max_tokens - self.special_count
        parts = [ids[start : start + room] for start in range(0, len(ids), room)] or [[]]
        return [[self._begin, *part, self._end] for part in parts]

    def _word(self, word: str) -> list[int]:
        """The pieces of the best total score: Viterbi, shorter pieces first, the first of equals kept."""
        raw = [char.encode("utf-8") for char in word]
        best: list[tuple[float, int, int] | None] = [(0.0, 0, 0), *([None] * len(raw))]  # score, start, piece
        for start in range(len(raw)):
            here = best[start]
            if here is None:
                continue
            piece = b""
            is_known = False
            for end in range(start + 1, len(raw) + 1):
                piece += raw[end - 1]
                if len(piece) > self._longest:
                    break
                found = self._find(piece)
                if found is not None:
                    is_known = is_known or end == start + 1
                    _keep(best, end, (here[0] + self._scores[found], start, found))
            if not is_known:
                _keep(best, start + 1, (here[0] + self._unknown_score, start, self._unknown))
        return self._path(best)

    def _path(self, best: list[tuple[float, int, int] | None]) -> list[int]:
        tokens: list[int] = []
        at = len(best) - 1
        while at > 0:
            step = best[at]
            assert step is not None  # every place is reached, by an unknown piece if by no other
            _, at, token = step
            if token != self._unknown or not tokens or tokens[-1] != self._unknown:  # neighbours count as one
                tokens.append(token)
        return tokens[::-1]

    def _find(self, piece: bytes) -> int | None:
        slot = crc32(piece) % self._slot_count
        while found := int(self._slots[slot]):
            if self._pieces[self._offsets[found - 1] : self._offsets[found]] == piece:
                return found - 1
            slot = (slot + 1) % self._slot_count
        return None


def _keep(best: list[tuple[float, int, int] | None], end: int, step: tuple[float, int, int]) -> None:
    held = best[end]
    if held is None or step[0] > held[0]:
        best[end] = step
