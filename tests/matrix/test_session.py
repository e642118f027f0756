"""A session under faults: every one ends in an answer or in one clear error, after a bounded number of requests."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

import pytest

from index.errors import ConfigError, CredentialError, MatrixError
from matrix.budget import READER_BUDGET, Budget
from matrix.calls import Mode, client_path
from matrix.errors import BudgetSpentError, ForbiddenCallError, RefusedError, UnavailableError
from matrix.session import open_session
from tests.matrix.people import People
from tests.matrix.proxy import (
    Fault,
    Proxy,
    Reply,
    Rule,
    answer,
    answer_json,
    cut_json,
    dead_token,
    dropped,
    failing,
    hanging,
    html,
    limited,
    refuse,
    reset_in_body,
)
from tests.matrix.timing import FakeTime

PATH = client_path("joined_rooms")
TOKEN = "not-a-" + "token"
GOOD = Rule(answer_json({"joined_rooms": []}))
NEEDS = {"joined_rooms": list}


@pytest.fixture
async def server() -> AsyncIterator[Proxy]:
    async with Proxy(None) as alone:
        yield alone


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


async def ask(server: Proxy, time: FakeTime, budget: Budget = READER_BUDGET) -> object:
    async with open_session(server.url, TOKEN, Mode.READER, budget, time.timing()) as session:
        return await session.get(PATH, needs=NEEDS)


def good() -> Rule:
    return replace(GOOD)


FAULTS = {
    "500": failing(500),
    "503": failing(503),
    "502 page": html(502),
    "200 page": html(200),
    "null": answer_json(None),
    "list": answer_json([]),
    "other shape": answer_json({"joined_rooms": "none"}),
    "429": limited(),
    "cut body": answer(Reply(body=b'{"joined_', declared_length=30)),
    "cut json": answer(Reply(body=b'{"joined_')),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_fault_that_passes_is_outlived(server: Proxy, time: FakeTime, fault: Fault) -> None:
    server.add(Rule(fault, times=3), good())
    assert await ask(server, time) == {"joined_rooms": []}
    assert len(server.requests) == 4
    assert time.slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_fault_that_lasts_ends_in_one_error_after_a_bounded_number_of_requests(
    server: Proxy, time: FakeTime, fault: Fault
) -> None:
    server.add(Rule(fault))
    with pytest.raises(UnavailableError, match="no usable answer to 6 requests"):
        await ask(server, time)
    assert len(server.requests) == READER_BUDGET.max_attempts


async def test_a_dropped_connection_is_outlived_or_given_up_likewise(server: Proxy, time: FakeTime) -> None:
    """Below us aiohttp sends a dropped request once more at once, in case an idle connection had been closed."""
    server.add(Rule(dropped(), times=4), good())
    assert await ask(server, time) == {"joined_rooms": []}
    server.clear()
    server.add(Rule(dropped()))
    with pytest.raises(UnavailableError, match="ServerDisconnectedError"):
        await ask(server, time)
    assert len(server.requests) == 2 * READER_BUDGET.max_attempts


async def test_faults_on_the_way_from_a_real_homeserver_are_outlived(
    proxy: Proxy, people: People, time: FakeTime
) -> None:
    proxy.add(Rule(reset_in_body(), times=1), Rule(cut_json(), times=1), Rule(dropped(), times=1))
    alice = await people.register("alice")
    room = await alice.create_room("Reached")
    async with open_session(proxy.url, alice.token, Mode.READER, timing=time.timing()) as session:
        answer = await session.get(PATH, needs=NEEDS)
    assert answer == {"joined_rooms": [room]}
    assert len(proxy.requests) in (4, 5)


async def test_a_server_that_cannot_be_reached_is_given_up(time: FakeTime) -> None:
    async with Proxy(None) as gone:
        address = gone.url
    async with open_session(address, TOKEN, Mode.READER, timing=time.timing()) as session:
        with pytest.raises(UnavailableError, match=r"6 requests, the last: Connection refused \(is the homeserver"):
            await session.get(PATH)
    assert session.requests == READER_BUDGET.max_attempts


@pytest.mark.parametrize("errcode", ["M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED"])
async def test_a_dead_token_ends_the_session_after_one_request(server: Proxy, time: FakeTime, errcode: str) -> None:
    # NousResearch/hermes-agent#3280: error replies caused hundreds of requests a second.
    server.add(Rule(dead_token(errcode)))
    async with open_session(server.url, TOKEN, Mode.READER, timing=time.timing()) as session:
        for _ in range(100):
            with pytest.raises(CredentialError, match=errcode):
                await session.get(PATH)
    assert len(server.requests) == 1
    assert not time.slept


async def test_calls_that_wait_for_another_try_learn_of_the_dead_token_without_a_request(
    server: Proxy, time: FakeTime
) -> None:
    server.add(Rule(limited(retry_after="5"), times=5), Rule(dead_token()))
    async with open_session(server.url, TOKEN, Mode.READER, timing=time.timing()) as session:
        outcomes = await asyncio.gather(*(session.get(PATH) for _ in range(5)), return_exceptions=True)
        with pytest.raises(CredentialError):
            await session.get(PATH)
    assert all(isinstance(outcome, CredentialError) for outcome in outcomes)
    assert len(server.requests) <= 10


async def test_a_soft_logout_is_named_as_a_token_that_expires(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(dead_token(soft_logout=True)))
    with pytest.raises(CredentialError, match="its token expires"):
        await ask(server, time)


async def test_a_homeserver_is_given_the_time_it_asks_for(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(limited(retry_after="7", retry_after_ms=1000), times=1), good())
    await ask(server, time)
    assert time.slept == [7.0]


async def test_a_homeserver_that_asks_for_a_year_is_asked_again_after_the_cap(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(limited(retry_after="31536000"), times=1), good())
    await ask(server, time)
    assert time.slept == [READER_BUDGET.retry_after_cap_s]


async def test_one_call_that_is_limited_holds_the_others_back(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(limited(retry_after="9"), times=1), good())
    async with open_session(server.url, TOKEN, Mode.READER, timing=replace(time.timing(), sleep=never)) as session:
        with pytest.raises(WokenError):
            await session.get(PATH)
        with pytest.raises(WokenError):
            await session.get(PATH)
    assert len(server.requests) == 1


class WokenError(Exception):
    pass


async def never(seconds: float) -> None:
    raise WokenError


async def test_waiting_that_would_outlast_the_run_is_not_begun(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(limited(retry_after="50")))
    with pytest.raises(BudgetSpentError, match="100 s"):
        await ask(server, time, Budget(total_s=100, max_attempts=1_000))
    assert time.slept == [50.0]


async def test_an_answer_that_never_comes_costs_one_timeout_each(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(hanging()))
    with pytest.raises(UnavailableError, match=r"nothing within 0\.05 s"):
        await ask(server, time, Budget(max_attempts=2, request_timeout_s=0.05))
    assert len(server.requests) == 2


async def test_silence_over_https_may_be_a_port_that_speaks_plain_http(time: FakeTime) -> None:
    hung_up = asyncio.Event()

    async def listens(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # as Synapse does: the greeting never becomes a request
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        hung_up.set()

    async with await asyncio.start_server(listens, "127.0.0.1", 0) as deaf:
        url = f"https://127.0.0.1:{deaf.sockets[0].getsockname()[1]}"
        budget = Budget(max_attempts=1, request_timeout_s=0.2)
        async with open_session(url, TOKEN, Mode.READER, budget, time.timing()) as session:
            with pytest.raises(UnavailableError, match="is it https that its port speaks"):
                await session.get(PATH)
        await hung_up.wait()


async def test_a_long_poll_may_take_its_wait_and_no_longer(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(hanging()))
    budget = Budget(max_attempts=1, request_timeout_s=0.05)
    async with open_session(server.url, TOKEN, Mode.READER, budget, time.timing()) as session:
        with pytest.raises(UnavailableError, match=r"nothing within 0\.15 s"):
            await session.get(PATH, wait_s=0.1)


async def test_a_body_larger_than_allowed_is_given_up_at_once(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(answer_json({"joined_rooms": ["!" + "x" * 200_000]})))
    with pytest.raises(UnavailableError, match="more than 100000 bytes"):
        await ask(server, time, Budget(max_body_bytes=100_000))
    assert len(server.requests) == 1


async def test_a_definite_no_is_not_asked_again(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(answer(refuse(403, "M_FORBIDDEN"))))
    with pytest.raises(RefusedError, match=r"403 M_FORBIDDEN.* \(is this account in the room, .*\)$") as caught:
        await ask(server, time)
    assert (caught.value.status, caught.value.errcode, len(server.requests)) == (403, "M_FORBIDDEN", 1)


async def test_a_no_that_arrives_in_pieces_is_asked_for_again(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(answer(Reply(401, b'{"errcode": "M_UNK')), times=1), Rule(dead_token()))
    with pytest.raises(CredentialError):
        await ask(server, time)
    assert len(server.requests) == 2


async def test_an_address_that_is_no_homeserver_is_named_as_such(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(html(404)))
    with pytest.raises(RefusedError, match="check the homeserver's address"):
        await ask(server, time)


async def test_an_address_with_a_path_too_much_is_told_to_end_earlier(server: Proxy, time: FakeTime) -> None:
    server.add(Rule(answer(refuse(404, "M_UNRECOGNIZED"))))
    async with open_session(server.url + "/_matrix", TOKEN, Mode.READER, READER_BUDGET, time.timing()) as session:
        with pytest.raises(RefusedError, match=r"404 M_UNRECOGNIZED.* \(.*ends before /_matrix\)$"):
            await session.get(client_path("account", "whoami"))


async def test_a_homeserver_that_moved_is_named_and_its_successor_gets_no_token(server: Proxy, time: FakeTime) -> None:
    async with Proxy(None) as other:
        other.add(Rule(answer_json({"joined_rooms": []})))
        moved = Reply(302, b"", {"Location": f"{other.url}{PATH}"})
        server.add(Rule(answer(moved)))
        with pytest.raises(MatrixError, match="write that as the homeserver's address"):
            await ask(server, time)
        assert all("authorization" not in request.headers for request in other.requests)


@pytest.mark.parametrize("address", ["", "matrix.example.org", "ftp://example.org", "https://"])
async def test_an_address_without_scheme_or_host_is_a_fault_of_the_configuration(address: str) -> None:
    with pytest.raises(ConfigError, match=r"https://matrix\.example\.org"):
        async with open_session(address, TOKEN, Mode.READER):
            pass


@pytest.mark.parametrize("token", ["", "two\nlines", "with blank", "ž"])
async def test_a_token_that_cannot_be_one_is_refused_unsent(server: Proxy, token: str) -> None:
    with pytest.raises(CredentialError):
        async with open_session(server.url, token, Mode.READER):
            pass
    assert not server.requests


async def test_a_reading_session_sends_nothing_else(server: Proxy, time: FakeTime) -> None:
    async with open_session(server.url, TOKEN, Mode.READER, timing=time.timing()) as session:
        with pytest.raises(ForbiddenCallError):
            await session.put(client_path("rooms", "!a", "send", "m.room.message", "1"), {})
        with pytest.raises(ForbiddenCallError):
            await session.post(client_path("join", "!a"), {})
    assert not server.requests


async def test_a_closed_session_stays_closed(server: Proxy, time: FakeTime) -> None:
    async with open_session(server.url, TOKEN, Mode.READER, timing=time.timing()) as session:
        pass
    with pytest.raises(ForbiddenCallError):
        await session.get(PATH)
    assert not server.requests


async def test_neither_token_nor_answer_reaches_a_log(
    server: Proxy, time: FakeTime, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    server.add(Rule(failing(500), times=1), Rule(answer_json({"joined_rooms": ["!secretive"]})))
    await ask(server, time)
    written = caplog.text + "".join(capsys.readouterr())
    assert "asked_again" in written
    assert TOKEN not in written
    assert "secretive" not in written


async def test_nio_says_nothing_about_the_text_of_events(server: Proxy, time: FakeTime) -> None:
    server.add(good())
    await ask(server, time)
    assert logging.getLogger("nio.events.misc").disabled
    assert logging.getLogger("nio.client.async_client").getEffectiveLevel() >= logging.INFO
