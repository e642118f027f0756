"""The page whose title has the words of a question is what it is about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.model import ChunkId, Corpus, DocumentId, Kind, Ranked, RoomId, SourceId
from index.ordering import Asked, SearchSettings, ordered
from index.store.reading import Candidate
from index.text.languages import chosen
from index.text.query import parse_many
from index.text.topic import Topic

LANGUAGES = chosen(("en", "cs", "de"))


@pytest.mark.parametrize(
    ("question", "title", "share"),
    [
        ("restore a database", "Databases", 0.5),
        ("how to restore the databases", "Restoring databases", 1.0),
        ("obnovu databáze", "Obnova databáze", 1.0),
        ("restore restore database", "Database", 0.5),
        ("restore a database", "Notes", 0.0),
        ("of the", "Of the moon", 0.0),
        ("", "Restore", 0.0),
        ("restore", "", 0.0),
    ],
)
def test_each_telling_word_counts_once_in_any_of_its_forms(question: str, title: str, share: float) -> None:
    assert Topic(question, LANGUAGES).share(title) == pytest.approx(share)


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_share_is_a_share_of_any_text(question: str, title: str) -> None:
    assert 0.0 <= Topic(question, LANGUAGES).share(title) <= 1.0


def page(number: int, title: str, corpus: Corpus = Corpus.FORGE) -> Candidate:
    is_chat = corpus is Corpus.CHAT
    return Candidate(
        document=DocumentId(f"{corpus} {number}"),
        source=SourceId("chat:!r:example.org" if is_chat else "repo:guide"),
        corpus=corpus,
        kind=Kind.WINDOW if is_chat else Kind.DOC,
        title=title,
        heading="Limitations",
        section=None,
        path=None if is_chat else f"{number}.md",
        room=RoomId("!r:example.org") if is_chat else None,
        first_ms=None,
        last_ms=None,
        text="" if is_chat else f"section {number}",
    )


def order(pages: dict[int, Candidate], settings: SearchSettings, *texts: str) -> list[int]:
    """Of pages that words rank in the order of their numbers, all with about the same score."""
    places = [Ranked(ChunkId(number), rank, 10.0) for rank, number in enumerate(sorted(pages), start=1)]
    asked = [Asked(number, query, (), places, []) for number, query in enumerate(parse_many(texts, now_ms=0), start=1)]
    candidates = {ChunkId(number): one for number, one in pages.items()}
    return [int(placed.fused.chunk) for placed in ordered(asked, candidates, settings, LANGUAGES)]


PAGES = {1: page(1, "Mail"), 2: page(2, "Restoring"), 3: page(3, "Restoring databases")}


def test_among_equals_the_page_whose_title_has_most_of_the_words_comes_first() -> None:
    assert order(PAGES, SearchSettings(), "restore databases limitations") == [3, 2, 1]
    assert order(PAGES, SearchSettings(title_lift=0.0), "restore databases limitations") == [1, 2, 3]


def test_of_several_texts_the_one_that_lifts_most_counts() -> None:
    assert order(PAGES, SearchSettings(), "restore databases", "limitations of mail clients") == [3, 2, 1]


def test_a_lift_of_titles_says_so() -> None:
    query = parse_many(["restore databases"], now_ms=0)[0]
    asked = Asked(1, query, (), [Ranked(ChunkId(2), 1, 10.0)], [])
    (placed,) = ordered([asked], {ChunkId(2): PAGES[2]}, SearchSettings(title_lift=0.2), LANGUAGES)
    [(what, factor)] = placed.boosts
    assert what == "title"
    assert factor == pytest.approx(1.1)


def test_a_window_is_not_lifted_by_the_name_of_its_room() -> None:
    talk = {1: page(1, "Mail", Corpus.CHAT), 2: page(2, "Restoring databases", Corpus.CHAT)}
    assert order(talk, SearchSettings(), "restore databases") == [1, 2]
