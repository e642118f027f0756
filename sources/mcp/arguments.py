"""What each tool takes. Pure: schemas for assistants and the check of what they send come from the same records.

Unknown arguments are errors: one that is passed over in silence would give an answer to another question.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from index.errors import QueryError


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all."""


class Search(Arguments, frozen=True):
    """Find passages of documents and conversations, best first, with citations. Start here."""

    texts: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=1_000)]],
        Meta(
            min_length=1,
            max_length=8,
            description="One to eight texts that say the same in other words; their rankings are fused. Operators: "
            '"exact phrase", -word, from:@user:server, in:#room:server, repo:name, kind:readme, section:NAME, '
            "tag:name, area:name, before:2026-11-01, after:7d, has:link, corpus:chat|forge|notes. Operators alone, "
            "as the only text, list the newest that they leave.",
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=50, description="Hits to give.")] = 10
    skip: Annotated[int, Meta(ge=0, le=1_000, description="Hits to pass over, to go on after an earlier answer.")] = 0
    lexical: Annotated[bool, Meta(description="By words alone, without vectors.")] = False


class Get(Arguments, frozen=True):
    """Read a passage afresh from its source: a whole file, or lines of it."""

    reference: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2_000,
            description="What a hit is cited with, like `handbook ops/keys.md:12-30`, or the `ref` of a hit. Without "
            "lines: the whole file.",
        ),
    ]
    from_line: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Begin at this line, to go on at the `next_line` of an earlier answer."),
    ] = None


class Toc(Arguments, frozen=True):
    """List what is indexed, file by file: path, kind, title, tags."""

    source: Annotated[str | None, Meta(description="Only this source: docs, repo:docs or notes:docs.")] = None
    tag: Annotated[str | None, Meta(description="Only files with this tag.")] = None
    skip: Annotated[int, Meta(ge=0, le=10_000_000, description="Files to pass over.")] = 0


class Grep(Arguments, frozen=True):
    """Find exact text in tracked files and notes as they are now, code included. Not for conversations."""

    pattern: Annotated[str, Meta(min_length=1, max_length=1_000)]
    source: Annotated[str | None, Meta(description="Only this source: docs, repo:docs or notes:docs.")] = None
    regex: Annotated[
        bool, Meta(description="The pattern is an extended regular expression; for notes, one of Python's.")
    ] = False
    ignore_case: bool = False
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Lines to give.")] = 200


class Ask(Arguments, frozen=True):
    """Have an answer written from the best passages, with a citation for each claim. Needs [ask] to be set up."""

    question: Annotated[
        str,
        Meta(min_length=1, max_length=1_000, description="A question; operators narrow the search, as in `search`."),
    ]
    sources_only: Annotated[bool, Meta(description="Give the passages alone; no model is asked.")] = False
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=50)] | None, Meta(description="Passages to answer from; default: ask.passages.")
    ] = None


class Status(Arguments, frozen=True):
    """What is in the index, how old it is and what it lacks."""


TOOLS: Final[Mapping[str, type[Arguments]]] = {
    "search": Search,
    "get": Get,
    "toc": Toc,
    "grep": Grep,
    "ask": Ask,
    "status": Status,
}


def schema(tool: type[Arguments]) -> dict[str, Any]:
    """JSON Schema of what a tool takes, in one piece."""
    [_], components = msgspec.json.schema_components([tool])
    made = dict(components[tool.__name__])
    return {"type": "object", "properties": made["properties"], **{k: made[k] for k in _KEPT if k in made}}


_KEPT: Final = ("required", "additionalProperties")


def checked(name: str, given: Mapping[str, Any]) -> Arguments:
    """The arguments of a call. Raises `QueryError` that names tool and argument."""
    tool = TOOLS.get(name)
    if tool is None:
        raise QueryError(f"{name[:40]!r}: there is no such tool (there are: {', '.join(TOOLS)})")
    try:
        return msgspec.convert(dict(given), tool, strict=True)
    except msgspec.ValidationError as error:
        known = ", ".join(tool.__struct_fields__) or "none"
        raise QueryError(f"{name}: {_in_words(error)} (its arguments are: {known})") from None


def _in_words(error: msgspec.ValidationError) -> str:
    return str(error).replace("Object contains", "the call contains").replace("$.", "")
