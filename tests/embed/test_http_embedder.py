"""The embedder on a server, against a real one on loopback that misbehaves as reported (retrieval-pitfalls.md, 3E)."""

import logging
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from index.embed import Embedded, EmbedSettings, Refusal, Role, open_embedder
from index.embed.base import Api, Kind
from index.embed.http import HttpEmbedder
from index.embed.transport import Transport
from index.embed.vectors import cosine
from index.embed.wire import endpoint
from index.errors import CredentialError, EmbedderError
from tests.embed.server import FakeEmbeddingServer, Fault

DIMENSION = 8


@pytest.fixture
async def server() -> AsyncIterator[FakeEmbeddingServer]:
    async with FakeEmbeddingServer(DIMENSION) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False) as made:
        yield made


def settings_for(server: FakeEmbeddingServer, api: Api = Api.OPENAI) -> EmbedSettings:
    return EmbedSettings(
        kind=Kind.HTTP,
        model="plain",
        url=server.url,
        api=api,
        dimension=DIMENSION,
        query_prefix="q: ",
        document_prefix="d: ",
        query_budget_s=0.4,
        document_timeout_s=0.4,
        batch_texts=8,
    )


async def no_sleep(seconds: float) -> None:
    assert seconds <= 30


def embedder_for(
    server: FakeEmbeddingServer, client: httpx.AsyncClient, settings: EmbedSettings | None = None
) -> HttpEmbedder:
    settings = settings or settings_for(server)
    made = open_embedder(settings, client=client)
    assert isinstance(made, HttpEmbedder)
    transport = Transport(client, endpoint(settings.url, settings.api), settings, sleep=no_sleep)
    return HttpEmbedder(settings, made.identity, client, transport=transport)


def refusals(results: list[Embedded]) -> list[int]:
    return [at for at, result in enumerate(results) if isinstance(result, Refusal)]


TEXTS = [f"text number {number} " + "about backups " * (number % 7) for number in range(21)]


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("fault", [Fault.NONE, Fault.SHUFFLED, Fault.BASE64, Fault.DRIFTING])
async def test_each_text_gets_its_own_vector(
    server: FakeEmbeddingServer, client: httpx.AsyncClient, api: Api, fault: Fault
) -> None:
    expected = await embedder_for(server, client, settings_for(server, api)).embed(TEXTS, Role.DOCUMENT)
    server.always = fault
    found = await embedder_for(server, client, settings_for(server, api)).embed(TEXTS, Role.DOCUMENT)
    assert refusals(expected) == refusals(found) == []
    assert all(cosine(one, other) > 0.9999 for one, other in zip(expected, found, strict=True))  # type: ignore[arg-type]  # no refusals


async def test_a_server_whose_batches_differ_is_sent_one_text_at_a_time(
    server: FakeEmbeddingServer, client: httpx.AsyncClient
) -> None:
    server.always = Fault.DRIFTING
    embedder = embedder_for(server, client)
    await embedder.embed(TEXTS, Role.DOCUMENT)
    assert all(len(request["input"]) == 1 for request in server.requests[-len(TEXTS) :])  # type: ignore[arg-type]  # a list
    assert embedder.notes == ("the embedding server gives other vectors in batches, so texts are sent one by one",)


@pytest.mark.parametrize("status", [400, 413, 422, 500])
@pytest.mark.parametrize("api", Api)
async def test_only_the_text_that_the_server_will_not_have_is_refused(
    server: FakeEmbeddingServer, client: httpx.AsyncClient, api: Api, status: int
) -> None:
    server.poison, server.poison_status = "xyzzy", status
    texts = [*TEXTS[:5], "a text with xyzzy in it", *TEXTS[5:]]
    results = await embedder_for(server, client, settings_for(server, api)).embed(texts, Role.DOCUMENT)
    assert refusals(results) == [5]
    assert isinstance(results[5], Refusal)
    assert str(status) in results[5].reason
    assert "xyzzy" not in results[5].reason


@pytest.mark.parametrize("fault", [Fault.NAN, Fault.NULL, Fault.ZERO])
async def test_a_vector_that_is_none_is_a_refusal(
    server: FakeEmbeddingServer, client: httpx.AsyncClient, fault: Fault
) -> None:
    server.always = fault
    results = await embedder_for(server, client).embed(["one"], Role.QUERY)
    assert refusals(results) == [0]


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.INNER, Fault.QUEUE_FULL, Fault.CUT])
async def test_a_fault_that_passes_is_tried_again(
    server: FakeEmbeddingServer, client: httpx.AsyncClient, fault: Fault, role: Role
) -> None:
    settings = replace(settings_for(server), query_budget_s=5.0)  # the back-off must fit into it
    server.plan = [fault]
    assert refusals(await embedder_for(server, client, settings).embed(["one", "two"], role)) == []


