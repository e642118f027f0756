"""What crosses a folder: documents and chunks in, queries and hits out, and the ids that tie them.

All records are frozen. Times are milliseconds since the epoch; lines are 1-based and inclusive; offsets
are code points into the text they are about.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NewType

from msgspec import Struct, field
from msgspec.structs import replace

SourceId = NewType("SourceId", str)
"""`repo:<name>`, `forge:<name>/<owner>/<repository>`, `notes:<name>` or `chat:<room id>`."""
DocumentId = NewType("DocumentId", str)
"""Stable across runs: the source id, a blank, and the path or the window's first event."""
ChunkId = NewType("ChunkId", int)
"""63 bits, derived from the document id and the chunk's anchor: the same input gives the same id."""
RoomId = NewType("RoomId", str)
EventId = NewType("EventId", str)
UserId = NewType("UserId", str)

Vector = NewType("Vector", bytes)
"""Unit length, little-endian float32, `4 * dimension` bytes."""


class Corpus(StrEnum):
    CHAT = "chat"
    FORGE = "forge"
    NOTES = "notes"


def corpus_of(source: SourceId) -> Corpus:
    """Follows from the id."""
    kind = source.partition(":")[0]
    return {"chat": Corpus.CHAT, "notes": Corpus.NOTES}.get(kind, Corpus.FORGE)


class Kind(StrEnum):
    """What sort of text a document is. Routing and `kind:` look at it."""

    HEADER = "header"
    README = "readme"
    MANUAL = "manual"
    TEMPLATE = "template"
    DOC = "doc"
    NOTE = "note"
    WINDOW = "window"


class Span(Struct, frozen=True):
    """Code points `start` up to, not including, `end`."""

    start: int
    end: int


class Message(Struct, frozen=True):
    """One message inside a window: who, when, and where its text stands in the chunk."""

    event: EventId
    sender: UserId
    sent_ms: int
    span: Span


OVERSIZE: Final = "oversize"
"""Flag of a chunk that is larger than chunks are meant to be, or that belongs to something too large for one."""


class Chunk(Struct, frozen=True):
    """The piece that is indexed and ranked: both rankings rank this unit.

    `text` is scrubbed and is what a person is shown. `heading` is the path of headings above it, or section and
    paragraph of a script header. `parts` are the spans that get a vector each (empty: the whole text is one); a
    chunk scores by its best part.
    """

    id: ChunkId
    ordinal: int
    text: str
    heading: tuple[str, ...] = ()
    section: str | None = None
    paragraph: str | None = None
    lines: tuple[int, int] | None = None
    parts: tuple[Span, ...] = ()
    messages: tuple[Message, ...] = ()
    flags: tuple[str, ...] = ()  # what a reader should know: OVERSIZE, "unclosed-fence"


Payload = Mapping[str, str | tuple[str, ...]]
"""Front matter to filter on: level, confidence, period, last_verified, public; tags, area, tech as tuples."""


class Document(Struct, frozen=True):
    """One page, script or window with all its chunks, scrubbed and validated."""

    id: DocumentId
    source: SourceId
    corpus: Corpus
    kind: Kind
    title: str
    revision: str  # changes exactly when the content does: a blob id, a digest, a ledger revision
    chunks: tuple[Chunk, ...]
    path: str | None = None  # inside its source; None in chat
    room: RoomId | None = None
    first_ms: int | None = None  # of the oldest message, or of the last change of a file where it is known
    last_ms: int | None = None
    has_link: bool = False
    payload: Payload = field(default_factory=dict)
    faults: tuple[str, ...] = ()  # fields of front matter that were left out, and why: "tags: expected a list"
    may_grow: bool = False  # its text is likely to change soon, which then costs less; nothing else depends on it


