"""The faulty proxy itself: what it lets through it does not change, what it spoils it spoils as told."""

import httpx
import pytest

from tests.matrix.people import People
from tests.matrix.proxy import Proxy, Rule, cut_json, dropped, failing, reset_in_body, rewrite


async def test_a_request_without_a_rule_passes_and_is_recorded(proxy: Proxy, people: People) -> None:
    alice = await people.register("alice")
    room = await alice.create_room("Straight")
    async with httpx.AsyncClient(base_url=proxy.url, headers={"Authorization": f"Bearer {alice.token}"}) as http:
        answer = await http.get(f"/_matrix/client/v3/rooms/{room}/messages", params={"dir": "b", "limit": 1})
    assert answer.json()["chunk"][0]["room_id"] == room
    assert [(sent.method, sent.query) for sent in proxy.requests] == [("GET", {"dir": "b", "limit": "1"})]


async def test_rules_spoil_the_answers_they_are_meant_for(proxy: Proxy) -> None:
    proxy.add(
        Rule(failing(500), path="/versions", times=1),
        Rule(rewrite(lambda told: {**told, "told": True}), path="/versions", times=1),
        Rule(cut_json(), path="/versions", times=1),
        Rule(reset_in_body(), path="/versions", times=1),
        Rule(dropped(), path="/versions", every=2),
    )
    async with httpx.AsyncClient(base_url=proxy.url) as http:
        path = "/_matrix/client/versions"
        assert (await http.get(path)).status_code == 500
        assert (await http.get(path)).json()["told"] is True
        with pytest.raises(ValueError, match="line 1"):
            (await http.get(path)).json()
        with pytest.raises(httpx.RemoteProtocolError):
            await http.get(path)
        assert (await http.get(path)).status_code == 200
        with pytest.raises(httpx.TransportError):
            await http.get(path)
