"""The tally of a chunk: its words as numbers, by which a ranking counts a few of them in hundreds of chunks at once.

Numbers of four bytes, the lowest first: how many tokens the title has, how many the text, then one for each token of
the title, of the text, and for each key. That of a token, as the lexical index stores it, is its CRC-32: two words
share one once in four thousand million, and then one is counted where the other stands.

Pure. The writer makes it with the chunk, and it goes with the chunk.
"""

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from struct import Struct
from typing import Final, NamedTuple, Self
from zlib import crc32

from index.text.fold import token_of, words

_HEAD: Final = Struct("<2I")
_NUMBER: Final = Struct("<I")
WIDTH: Final = 4
TITLE: Final = 1
TEXT: Final = 2
KEYS: Final = 3
COLUMNS: Final = 4
"""With the head, which is the first."""
_REMEMBERED: Final = 65_536
_LONGEST_REMEMBERED: Final = 128  # longer ones are encoded data and hardly come again


class Tallies(NamedTuple):
    """Those of some chunks, one behind the other in `data`.

    `bounds` says where among its numbers the head, the title, the text and the keys of each chunk begin, and last where
    all end.
    """

    chunks: Sequence[int]
    bounds: Sequence[int]
    data: bytes

    @classmethod
    def of(cls, chunks: Sequence[int], lengths: Sequence[int], data: bytes) -> Self:
        """`lengths` are those of the chunks' tallies in bytes. Raises ValueError for what is no tally."""
        bounds: list[int] = []
        at = 0
        for length in lengths:
            if length < _HEAD.size or length % WIDTH or at * WIDTH + length > len(data):
                raise ValueError("a tally is cut off")
            in_title, in_text = _HEAD.unpack_from(data, at * WIDTH)
            title = at + _HEAD.size // WIDTH
            text = title + in_title
            bounds += (at, title, text, text + in_text)
            at += length // WIDTH
            if text + in_text > at:
                raise ValueError("a tally has fewer numbers than it says")
        if at * WIDTH != len(data):
            raise ValueError("there is more than these tallies")
        return cls(chunks, [*bounds, at], data)

    def sizes(self) -> dict[int, int]:
        """How many words each chunk has."""
        titles, keys = self.bounds[TITLE::COLUMNS], self.bounds[KEYS::COLUMNS]
        return {chunk: past - first for chunk, first, past in zip(self.chunks, titles, keys, strict=True)}

    def column(self, column: int) -> "Iterator[array[int]]":
        """Of each chunk the numbers of its title, its text or its keys."""
        numbers = array("I")
        numbers.frombytes(self.data)
        _reorder(numbers)
        for first, past in zip(self.bounds[column::COLUMNS], self.bounds[column + 1 :: COLUMNS], strict=True):
            yield numbers[first:past]


class _Numbers(dict[str, bytes]):
    """The numbers of words, or of the keys of words, as stored; made when they are asked for: nearly all come again."""

    def __init__(self, tokens_of: Callable[[str], Iterable[str]]) -> None:
        super().__init__()
        self._tokens_of = tokens_of

    def __missing__(self, word: str) -> bytes:
        numbers = b"".join([_NUMBER.pack(number_of(token)) for token in self._tokens_of(word)])
        if len(self) >= _REMEMBERED:
            self.clear()
        if len(word) <= _LONGEST_REMEMBERED:
            self[word] = numbers
        return numbers


_OF_WORDS: Final = _Numbers(lambda word: (token_of(word),))
_OF_KEYS: Final = _Numbers(str.split)


def number_of(token: str) -> int:
    """`token` as `fold.tokens` gives it, or a key."""
    return crc32(token.encode())


def tally_of_words(title: Sequence[str], text: Sequence[str], keys: Iterable[str]) -> bytes:
    """Of the words of title and text, as `fold.words` gives them, and of keys; those of one word may stay together."""
    of_word, of_keys = _OF_WORDS.__getitem__, _OF_KEYS.__getitem__
    head = _HEAD.pack(len(title), len(text))
    return b"".join(chain((head,), map(of_word, title), map(of_word, text), map(of_keys, keys)))


def tally_of(title: str, text: str, keys: str) -> bytes:
    """The same, of a chunk as it is stored."""
    return tally_of_words(words(title), words(text), keys.split())


def _reorder(numbers: "array[int]") -> None:
    """From the order of this machine's bytes to the stored one, or back."""
    if sys.byteorder == "big":
        numbers.byteswap()