def chunk_id(document: DocumentId, anchor: str) -> ChunkId:
    """`anchor` is unique inside the document and outlives edits elsewhere in it where that can be had."""
    from hashlib import blake2b  # loads OpenSSL, which a search does without

    digest = blake2b(f"{document}\0{anchor}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return ChunkId(int.from_bytes(digest, "big") >> 1)


class Cursor(Struct, frozen=True):
    """How far a source has been read. `position` is the source's own business: a commit, a sync token."""

    source: SourceId
    position: str


NO_EMBEDDER: Final = "off"


class Fingerprint(Struct, frozen=True):
    """What an index was built with. Two that differ never meet in one ranking."""

    schema: int
    scrubber: int
    chunker: int
    words: int  # version of the word keys in `index.text.words`
    languages: tuple[str, ...]
    embedder: str  # name of the model; NO_EMBEDDER while the index holds no vectors
    dimension: int
    query_prefix: str
    document_prefix: str

    def embeds_like(self, embedder: str, dimension: int, query_prefix: str, document_prefix: str) -> bool:
        """Whether vectors of such a model may meet those of this index."""
        mine = (self.embedder, self.dimension, self.query_prefix, self.document_prefix)
        return mine == (embedder, dimension, query_prefix, document_prefix)

    def with_embedder_of(self, other: "Fingerprint") -> "Fingerprint":
        return replace(
            self,
            embedder=other.embedder,
            dimension=other.dimension,
            query_prefix=other.query_prefix,
            document_prefix=other.document_prefix,
        )

    def differences(self, stored: "Fingerprint") -> list[str]:
        """`name: stored -> wanted` for each field that differs; empty means that the index can be used."""
        names = self.__struct_fields__
        return [
            f"{name}: {_shown(getattr(stored, name))} -> {_shown(getattr(self, name))}"
            for name in names
            if getattr(stored, name) != getattr(self, name)
        ]


def _shown(value: object) -> str:
    """As a person writes it: lists by commas, and in quotes what would not be seen to begin or end."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return repr(value) if isinstance(value, str) and value != (value.strip() or None) else str(value)


class Filters(Struct, frozen=True):
    """What the reader asked to see; only these remove hits. Values of one field are alternatives."""

    corpora: frozenset[Corpus] = frozenset()
    sources: frozenset[SourceId] = frozenset()
    repos: frozenset[str] = frozenset()  # names as in `repo:name`
    kinds: frozenset[Kind] = frozenset()
    sections: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    areas: frozenset[str] = frozenset()
    confidences: frozenset[str] = frozenset()
    senders: frozenset[UserId] = frozenset()
    rooms: frozenset[str] = frozenset()  # ids or aliases
    before_ms: int | None = None
    after_ms: int | None = None
    has_link: bool = False


class Term(Struct, frozen=True):
    """One thing the reader typed: a word, or a quoted phrase. An excluded one must not occur."""

    text: str
    is_phrase: bool = False
    is_excluded: bool = False


class Query(Struct, frozen=True):
    """One text of a search, parsed. `text` is what is embedded: the words without operators."""

    text: str
    terms: tuple[Term, ...]
    filters: Filters = Filters()

    @property
    def is_listing(self) -> bool:
        """Operators alone: what they leave is listed, newest first."""
        return not self.terms


class Audience(Struct, frozen=True):
    """Which sources an answer may draw on, decided before ranking. None as sources means all: a shell on the host."""

    sources: frozenset[SourceId] | None = None


EVERYTHING: Final = Audience()


class Ranked(Struct, frozen=True):
    """One place in one ranking: best first, `rank` from 1. `score` compares only inside its own ranking.

    `coverage` is the share of the question's words, by rarity, that a lexical ranking found in the chunk.
    """

    chunk: ChunkId
    rank: int
    score: float
    coverage: float = 1.0


class Origin(Struct, frozen=True):
    """Where a hit came from, for `bm25 #2, vec #1`: `ranking` is "bm25" or "vec", `text` the number of the text."""

    ranking: str
    text: int
    rank: int
    score: float


class Snippet(Struct, frozen=True):
    text: str
    marks: tuple[Span, ...] = ()  # found words, in `text`
    cut_left: bool = False
    cut_right: bool = False


class Hit(Struct, frozen=True):
    """A chunk that answers a query, complete enough to be checked: see DESIGN.md promise 11."""

    chunk: ChunkId
    document: DocumentId
    source: SourceId
    corpus: Corpus
    kind: Kind
    title: str
    score: float
    origins: tuple[Origin, ...]
    boosts: tuple[tuple[str, float], ...]  # routing rules that moved it, with their factor
    is_weak: bool
    snippet: Snippet
    path: str | None
    room: RoomId | None
    heading: tuple[str, ...]
    section: str | None
    paragraph: str | None
    lines: tuple[int, int] | None
    messages: tuple[Message, ...]
    best_message: int | None  # index into `messages`
    first_ms: int | None
    last_ms: int | None
    revision: str
    payload: Payload
    also_at: tuple[str, ...] = ()  # other places of the same text
    text: str = ""  # of the whole chunk, to be held against what its source says now


class Answer(Struct, frozen=True):
    """What a search gives: hits best first, and what the reader should know about them."""

    hits: tuple[Hit, ...]
    is_certain: bool  # False: every hit is weak, or there is none
    notes: tuple[str, ...]  # degraded, pending vectors, stale
    more: int  # further hits that were left off
