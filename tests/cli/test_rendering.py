"""A hit as people and programs read it."""

import json
from datetime import UTC
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from index.model import (
    Answer,
    ChunkId,
    Corpus,
    DocumentId,
    EventId,
    Hit,
    Kind,
    Message,
    Origin,
    RoomId,
    Snippet,
    SourceId,
    Span,
    UserId,
)
from sources.cli.render import answer_record, answer_text, citation, permalink, snippet_text
from sources.cli.style import PLAIN, Style

CONTRACT = Path(__file__).with_name("search_v1.json")
COLOUR = Style(has_colour=True)

PAGE = Hit(
    chunk=ChunkId(7),
    document=DocumentId("repo:handbook ops/keys.md"),
    source=SourceId("repo:handbook"),
    corpus=Corpus.FORGE,
    kind=Kind.MANUAL,
    title="Keys",
    score=0.0325,
    origins=(Origin("bm25", 1, 2, 7.31), Origin("vec", 1, 1, 0.842)),
    boosts=(("what-stops", 1.5),),
    is_weak=False,
    snippet=Snippet("rotate the signing key yearly", (Span(11, 18), Span(19, 22)), cut_left=True),
    path="ops/keys.md",
    room=None,
    heading=("Keys", "Rotation"),
    section=None,
    paragraph=None,
    lines=(12, 30),
    messages=(),
    best_message=None,
    first_ms=None,
    last_ms=None,
    revision="abc",
    payload={"level": "intro", "tags": ("ops", "security")},
)
SAID = replace(
    PAGE,
    document=DocumentId("chat:!r:a.example $1"),
    source=SourceId("chat:!r:a.example"),
    corpus=Corpus.CHAT,
    kind=Kind.WINDOW,
    title="#ops:a.example",
    path=None,
    room=RoomId("!r:a.example"),
    heading=(),
    lines=None,
    messages=(
        Message(EventId("$1"), UserId("@ann:a.example"), 1_700_000_000_000, Span(0, 5)),
        Message(EventId("$2/x+y"), UserId("@bob:b.example"), 1_700_000_060_000, Span(6, 9)),
    ),
    best_message=1,
    first_ms=1_700_000_000_000,
    last_ms=1_700_000_060_000,
    is_weak=True,
)


def answer(*hits: Hit, **changes: object) -> Answer:
    return replace(Answer(hits, is_certain=True, notes=(), more=0), **changes)


def test_a_page_is_cited_with_repository_path_lines_and_headings() -> None:
    assert citation(PAGE) == "handbook ops/keys.md:12-30 › Keys › Rotation"
    assert citation(replace(PAGE, lines=(3, 3), heading=())) == "handbook ops/keys.md:3"


def test_a_script_header_is_cited_with_section_and_paragraph_once() -> None:
    hit = replace(PAGE, path="bin/send", heading=("PURPOSE", "Retries"), section="PURPOSE", paragraph="Retries")
    assert citation(hit) == "handbook bin/send:12-30 › PURPOSE › Retries"


def test_a_message_is_cited_with_room_sender_and_time() -> None:
    assert citation(SAID, zone=UTC) == "#ops:a.example, @bob:b.example, 2023-11-14 22:14"


def test_a_permalink_opens_the_best_message_and_names_servers_that_know_the_room() -> None:
    assert permalink(SAID) == "https://matrix.to/#/!r%3Aa.example/$2%2Fx%2By?via=a.example&via=b.example"
    assert permalink(PAGE) is None


def test_a_room_id_without_a_server_still_gets_servers() -> None:
    hit = replace(SAID, room=RoomId("!hash"))
    assert permalink(hit) == "https://matrix.to/#/!hash/$2%2Fx%2By?via=a.example&via=b.example"


def test_a_hit_says_which_rankings_found_it() -> None:
    assert answer_text(answer(PAGE)).splitlines() == [
        "1. handbook ops/keys.md:12-30 › Keys › Rotation",
        "   …rotate the signing key yearly",
        "   manual · bm25 #2, vec #1",
    ]


