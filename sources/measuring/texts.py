"""As many passages as wanted, made from real ones, and questions about them. Pure; the same each time.

A corpus larger than the text it is made from repeats it, and from the second time on about one word in eight is
exchanged for another word of the same text: so frequencies of words stay those of the language, while no two passages
are the same.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

PASSAGE_BYTES: Final = 800
"""What passages of a folder are packed to: about what chunks of pages and windows of chat have."""
_SHORTEST_BYTES: Final = 40  # fewer say nothing
_EXCHANGED: Final = 0.125
_ASKED_WORDS: Final = 4
_LONG_WORD: Final = 4
_VOCABULARY: Final = 50_000
_WORD: Final = re.compile(r"[^\W\d_]+")
_GAP: Final = re.compile(r"\n\s*\n")


def passages(text: str, *, size_bytes: int = PASSAGE_BYTES) -> Iterator[str]:
    """Paragraphs, packed to about `size_bytes`; one that is much larger is cut between words."""
    packed = ""
    for paragraph in _GAP.split(text):
        for piece in _pieces(paragraph.strip(), size_bytes):
            if packed and len(packed.encode()) + len(piece.encode()) > size_bytes:
                yield packed
                packed = ""
            packed = f"{packed}\n\n{piece}" if packed else piece
    if packed:
        yield packed


def _pieces(paragraph: str, size_bytes: int) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for word in paragraph.split(" "):
        held.append(word)
        size += len(word.encode()) + 1
        if size >= 2 * size_bytes:
            yield " ".join(held)
            held, size = [], 0
    if held:
        yield " ".join(held)


class Texts:
    """`passages` repeated and varied. Passages too short to say anything are left out."""

    def __init__(self, passages: Iterable[str]) -> None:
        """Raises ValueError when nothing is left."""
        self._passages: Sequence[str] = [one for one in passages if len(one.encode()) >= _SHORTEST_BYTES]
        if not self._passages:
            raise ValueError("no passage is long enough")
        words = (word for passage in self._passages for word in passage.split(" ") if _is_long(word))
        self._words = [word for word, _ in zip(words, range(_VOCABULARY), strict=False)]

    def __len__(self) -> int:
        """How many real ones there are."""
        return len(self._passages)

    @property
    def mean_bytes(self) -> float:
        return sum(len(passage.encode()) for passage in self._passages) / len(self._passages)

    def passage(self, number: int) -> str:
        """Any number from 0 on has one."""
        text = self._passages[number % len(self._passages)]
        if number < len(self._passages) or not self._words:
            return text
        draw = random.Random(number)
        count = len(self._words)
        return " ".join(
            self._words[int(draw.random() * count)] if draw.random() < _EXCHANGED else word for word in text.split(" ")
        )

    def question(self, number: int, size: int) -> str:
        """Some words of one of the first `size` passages, as somebody would ask who half remembers it."""
        draw = random.Random(f"question {number}")
        words = [word for word in _WORD.findall(self.passage(draw.randrange(size))) if len(word) >= _LONG_WORD]
        return " ".join(draw.sample(words, min(len(words), _ASKED_WORDS))) or "question"


def _is_long(word: str) -> bool:
    return word.isalpha() and len(word) >= _LONG_WORD
