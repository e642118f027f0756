"""An answer arrives whole, or is said not to be; a service that fails is asked again, but never in mid-answer."""

import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.ask import Prompt
from index.errors import CredentialError, ModelError
from sources.asking.client import ChatModel, End, ModelSettings
from sources.asking.wire import AnswerError, Limits, Reading, endpoint
from tests.ask.model_server import FakeModelServer, Fault

SAID = "Keys are rotated once a year [1], by two people [2]."


async def no_sleep(_seconds: float) -> None:
    return None


async def asked(server: FakeModelServer, **settings: float) -> tuple[str, End]:
    async with httpx.AsyncClient() as client:
        model = ChatModel(
            client,
            ModelSettings(url=server.url, model="m", **settings),  # type: ignore[arg-type]  # only floats are given
            limits=Limits(max_bytes=500_000, max_chars=20_000),
            sleep=no_sleep,
        )
        pieces = [piece async for piece in model.answer(Prompt("rules", "question"))]
    assert isinstance(pieces[-1], End)
    return "".join(piece for piece in pieces if isinstance(piece, str)), pieces[-1]


@pytest.mark.parametrize("form", [Fault.NONE, Fault.NO_STREAM, Fault.NO_DONE, Fault.CRLF])
async def test_an_answer_is_read_in_every_form_that_servers_give_it(server: FakeModelServer, form: Fault) -> None:
    server.answer = lambda prompt: SAID
    server.always = form
    assert await asked(server) == (SAID, End())
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.INNER, Fault.CUT_EARLY])
async def test_what_may_pass_is_asked_again(server: FakeModelServer, fault: Fault) -> None:
    server.answer = lambda prompt: SAID
    server.plan = [fault, fault]
    assert await asked(server) == (SAID, End())
    assert len(server.requests) == 3
    server.plan = [fault] * 3
    with pytest.raises(ModelError, match="--sources-only"):
        await asked(server)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault.BUSY_LONG, "HTTP 429"),
        (Fault.MISSING, "does it have the model"),
        (Fault.REDIRECT, "is this its address"),
        (Fault.TOO_LONG, "ask.max_context"),
        (Fault.HTML, "is HTML"),
        (Fault.EMPTY, "is empty"),
        (Fault.EMPTY_STREAM, "is empty"),
        (Fault.WRONG_JSON, "another form"),
        (Fault.NO_JSON, "no JSON"),
        (Fault.ERROR_EVENT, "reports an error"),
    ],
)
async def test_what_will_not_pass_is_said_at_once(server: FakeModelServer, fault: Fault, said: str) -> None:
    server.always = fault
    with pytest.raises(ModelError, match=said):
        await asked(server)
    assert len(server.requests) == 1


async def test_a_service_that_is_not_there_is_said_so(server: FakeModelServer) -> None:
    async with httpx.AsyncClient() as client:
        model = ChatModel(client, ModelSettings(url=server.url, model="m"), sleep=no_sleep)
        await server.__aexit__()
        with pytest.raises(ModelError, match="cannot connect"):
            _ = [piece async for piece in model.answer(Prompt("rules", "question"))]


async def test_a_key_that_is_refused_is_a_credential_error(server: FakeModelServer) -> None:
    server.always = Fault.UNAUTHORISED
    with pytest.raises(CredentialError, match=r"ask\.api_key_credential"):
        await asked(server)


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.CUT_QUIETLY])
async def test_an_answer_that_breaks_off_is_given_as_far_as_it_came_and_not_asked_for_again(
    server: FakeModelServer, fault: Fault
) -> None:
    server.answer = lambda prompt: SAID
    server.always = fault
    text, end = await asked(server)
    assert SAID.startswith(text)
    assert text
    assert end.fault == "the answer broke off"
    assert len(server.requests) == 1


async def test_silence_ends_an_answer_and_so_does_the_time_for_all_of_it(server: FakeModelServer) -> None:
    server.answer = lambda prompt: SAID
    server.always = Fault.SILENT
    text, end = await asked(server, silence_timeout_s=0.2)
    assert text
    assert end.fault == "said nothing for 0.2 s"
    text, end = await asked(server, timeout_s=0.2)
    assert end.fault == "did not finish within 0.2 s"
    server.always = Fault.SLOW
    with pytest.raises(ModelError, match=r"did not finish within 0\.2 s"):
        await asked(server, timeout_s=0.2)


async def test_an_answer_without_end_is_cut_and_said_to_be(server: FakeModelServer) -> None:
    server.always = Fault.HUGE
    text, end = await asked(server)
    assert len(text) == 20_000
    assert "cut" in end.note
    server.always = Fault.LENGTH
    assert "longest answer" in (await asked(server))[1].note


async def test_the_key_goes_into_the_header_alone(server: FakeModelServer) -> None:
    key = "-".join(("key", "of", "mine"))
    async with httpx.AsyncClient() as client:
        model = ChatModel(client, ModelSettings(url=f"{server.url}/v1/", model="m", api_key=lambda: key))
        assert [piece async for piece in model.answer(Prompt("rules", "\ud800?"))][-1] == End()
    assert f"authorization: bearer {key}" in server.heads[0].lower()
    assert server.heads[0].startswith("POST /v1/chat/completions ")
    assert key not in str(server.requests)
    assert "temperature" not in server.requests[0]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("https://h/openai/chat/completions", "https://h/openai/chat/completions"),
    ],
)
def test_the_route_is_added_once(url: str, address: str) -> None:
    assert endpoint(url) == address


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("<think>secret [9] plans</think>\n\nIt is so [1].", "It is so [1]."),
        ("\n<thinking>a</thinking>b", "b"),
        ("<thin ice", "<thin ice"),
        ("<th", "<th"),
        ("a <think> b", "a <think> b"),
        ("<think>without end", ""),
    ],
)
def test_what_a_model_thinks_aloud_is_no_answer(said: str, shown: str) -> None:
    for size in (1, 3, 1000):
        reading = Reading()
        pieces = [said[at : at + size] for at in range(0, len(said), size)]
        body = "".join(f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n" for piece in pieces)
        assert reading.feed(body.encode() + b"data: [DONE]\n\n") + reading.finish() == shown


@given(st.lists(st.binary(max_size=60)), st.booleans())
def test_no_bytes_make_a_reading_fail_otherwise_than_foreseen(chunks: list[bytes], is_stream: bool) -> None:
    reading = Reading(Limits(max_bytes=1_000))
    try:
        if is_stream:
            reading.feed(b"data: ")
        for chunk in chunks:
            reading.feed(chunk)
        reading.finish()
    except AnswerError:
        pass


@given(st.text(max_size=40), st.integers(1, 30))
def test_an_answer_cut_into_any_chunks_is_the_same(said: str, size: int) -> None:
    body = f": hello\r\n\r\ndata: {json.dumps({'choices': [{'delta': {'content': said}}]})}\r\n\r\ndata: [DONE]\r\n\r\n"
    whole, parts = Reading(), Reading()
    data = body.encode("utf-8", "replace")
    expected = whole.feed(data) + whole.finish()
    assert (
        "".join([*(parts.feed(data[at : at + size]) for at in range(0, len(data), size)), parts.finish()]) == expected
    )
    assert parts.is_whole