LASTING = {
    Fault.SLOW: "no answer within",
    Fault.BUSY_LONG: "HTTP 429",
    Fault.INNER: "HTTP 500",
    Fault.UNAUTHORISED: "api_key",
    Fault.MISSING: "HTTP 404",
    Fault.REDIRECT: "HTTP 307",
    Fault.CUT: "broke off",
    Fault.WRONG_DIMENSION: "9 values, dimension says 8",
    Fault.TWICE: "twice",
    Fault.FEW: "vectors for",
    Fault.HTML: "HTML",
    Fault.EMPTY: "no JSON",
    Fault.HUGE: "more than",
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("fault", LASTING)
async def test_a_server_of_no_use_is_one_clear_error(
    server: FakeEmbeddingServer, client: httpx.AsyncClient, fault: Fault, role: Role
) -> None:
    server.always = fault
    with pytest.raises(EmbedderError) as caught:
        await embedder_for(server, client).embed(["some secret words", "more"], role)
    message = str(caught.value)
    assert LASTING[fault] in message
    assert "\n" not in message
    assert "secret" not in message


async def test_nothing_listens_there(server: FakeEmbeddingServer, client: httpx.AsyncClient) -> None:
    settings = replace(settings_for(server), url="http://127.0.0.1:9")
    with pytest.raises(EmbedderError, match="cannot connect"):
        await embedder_for(server, client, settings).embed(["one"], Role.QUERY)


async def test_a_server_that_failed_three_times_is_not_asked_for_a_while(
    server: FakeEmbeddingServer, client: httpx.AsyncClient
) -> None:
    embedder = embedder_for(server, client)
    server.always = Fault.MISSING
    for _ in range(3):
        with pytest.raises(EmbedderError):
            await embedder.embed(["one"], Role.QUERY)
    asked = len(server.requests)
    with pytest.raises(EmbedderError, match="not asked again"):
        await embedder.embed(["one"], Role.QUERY)
    assert len(server.requests) == asked


async def test_an_unknown_model_is_an_error_and_not_a_refusal_of_every_text(
    server: FakeEmbeddingServer, client: httpx.AsyncClient
) -> None:
    server.poison = ""
    with pytest.raises(EmbedderError, match="is model the name"):
        await embedder_for(server, client).embed(TEXTS, Role.DOCUMENT)
    assert len(server.requests) == 1


async def test_the_prefix_of_the_role_is_sent(server: FakeEmbeddingServer, client: httpx.AsyncClient) -> None:
    embedder = embedder_for(server, client)
    await embedder.embed(["retention"], Role.QUERY)
    await embedder.embed(["retention"], Role.DOCUMENT)
    assert server.texts[0] == "q: retention"
    assert server.texts[-1] == "d: retention"


async def test_floats_are_asked_for_and_truncation_forbidden(
    server: FakeEmbeddingServer, client: httpx.AsyncClient
) -> None:
    await embedder_for(server, client).embed(["one"], Role.QUERY)
    await embedder_for(server, client, settings_for(server, Api.OLLAMA)).embed(["one"], Role.QUERY)
    assert server.requests[0]["encoding_format"] == "float"
    assert server.requests[1]["truncate"] is False
    assert "POST /v1/embeddings " in server.headers[0]
    assert "POST /api/embed " in server.headers[1]


async def test_empty_texts_are_refused_here_and_never_sent(
    server: FakeEmbeddingServer, client: httpx.AsyncClient
) -> None:
    results = await embedder_for(server, client).embed(["", "one", " \n"], Role.QUERY)
    assert refusals(results) == [0, 2]
    assert server.texts == ["q: one"]


async def test_a_lone_surrogate_is_sent_as_a_question_mark(
    server: FakeEmbeddingServer, client: httpx.AsyncClient
) -> None:
    assert refusals(await embedder_for(server, client).embed(["a \ud800 b"], Role.QUERY)) == []
    assert server.texts == ["q: a ? b"]


async def test_batches_keep_to_their_bounds(server: FakeEmbeddingServer, client: httpx.AsyncClient) -> None:
    settings = replace(settings_for(server), batch_bytes=200)
    await embedder_for(server, client, settings).embed(TEXTS, Role.DOCUMENT)
    for request in server.requests[3:]:
        sent = request["input"]
        assert isinstance(sent, list)
        assert len(sent) <= 8
        assert len(sent) == 1 or sum(map(len, sent)) <= 200


async def test_silent_truncation_is_noticed_and_noted(server: FakeEmbeddingServer, client: httpx.AsyncClient) -> None:
    server.max_tokens = 200
    embedder = embedder_for(server, client)
    for size in (2_000, 3_000, 5_000):
        await embedder.embed(["w" * size], Role.QUERY)
    assert any("cut long texts" in note for note in embedder.notes)


async def test_the_key_goes_into_the_header_and_nowhere_else(
    server: FakeEmbeddingServer, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    key = "".join(["k", "e", "y"] * 9)
    settings = replace(settings_for(server), api_key=lambda: key)
    server.plan = [Fault.NONE, Fault.UNAUTHORISED]
    embedder = embedder_for(server, client, settings)
    with caplog.at_level(logging.INFO):
        await embedder.embed(["one"], Role.QUERY)
        with pytest.raises(EmbedderError) as caught:
            await embedder.embed(["one"], Role.QUERY)
    assert f"authorization: bearer {key}" in server.headers[0].lower()
    assert key not in str(caught.value) + caplog.text + repr(settings)


async def test_a_key_that_cannot_be_read_costs_the_vectors_and_not_the_search(
    server: FakeEmbeddingServer, client: httpx.AsyncClient
) -> None:
    def missing() -> str:
        raise CredentialError("embed-key: no such credential (put it into the credential directory)")

    with pytest.raises(EmbedderError, match="no such credential"):
        await embedder_for(server, client, replace(settings_for(server), api_key=missing)).embed(["one"], Role.QUERY)
    assert server.requests == []


async def test_a_query_ends_within_its_budget_whatever_the_server_does_in_between(
    server: FakeEmbeddingServer, client: httpx.AsyncClient
) -> None:
    server.plan = [Fault.INNER, Fault.INNER, Fault.SLOW]  # two attempts, then the question whether it is alive
    settings = replace(settings_for(server), query_budget_s=0.8)
    with pytest.raises(EmbedderError, match=r"no answer within 0\.8 s"):
        await embedder_for(server, client, settings).embed(["one", "two"], Role.QUERY)
