"""A question answered from the index: searched, the passages numbered, a model asked, its answer judged.

Where the search finds nothing certain no model is asked: there is nothing that it could rest an answer on.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from index.ask import Evidence, evidence, prompt, worth_asking
from index.citations import Judged, Marker
from index.errors import ConfigError, QueryError, SourcesError
from index.model import Answer, ChunkId, Corpus, Hit
from index.store.reading import StoredChunk
from index.text.query import parse
from sources.app import open_index
from sources.cli.render import citation
from sources.config.model import Ask, Config
from sources.config.settings import secret_reader
from sources.credentials import Credentials
from sources.redact import redact
from sources.unread import unread

if TYPE_CHECKING:
    from sources.asking.client import ChatModel, ModelSettings


class Outcome(StrEnum):
    ANSWERED = "answered"
    NOTHING = "nothing"  # the sources hold nothing certain; no model was asked
    SOURCES = "sources"  # only the passages were wanted
    BROKEN = "broken"  # the answer broke off; what came of it is there


class Asked(Struct, frozen=True):
    """An answer with everything that is needed to check it. `fault` says why it is broken."""

    question: str
    outcome: Outcome
    passages: tuple[Evidence, ...] = ()
    answer: Judged | None = None
    model: str | None = None
    notes: tuple[str, ...] = ()
    fault: str = ""


async def ask(
    config: Config,
    credentials: Credentials,
    question: str,
    *,
    now_ms: int,
    is_sources_only: bool = False,
    limit: int | None = None,
    say: Callable[[str], None] = lambda piece: None,
) -> Asked:
    """Answer from this configuration's index. `say` hears the marked answer as it arrives."""
    if config.ask.kind == "off" and not is_sources_only:
        raise ConfigError(
            'ask.kind: is off, so there is no model to write an answer (set kind = "openai" with url and model, or use '
            "`sources ask --sources-only`)"
        )
    async with open_index(config, credentials) as index:
        fresh = partial(_fresh, config, credentials)
        found = await find(index.searcher, question, config.ask, fresh, now_ms=now_ms, limit=limit)
        if found.outcome is Outcome.NOTHING and (note := await unread(config, index.catalogue)) is not None:
            found = replace(found, notes=(*found.notes, note))
        if is_sources_only or found.outcome is Outcome.NOTHING:
            return found
        import httpx

        from sources.asking.client import ChatModel

        async with httpx.AsyncClient() as client:
            return await write(found, ChatModel(client, model_settings(config.ask, credentials)), say=say)


def model_settings(settings: Ask, credentials: Credentials) -> "ModelSettings":
    from sources.asking.client import ModelSettings

    return ModelSettings(
        url=settings.url or "",
        model=settings.model or "",
        api_key=secret_reader(credentials, settings.api_key_credential),
        temperature=settings.temperature,
        connect_timeout_s=settings.connect_timeout_ms / 1000,
        silence_timeout_s=settings.silence_timeout_ms / 1000,
        timeout_s=settings.timeout_ms / 1000,
    )


class Searching(Protocol):
    """What is needed of a searcher."""

    async def search(self, texts: Sequence[str], *, limit: int = ..., now_ms: int | None = ...) -> Answer: ...

    async def stored(self, hits: Sequence[Hit]) -> Mapping[ChunkId, StoredChunk]: ...


async def find(
    searcher: Searching,
    question: str,
    settings: Ask,
    fresh: Callable[[StoredChunk], Awaitable[str]],
    *,
    now_ms: int,
    limit: int | None = None,
) -> Asked:
    """The passages that an answer may rest on. Raises `QueryError` for a question that cannot be asked.

    `fresh` gives a passage of chat as the homeserver has it now: what was withdrawn since the last refresh must not be
    sent anywhere. A passage that cannot be had afresh is left out, and a note says so.
    """
    asked = parse(question, now_ms=now_ms, field="question")
    if asked.is_listing:
        raise QueryError("question: holds operators alone (`sources search` lists what they leave; ask with words)")
    words = redact(asked.text)
    found = await searcher.search([question], limit=limit or settings.passages, now_ms=now_ms)
    hits = worth_asking(found)
    texts: dict[ChunkId, str] = {}
    notes = list(found.notes)
    for identity, stored in (await searcher.stored(hits) if hits else {}).items():
        try:
            text = await fresh(stored) if stored.corpus is Corpus.CHAT else stored.chunk.text
        except SourcesError as error:
            notes.append(f"a passage of {stored.title} was left out: {error}")
            continue
        if text.strip():
            texts[identity] = text
    passages = evidence(
        hits, texts, place=lambda hit: citation(hit, zone=UTC), scrub=redact, max_bytes=settings.max_context_bytes
    )
    outcome = Outcome.SOURCES if passages else Outcome.NOTHING
    return Asked(words, outcome, passages, notes=tuple(dict.fromkeys(notes)))


async def _fresh(config: Config, credentials: Credentials, stored: StoredChunk) -> str:
    from sources.conversation import conversation

    talk = await conversation(config, credentials, stored)
    return "\n".join(f"{line.sender}: {line.text}" for line in talk.lines if line.text is not None)


async def write(found: Asked, model: "ChatModel", *, say: Callable[[str], None] = lambda piece: None) -> Asked:
    """Have the answer written and judge it while it arrives."""
    from sources.asking.client import End

    marker = Marker(count=len(found.passages), known=[passage.text for passage in found.passages])
    marked: list[str] = []
    end = End()

    def give(piece: str) -> None:
        if piece:
            marked.append(piece)
            say(piece)

    asked = prompt(found.question, found.passages, mark=secrets.token_hex(8))
    async with aclosing(model.answer(asked)) as answer:
        async for piece in answer:
            if isinstance(piece, End):
                end = piece
            else:
                give(marker.feed(piece))
    give(marker.finish())
    return replace(
        found,
        outcome=Outcome.BROKEN if end.fault else Outcome.ANSWERED,
        answer=marker.judged("".join(marked)),
        model=model.name,
        notes=(*found.notes, *([end.note] if end.note else [])),
        fault=end.fault,
    )
