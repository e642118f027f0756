"""How often tokens stand in the texts of a few chunks: where a list of all their postings would be far longer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from index.engines.sqlite.asked import Counts
from index.store.postings import Text
from index.text.fold import tokens

END: Final = "\1"
"""Stands behind each text where many are looked at in one go; no token holds it."""

BETWEEN: Final = f" {END} "
_PLAIN: Final = {
    code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128) if chr(code) != END
}  # words of letters that need no folding, with blanks between


@dataclass(frozen=True, slots=True)
class Wanted:
    """Tokens: as typed, of titles and bodies, and keys."""

    typed: frozenset[str]
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class Row:
    """One column of many chunks as a row of tokens with blanks between, and `END` between two chunks."""

    chunks: list[int]
    tokens: str


def rows(texts: Mapping[int, Text]) -> tuple[Row, Row, Row]:
    """Of title, body and keys. The chunks of each are in an order of its own."""
    keys = Row(list(texts), BETWEEN.join([text.keys.replace(END, " ") for text in texts.values()]))
    return (
        _row({chunk: text.title for chunk, text in texts.items()}),
        _row({chunk: text.body for chunk, text in texts.items()}),
        keys,
    )


def _row(texts: Mapping[int, str]) -> Row:
    """`tokens` of all; of those in English and code at once, in a tenth of the time."""
    plain = {chunk: text for chunk, text in texts.items() if text.isascii() and END not in text}
    others = {chunk: " ".join(tokens(text)) for chunk, text in texts.items() if chunk not in plain}
    joined = [BETWEEN.join(plain.values()).translate(_PLAIN)] if plain else []
    return Row([*plain, *others], BETWEEN.join([*joined, *others.values()]))


def counted(texts: Mapping[int, Text], wanted: Wanted) -> Counts:
    title, body, keys = rows(texts)
    return Counts(_times(title, wanted.typed), _times(body, wanted.typed), _times(keys, wanted.keys))


def _times(row: Row, wanted: Collection[str]) -> dict[str, dict[int, int]]:
    """For each of the tokens, how often it stands in each chunk that has it."""
    found: dict[str, dict[int, int]] = {token: {} for token in wanted}
    if not (row.chunks and found):
        return found
    chunks = iter(row.chunks)
    chunk = next(chunks)
    for token in filter({END, *found}.__contains__, row.tokens.split(" ")):
        if token == END:
            chunk = next(chunks)
        else:
            of_token = found[token]
            of_token[chunk] = of_token.get(chunk, 0) + 1
    return found
