"""People of the demo: each one request of the plain client-server API, as a client would send it."""

import itertools
import secrets
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import httpx

from index.errors import MatrixError
from sources.demo.homeserver import Account

Json = dict[str, Any]

_API: Final = "/_matrix/client/v3"
_FILTER: Final = '{"presence":{"types":[]},"room":{"timeline":{"limit":100}}}'


class Person:
    """Somebody who is signed in. Raises MatrixError for whatever the homeserver does not grant."""

    def __init__(self, http: httpx.Client, account: Account, service_token: str) -> None:
        """`http` has the homeserver as base URL; the application service's token speaks for this person in the past."""
        self._http = http
        self._token = account.token
        self._service_token = service_token
        self._transactions = (f"{secrets.token_hex(4)}-{number}" for number in itertools.count())
        self._since: str | None = None
        self.user = account.user

    def call(
        self, method: str, path: str, body: Json | None = None, *, at_ms: int | None = None, **params: Any
    ) -> Json:
        if at_ms is not None:
            params |= {"user_id": self.user, "ts": at_ms}
        token = self._token if at_ms is None else self._service_token
        try:
            answer = self._http.request(
                method, _API + path, json=body, params=_given(params), headers={"Authorization": f"Bearer {token}"}
            )
        except httpx.HTTPError as error:
            raise MatrixError(f"demo: the throw-away homeserver does not answer: {error} (try again)") from error
        if answer.status_code != httpx.codes.OK:
            raise MatrixError(f"demo: {method} {path.partition('?')[0]}: {answer.text[:200]} (try again)")
        found: Json = answer.json()
        return found

    def create_room(self, body: Json) -> str:
        return str(self.call("POST", "/createRoom", body)["room_id"])

    def join(self, room: str) -> None:
        self.call("POST", f"/join/{_q(room)}", {})

    def set_display_name(self, name: str) -> None:
        self.call("PUT", f"/profile/{_q(self.user)}/displayname", {"displayname": name})

    def say(self, room: str, text: str, *, at_ms: int | None = None) -> str:
        """Returns the event id, as all that send do."""
        return self.send(room, "m.room.message", {"msgtype": "m.text", "body": text}, at_ms=at_ms)

    def edit(self, room: str, event: str, text: str, *, at_ms: int | None = None) -> str:
        content = {
            "msgtype": "m.text",
            "body": f"* {text}",
            "m.new_content": {"msgtype": "m.text", "body": text},
            "m.relates_to": {"rel_type": "m.replace", "event_id": event},
        }
        return self.send(room, "m.room.message", content, at_ms=at_ms)

    def send(self, room: str, kind: str, content: Json, *, at_ms: int | None = None) -> str:
        path = f"/rooms/{_q(room)}/send/{_q(kind)}/{next(self._transactions)}"
        return str(self.call("PUT", path, content, at_ms=at_ms)["event_id"])

    def redact(self, room: str, event: str) -> str:
        path = f"/rooms/{_q(room)}/redact/{_q(event)}/{next(self._transactions)}"
        return str(self.call("PUT", path, {})["event_id"])

    def is_gone(self, room: str, event: str) -> bool:
        """Whether the homeserver has its text no more."""
        return not self.call("GET", f"/rooms/{_q(room)}/event/{_q(event)}")["content"]

    def news(self, *, timeout_ms: int = 0) -> Sequence[Json]:
        """What was said in this person's rooms since the last call, waited for."""
        since = self._since  # None is left out of the request
        found = self.call("GET", "/sync", filter=_FILTER, timeout=timeout_ms, since=since)
        self._since = str(found["next_batch"])
        joined: dict[str, Json] = found.get("rooms", {}).get("join", {})
        return [event for room in joined.values() for event in room["timeline"]["events"]]


def _given(params: Json) -> Json:
    return {name: value for name, value in params.items() if value is not None}


def _q(part: str) -> str:
    return quote(part, safe="")
