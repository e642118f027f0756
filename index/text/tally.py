"""The tally of a chunk: its words as numbers, by which a ranking counts a few of them in hundreds of chunks at once.

Numbers of four bytes, the lowest first: how many tokens the title has, how many the text, then one for each token of
the title, of the text, and for each key. That of a token, as the lexical index stores it, is its CRC-32: two words
share one once in four thousand million, and then one is counted where the other stands.

Pure. The writer makes it with the chunk, and it goes with the chunk.
"""

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import gt
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
        least = min(lengths, default=_HEAD.size)
        heads = list(accumulate((length // WIDTH for length in lengths), initial=0))
        if least < _HEAD.size or any(length % WIDTH for length in lengths) or heads[-1] * WIDTH > len(data):
            raise ValueError("a tally is cut off")
        if heads[-1] * WIDTH < len(data):
            raise ValueError("there is more than these tallies")
        numbers = _unpacked(data)
        titles = [head + _HEAD.size // WIDTH for head in heads[:-1]]
        texts = [title + numbers[head] for title, head in zip(titles, heads, strict=False)]
        keys = [text + numbers[head + 1] for text, head in zip(texts, heads, strict=False)]
        if any(map(gt, keys, heads[1:])):
            raise ValueError("a tally has fewer numbers than it says")
        return cls(chunks, [*chain.from_iterable(zip(heads, titles, texts, keys, strict=False)), heads[-1]], data)

    def sizes(self) -> dict[int, int]:
        """How many words each chunk has."""
        titles, keys = self.bounds[TITLE::COLUMNS], self.bounds[KEYS::COLUMNS]
        return {chunk: past - first for chunk, first, past in zip(self.chunks, titles, keys, strict=True)}

    def column(self, column: int) -> "Iterator[array[int]]":
        """Of each chunk the numbers of its title, its text or its keys."""
        numbers = _unpacked(self.data)
        for first, past in zip(self.bounds[column::COLUMNS], self.bounds[column + 1 :: COLUMNS], strict=True):
            yield numbers[first:past]


class _Numbers(dict[str, bytes]):
    """The numbers of words, or of the keys of words, as stored; made when they are asked for: nearly all come again."""

    def __init__(self, tokens_of: Callable[[str], Iterable[str]]) -> None:
        super().__init__()
        self._tokens_of = tokens_of

    def __missing__(self, word: str) -> bytes:
        numbers = numbers_of(self._tokens_of(word))
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


def numbers_of(tokens: Iterable[str]) -> bytes:
    """Of tokens or keys, as a tally has them."""
    return b"".join([_NUMBER.pack(number_of(token)) for token in tokens])


def tally_of_numbers(in_title: int, in_text: int, numbers: Iterable[bytes]) -> bytes:
    """Of a title and a text with so many words, by the numbers of these and of the keys."""
    return b"".join([_HEAD.pack(in_title, in_text), *numbers])


def tally_of_words(title: Sequence[str], text: Sequence[str], keys: Iterable[str]) -> bytes:
    """Of the words of title and text, as `fold.words` gives them, and of keys; those of one word may stay together."""
    of_word, of_keys = _OF_WORDS.__getitem__, _OF_KEYS.__getitem__
    return tally_of_numbers(len(title), len(text), chain(map(of_word, title), map(of_word, text), map(of_keys, keys)))


def tally_of(title: str, text: str, keys: str) -> bytes:
    """The same, of a chunk as it is stored."""
    return tally_of_words(words(title), words(text), keys.split())


def _unpacked(data: bytes) -> "array[int]":
    """As stored, in the order of this machine's bytes."""
    numbers = array("I")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
