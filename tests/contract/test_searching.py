"""What a search makes of the rankings of an engine: what asks is told from what names, and who lifts whom."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from index.embed.base import Embedded, EmbedderIdentity, Role
from index.engines.base import Engine, View
from index.model import (
    EVERYTHING,
    Audience,
    ChunkId,
    Corpus,
    Document,
    EventId,
    Filters,
    Kind,
    Message,
    RoomId,
    SourceId,
    Span,
    UserId,
)
from index.search import Searcher, SearchSettings
from index.store.reading import StoredChunk
from tests.contract.conftest import KEYS, Bench
from tests.contract.test_engine import DOCS, OPS, page, unit

MINUTE_MS = 60_000


def headed(name: str, heading: str, text: str) -> Document:
    made = page(name, text, kind=Kind.DOC)
    return replace(made, chunks=(replace(made.chunks[0], heading=("Handbook", heading)),))


def window(name: str, text: str, minute: int, source: SourceId) -> Document:
    room = RoomId(source.partition(":")[2])
    first_ms = minute * MINUTE_MS
    made = page(
        name, text, source=source, corpus=Corpus.CHAT, kind=Kind.WINDOW, path=None, room=room,
        first_ms=first_ms, last_ms=first_ms + MINUTE_MS,
    )  # fmt: skip
    said = Message(EventId(f"${name}"), UserId("@a:example.org"), first_ms, Span(0, len(text)))
    return replace(made, chunks=(replace(made.chunks[0], messages=(said,)),))


async def found(bench: Bench, *asked: str, audience: Audience = EVERYTHING) -> list[str]:
    searcher = Searcher(bench, KEYS, None, SearchSettings())
    answer = await searcher.search(asked, audience=audience, now_ms=0)
    return [hit.document.partition(" ")[2] for hit in answer.hits]


async def test_a_definition_is_answered_where_the_word_is_the_heading(bench: Bench) -> None:
    await bench.put(
        headed("loud", "How it runs", "The lease, a lease, each lease and the lease of that lease: lease."),
        headed("quiet", "Lock and lease", "It belongs to a host for a while and ends by itself."),
    )
    assert await found(bench, "what is a lease") == ["quiet", "loud"]


async def test_one_text_that_asks_for_a_definition_lifts_no_heading_of_another_text(bench: Bench) -> None:
    await bench.put(
        headed("loud", "How it runs", "Window window window of the backup, the backup window and one more window."),
        headed("quiet", "Backup window", "Some time that somebody chose."),
        headed("lease", "Lease", "A lease belongs to a host."),
    )
    alone = await found(bench, "backup window")
    together = await found(bench, "backup window", "what is a lease")
    assert [name for name in together if name != "lease"] == alone


async def test_a_window_beside_one_that_matches_comes_before_an_equal_one_elsewhere(bench: Bench) -> None:
    room = SourceId("chat:!a:example.org")
    await bench.put(
        window("asked", "how do I mount the second disk at boot, the disk is not mounted at boot", 0, room),
        window("elsewhere", "mount it by the label of the thing", 900, room),
        window("answer", "you mount it by its label, in the table there is one", 5, room),
    )
    assert await found(bench, "mount the second disk at boot") == ["asked", "answer", "elsewhere"]


async def test_a_window_of_a_hidden_room_lifts_nothing(bench: Bench) -> None:
    """Nor does one that the audience may not see, though it stands beside what it may."""
    room, private = SourceId("chat:!a:example.org"), SourceId("chat:!b:example.org")
    seen = (
        window("elsewhere", "mount it by the label of the thing", 900, room),
        window("answer", "you mount it by its label, in the table there is one", 5, room),
    )
    await bench.put(*seen)
    audience = Audience(sources=frozenset({room}))
    alone = await found(bench, "mount the second disk at boot", audience=audience)
    await bench.put(
        window("asked", "how do I mount the second disk at boot, the disk is not mounted at boot", 0, private),
        is_public=False,
    )
    assert await found(bench, "mount the second disk at boot", audience=audience) == alone


class Pointing:
    """An embedder that sends every question the same way."""

    identity = EmbedderIdentity("pointing", 2, "", "", 0)

    async def embed(self, texts: Sequence[str], role: Role) -> list[Embedded]:
        return [unit(1, 0) for _ in texts]

    async def close(self) -> None:
        pass


async def test_keywords_trust_meaning_less_than_a_question_does(bench: Bench) -> None:
    await bench.put(page("near", "turn the old tapes"), page("words", "rotate tapes weekly"))
    await bench.embed({"turn the old tapes": unit(1, 0), "rotate tapes weekly": unit(0, 1)})
    settings = SearchSettings(vector_weight=dict.fromkeys(Corpus, 40.0), statement_share=0.01)
    searcher = Searcher(bench, KEYS, Pointing(), settings)
    for text, first in (("rotate tapes", "words"), ("how rotate tapes", "near"), ("rotate unheard wholly", "near")):
        answer = await searcher.search([text], now_ms=0)
        assert answer.hits[0].document == f"{DOCS} {first}", text


async def test_in_chat_vectors_speak_only_of_what_words_leave_uncovered(bench: Bench) -> None:
    room = SourceId("chat:!a:example.org")
    await bench.put(
        window("near", "turn the old tapes", 0, room),
        window("words", "rotate tapes weekly", 900, room),
        window("neither", "nothing of that", 1800, room),
    )
    await bench.embed(
        {"turn the old tapes": unit(1, 0), "rotate tapes weekly": unit(0, 1), "nothing of that": unit(0.9, 0.1)}
    )
    searcher = Searcher(bench, KEYS, Pointing(), SearchSettings(vector_weight=dict.fromkeys(Corpus, 40.0)))
    for text, order in (
        ("rotate tapes?", ["words", "near", "neither"]),
        ("rotate what nobody has heard", ["near", "neither", "words"]),
        ("unheard", ["near", "neither", "words"]),
    ):
        answer = await searcher.search([text], now_ms=0)
        assert [hit.document.partition(" ")[2] for hit in answer.hits] == order, text


async def test_a_text_that_stands_in_two_places_is_one_hit_that_names_the_other(bench: Bench) -> None:
    await bench.put(
        page("a", "rotate the tapes weekly"),
        page("copy", "rotate the tapes weekly", source=OPS),
        page("other", "rotate the tapes weekly, on a Monday"),
    )
    answer = await Searcher(bench, KEYS, None, SearchSettings()).search(["rotate tapes weekly"], now_ms=0)
    assert {hit.path: hit.also_at for hit in answer.hits} in (
        {"a": ("ops copy",), "other": ()},
        {"copy": ("docs a",), "other": ()},
    )
    assert answer.more == 0


async def test_in_chat_the_same_words_twice_are_two_hits(bench: Bench) -> None:
    room = SourceId("chat:!a:example.org")
    await bench.put(window("first", "thank you", 0, room), window("second", "thank you", 900, room))
    assert sorted(await found(bench, "thank you")) == ["first", "second"]


class Noting:
    """An engine that notes which chunks are read whole."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.read: list[ChunkId] = []

    @asynccontextmanager
    async def view(self, audience: Audience, filters: Filters) -> AsyncIterator[View]:
        async with self._engine.view(audience, filters) as view:
            whole = view.stored

            async def stored(chunks: Sequence[ChunkId]) -> dict[ChunkId, StoredChunk]:
                self.read += chunks
                return await whole(chunks)

            view.stored = stored  # type: ignore[method-assign]
            yield view


async def test_only_what_is_shown_is_read_whole(bench: Bench) -> None:
    await bench.put(*(page(f"{number}", f"rotate tape {number}") for number in range(30)))
    engine = Noting(bench)
    searcher = Searcher(engine, KEYS, None, SearchSettings())
    answer = await searcher.search(["rotate tape", "tape"], limit=4, skip=2, now_ms=0)
    assert answer.more == 24
    assert engine.read == [hit.chunk for hit in answer.hits]
    assert len(engine.read) == 4
