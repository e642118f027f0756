"""What of a chunk is searched by words: a title line, the text, and the keys of its words.

Pure. The writer makes it once; a query meets it through the same `Keys`.
"""

from collections.abc import Callable

from msgspec import Struct

from index.model import Chunk, Corpus, Document
from index.text.vocabulary import Keyed

DocumentKeys = Callable[[str, str], Keyed]
"""`Keys.document_keys`."""


class Searchable(Struct, frozen=True):
    """A chunk with what the index adds to it. `size` counts the words of title and body; `tally` is these and the keys
    as numbers.
    """

    chunk: Chunk
    title: str
    keys: str
    size: int
    tally: bytes


def searchable(document: Document, document_keys: DocumentKeys) -> list[Searchable]:
    """The document's chunks, in order."""
    found = []
    for chunk in document.chunks:
        title = title_line(document, chunk)
        keyed = document_keys(title, chunk.text)
        found.append(Searchable(chunk, title, keyed.keys, keyed.size, keyed.tally))
    return found


def title_line(document: Document, chunk: Chunk) -> str:
    """Path, title and headings, each once. A window of chat has none: its room is a filter, not a word of it."""
    if document.corpus is Corpus.CHAT:
        return ""
    steps = dict.fromkeys((document.path or "", document.title, *chunk.heading))
    return "\n".join(step for step in steps if step)


def embedded_title(document: Document) -> str:
    """What stands before each embedded part. A room's name does not: a new name would make every window new."""
    return "" if document.corpus is Corpus.CHAT else document.title
