"""From the bytes of one file to the document that is indexed, or to the reason why there is none.

Pure, and never raises for what a file holds. Everything is scrubbed before it is cut: text, front matter, titles,
headings and paths.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace

from index.model import Chunk, Corpus, Document, DocumentId, SourceId, chunk_id
from index.text.parts import DEFAULT_PART_BYTES, cut_parts
from ingest.forge.decoding import DAMAGED, Undecoded, decode
from ingest.forge.frontmatter import FrontMatter, front_matter
from ingest.forge.headers import SECTIONS
from ingest.forge.kinds import Form, form_of, kind_of
from ingest.forge.linemap import line_map
from ingest.forge.markdown import page
from ingest.forge.packing import Packing, Piece
from ingest.forge.plain import template_page, text_page
from ingest.forge.scripts import HeaderPiece, script_header

CHUNKER_VERSION: Final = 2
"""Part of the fingerprint: raise it whenever the same file, or the same messages, would give other chunks."""

_LINK: Final = re.compile(r"https?://|\]\(")
_SOMETHING: Final = re.compile(r"[^\W_]|[^\x00-\x7f\s]")  # more than a lone rule or bracket
_ASCIIDOC: Final = (".adoc", ".asciidoc")
_REPLACEMENT: Final = "\ufffd"
_MAX_PATH_BYTES: Final = 4096  # as in Linux; in a tree of git a name can be of any length, and each chunk bears it


@dataclass(frozen=True, slots=True)
class Rules:
    """How files are cut, and what is too much."""

    packing: Packing = field(default_factory=Packing)
    part_bytes: int = DEFAULT_PART_BYTES
    sections: tuple[str, ...] = SECTIONS
    max_bytes: int = 4_000_000
    max_lines: int = 200_000  # of Markdown: a line can cost a tenth of a millisecond


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that gives no document. `path` is scrubbed; `reason` is one line for people."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Cut:
    """What a file came to, whatever its form."""

    title: str | None
    pieces: tuple[HeaderPiece, ...]
    matter: FrontMatter = field(default_factory=FrontMatter)


def document(
    *,
    source: SourceId,
    corpus: Corpus,
    path: str,
    revision: str,
    data: bytes,
    scrub: Callable[[str], str],
    rules: Rules = Rules(),
    identity: SourceId | None = None,
) -> Document | Skipped:
    """Cut one file into chunks. `path` is relative to its source, with slashes; `revision` a blob id or digest.

    The document's id begins with `identity`; None: with the source, for those that are never renamed.
    Fields of front matter that had to be left out are named in `Document.faults`.
    """
    shown = shown_path(path, scrub)
    if len(shown.encode()) > _MAX_PATH_BYTES:
        return Skipped(shown, f"its path is longer than {_MAX_PATH_BYTES:,} bytes")
    form = form_of(path, data[:8])
    if form is None:
        return Skipped(shown, "not a kind of file that is indexed")
    if len(data) > rules.max_bytes:
        return Skipped(shown, f"too large: {len(data):,} bytes, the limit is {rules.max_bytes:,}")
    decoded = decode(data)
    if isinstance(decoded, Undecoded):
        return Skipped(shown, decoded.reason)
    text = decoded.text
    if form is Form.MARKDOWN and text.count("\n") >= rules.max_lines:
        return Skipped(shown, f"too large: more than {rules.max_lines:,} lines")
    cut = _cut(form, text, path, scrub, rules)
    if cut is None:
        return Skipped(shown, "nothing to index: no comment at the top")
    title = scrub(cut.matter.title or cut.title or _name_as_title(shown, form)).strip()
    document_id = id_of(identity or source, path, scrub)
    chunks = _chunks(document_id, title, cut.pieces, scrub, rules.part_bytes)
    if not chunks:
        return Skipped(shown, "nothing to index: no text")
    if decoded.is_damaged:
        chunks = tuple(_flagged(chunk) for chunk in chunks)
    return Document(
        id=document_id,
        source=source,
        corpus=corpus,
        kind=kind_of(path, form, corpus),
        title=title,
        revision=revision,
        chunks=chunks,
        path=shown,
        has_link=any(_LINK.search(chunk.text) for chunk in chunks),
        payload=cut.matter.payload,
        faults=cut.matter.faults,
    )


def shown_path(path: str, scrub: Callable[[str], str]) -> str:
    """The path as it may be stored and shown: scrubbed, and without the bytes that are no UTF-8."""
    return scrub(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def id_of(source: SourceId, path: str, scrub: Callable[[str], str]) -> DocumentId:
    """The document's id. Two paths that look alike once shown still have two ids."""
    shown = shown_path(path, scrub)
    if shown == path:
        return DocumentId(f"{source} {path}")
    digest = blake2b(path.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return DocumentId(f"{source} {shown}#{digest}")


def _cut(form: Form, text: str, path: str, scrub: Callable[[str], str], rules: Rules) -> _Cut | None:
    if form is Form.SCRIPT:
        header = script_header(text, path, scrub, rules.sections, rules.packing)
        return _Cut(header.title, header.pieces) if header else None
    matter = FrontMatter() if form is Form.TEMPLATE else front_matter(text, scrub)
    body = "\n" * matter.lines + text.split("\n", matter.lines)[-1] if matter.lines else text
    scrubbed = scrub(body)
    if form is Form.MARKDOWN:
        result = page(scrubbed, rules.packing)
    elif form is Form.TEMPLATE:
        result = template_page(scrubbed, rules.packing)
    else:
        result = text_page(scrubbed, rules.packing, is_asciidoc=path.casefold().endswith(_ASCIIDOC))
    origin = line_map(body, scrubbed)
    pieces = []
    if not result.pieces and matter.title:  # a page of a menu: its title is all there is to find
        pieces.append(HeaderPiece(Piece(matter.title, 1, matter.lines)))
    for piece in result.pieces:
        first, last = origin.original(piece.first, piece.last)
        pieces.append(HeaderPiece(Piece(piece.text, first, last, piece.heading, piece.flags)))
    return _Cut(result.title, tuple(pieces), matter)


def _chunks(
    document_id: DocumentId, title: str, pieces: Iterable[HeaderPiece], scrub: Callable[[str], str], part_bytes: int
) -> tuple[Chunk, ...]:
    chunks: list[Chunk] = []
    used: dict[tuple[str, ...], int] = {}
    for cut in pieces:
        piece = cut.piece
        if not _SOMETHING.search(piece.text):
            continue
        path = tuple(scrub(step) for step in piece.heading)
        below = path[1:] if path and path[0] == title else path
        number = used.get(below, 0)
        used[below] = number + 1
        chunks.append(
            Chunk(
                id=chunk_id(document_id, "\x1f".join((*below, str(number)))),
                ordinal=len(chunks),
                text=piece.text,
                heading=(title, *below) if title else below,
                section=cut.section,
                paragraph=cut.paragraph,
                lines=(piece.first, piece.last),
                parts=cut_parts(piece.text, part_bytes),
                flags=piece.flags,
            )
        )
    return tuple(chunks)


def _flagged(chunk: Chunk) -> Chunk:
    return replace(chunk, flags=(*chunk.flags, DAMAGED)) if _REPLACEMENT in chunk.text else chunk


def _name_as_title(path: str, form: Form) -> str:
    name = PurePosixPath(path).name
    return name if form in {Form.TEMPLATE, Form.SCRIPT} else PurePosixPath(name).stem or name