def test_a_text_that_stands_in_many_places_names_a_few_of_them_once_and_counts_the_others() -> None:
    few = replace(PAGE, also_at=("a LICENSE.md", "b LICENSE.md", "a LICENSE.md"))
    assert answer_text(answer(few)).endswith(" · also at a LICENSE.md, b LICENSE.md")
    many = replace(PAGE, also_at=tuple(f"r{number} LICENSE.md" for number in range(2003)))
    assert answer_text(answer(many)).endswith(" · also at r0 LICENSE.md, r1 LICENSE.md, r2 LICENSE.md and 2,000 more")
    assert len(answer_record(answer(many))["hits"][0]["also_at"]) == 2003  # type: ignore[index]


def test_an_explanation_has_every_rank_score_and_boost() -> None:
    told = answer_text(answer(PAGE), is_explained=True)
    assert "text 1: bm25 rank 2, score 7.31" in told
    assert "text 1: vec rank 1, score 0.842" in told
    assert "boost what-stops: ×1.5" in told
    assert "score 0.03250" in told


def test_weak_hits_are_marked_and_an_answer_of_weak_ones_says_that_nothing_is_certain() -> None:
    told = answer_text(answer(SAID, is_certain=False), zone=UTC)
    assert told.startswith("Nothing certain: all of these are weak.\n")
    assert "1. #ops:a.example, @bob:b.example, 2023-11-14 22:14  (weak)" in told


def test_no_hit_is_said_with_what_was_missing() -> None:
    told = answer_text(answer(is_certain=False, notes=("12 vectors are pending",)))
    assert told == "Nothing found.\n\nnote: 12 vectors are pending"


def test_found_words_are_emphasised_on_a_terminal_only() -> None:
    assert "\x1b[1;33msigning\x1b[0m" in snippet_text(PAGE.snippet, COLOUR)
    assert snippet_text(PAGE.snippet, PLAIN) == "…rotate the signing key yearly"


@given(st.text(), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20))))
def test_marks_of_any_kind_neither_lose_text_nor_raise(text: str, pairs: list[tuple[int, int]]) -> None:
    marks = tuple(Span(min(pair), max(pair)) for pair in pairs)
    painted = snippet_text(Snippet(text, marks), COLOUR)
    plain = snippet_text(Snippet(text, marks), PLAIN)
    assert painted.replace("\x1b[1;33m", "").replace("\x1b[0m", "").strip("\n") == plain


@given(st.text(st.characters()))
def test_hostile_text_gives_the_terminal_no_orders(text: str) -> None:
    hit = replace(
        PAGE, snippet=Snippet(text), path=f"a/{text}", heading=(text,), also_at=(text,), boosts=((text, 1.0),)
    )
    told = answer_text(answer(hit, notes=(text,)), is_explained=True)
    assert not any(ord(c) < 32 and c != "\n" for c in told)
    assert "\u202e" not in told


@given(st.integers(-(2**63), 2**63))
def test_a_time_that_no_calendar_holds_is_unknown_and_no_error(time_ms: int) -> None:
    said = replace(SAID.messages[0], sent_ms=time_ms)
    hit = replace(SAID, messages=(said,), best_message=0, first_ms=time_ms)
    assert citation(hit, zone=UTC)
    assert answer_record(answer(hit))


def shape(value: object) -> object:
    """Names and types, without values; of a list that of its first element."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def covers(now: object, promised: object) -> bool:
    """Fields may come, none may go or change its type; null where something may be missing."""
    if isinstance(promised, dict):
        return isinstance(now, dict) and all(key in now and covers(now[key], promised[key]) for key in promised)
    if isinstance(promised, list):
        return isinstance(now, list) and (not promised or not now or covers(now[0], promised[0]))
    return now == promised


def test_the_json_of_a_search_keeps_its_promise() -> None:
    promised = json.loads(CONTRACT.read_text())
    for name, hit in (("page", PAGE), ("chat", SAID)):
        record = answer_record(answer(hit, notes=("x",), more=3))
        assert record["version"] == 1
        assert covers(shape(record), promised[name]), name
    assert json.loads(json.dumps(answer_record(answer(PAGE))))
