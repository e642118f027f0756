"""People in rooms: the plain client-server API over HTTP, for tests that need a conversation to have happened.

Nothing here knows `matrix/`: what the program reads is written by another hand.
"""

import itertools
import secrets
from collections.abc import Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self
from urllib.parse import quote

import httpx

from sources.demo.homeserver import BRIDGE_BOT, Homeserver

Json = dict[str, Any]
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class RefusedError(Exception):
    """The homeserver said no; `status` and `errcode` are what it said."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.errcode = str(body.get("errcode", ""))


class Person:
    """Somebody with a token. Every call is one request and raises `RefusedError` unless it is answered with 200."""

    def __init__(self, http: httpx.AsyncClient, user: str, token: str, *, masquerade: bool = False) -> None:
        self._http = http
        self.user = user
        self.token = token
        self._masquerade = {"user_id": user} if masquerade else {}
        self._transactions = itertools.count()
        self._salt = secrets.token_hex(4)

    async def call(self, method: str, path: str, body: Any = None, **params: Any) -> Json:
        """`path` below /_matrix/client/v3, or absolute when it begins with /_."""
        where = path if path.startswith("/_") else f"/_matrix/client/v3{path}"
        answer = await self._http.request(
            method,
            where,
            params={**params, **self._masquerade},
            json=body if body is not None else ({} if method in ("POST", "PUT") else None),
            headers={"Authorization": f"Bearer {self.token}"},
        )
        found: Json = answer.json()
        if answer.status_code != httpx.codes.OK:
            raise RefusedError(answer.status_code, found)
        return found

    # Rooms

    async def create_room(
        self,
        name: str | None = None,
        *,
        version: str | None = None,
        preset: str = "public_chat",
        alias: str | None = None,
        initial_state: Sequence[Json] = (),
        power: Mapping[str, Any] | None = None,
        invite: Sequence["Person"] = (),
        is_direct: bool = False,
        room_type: str | None = None,
        visibility: str | None = None,
        history: str | None = None,
        creation_content: Mapping[str, Any] | None = None,
    ) -> str:
        """Returns the room id. `alias` is a localpart, `power` overrides parts of the power levels' content."""
        creation = dict(creation_content or {})
        if room_type:
            creation["type"] = room_type
        state = list(initial_state)
        if history:
            state.append(
                {"type": "m.room.history_visibility", "state_key": "", "content": {"history_visibility": history}}
            )
        body: Json = {"preset": preset, "initial_state": state, "creation_content": creation, "is_direct": is_direct}
        optional = {
            "name": name,
            "room_version": version,
            "room_alias_name": alias,
            "visibility": visibility,
            "power_level_content_override": dict(power) if power else None,
            "invite": [person.user for person in invite] or None,
        }
        body |= {key: value for key, value in optional.items() if value is not None}
        return str((await self.call("POST", "/createRoom", body))["room_id"])

    async def join(self, room: str) -> None:
        await self.call("POST", f"/join/{_q(room)}")

    async def leave(self, room: str) -> None:
        await self.call("POST", f"/rooms/{_q(room)}/leave")

    async def forget(self, room: str) -> None:
        await self.call("POST", f"/rooms/{_q(room)}/forget")

    async def invite(self, room: str, who: "Person") -> None:
        await self.call("POST", f"/rooms/{_q(room)}/invite", {"user_id": who.user})

    async def kick(self, room: str, who: "Person") -> None:
        await self.call("POST", f"/rooms/{_q(room)}/kick", {"user_id": who.user})

    async def ban(self, room: str, who: "Person") -> None:
        await self.call("POST", f"/rooms/{_q(room)}/ban", {"user_id": who.user})

    async def unban(self, room: str, who: "Person") -> None:
        await self.call("POST", f"/rooms/{_q(room)}/unban", {"user_id": who.user})

    async def upgrade(self, room: str, version: str) -> str:
        """Returns the id of the room that replaces it."""
        return str(
            (await self.call("POST", f"/rooms/{_q(room)}/upgrade", {"new_version": version}))["replacement_room"]
        )

    async def add_alias(self, room: str, alias: str) -> None:
        await self.call("PUT", f"/directory/room/{_q(alias)}", {"room_id": room})

    async def remove_alias(self, alias: str) -> None:
        await self.call("DELETE", f"/directory/room/{_q(alias)}")

    async def set_state(self, room: str, kind: str, content: Json, key: str = "", *, ts: int | None = None) -> str:
        path = f"/rooms/{_q(room)}/state/{_q(kind)}/{_q(key)}"
        return str((await self.call("PUT", path, content, **_at(ts)))["event_id"])

    async def state(self, room: str) -> list[Json]:
        found: Any = await self.call("GET", f"/rooms/{_q(room)}/state")
        return list(found)

    # Events. `ts` (milliseconds) works for the application service's users only.

    async def send(self, room: str, content: Any, kind: str = "m.room.message", *, ts: int | None = None) -> str:
        """Any event with any content, as it is. Returns the event id."""
        path = f"/rooms/{_q(room)}/send/{_q(kind)}/{self._salt}-{next(self._transactions)}"
        return str((await self.call("PUT", path, content, **_at(ts)))["event_id"])

    async def say(
        self, room: str, text: str, content: Mapping[str, Any] = NOTHING, /, *, ts: int | None = None, **more: Any
    ) -> str:
        """A text message; `more` goes into its content (`msgtype`, `formatted_body`, ...), as `content` does."""
        return await self.send(room, {"msgtype": "m.text", "body": text, **content, **more}, ts=ts)

    async def edit(self, room: str, target: str, text: str, *, ts: int | None = None, **more: Any) -> str:
        """Replace a message's text, as clients do; `more` goes into the new content."""
        content = {
            "msgtype": "m.text",
            "body": f"* {text}",
            "m.new_content": {"msgtype": "m.text", "body": text, **more},
            "m.relates_to": {"rel_type": "m.replace", "event_id": target},
        }
        return await self.send(room, content, ts=ts)

    async def reply(self, room: str, target: str, text: str, *, ts: int | None = None, **more: Any) -> str:
        return await self.say(room, text, {"m.relates_to": {"m.in_reply_to": {"event_id": target}}}, ts=ts, **more)

    async def thread(self, room: str, root: str, text: str, *, ts: int | None = None, **more: Any) -> str:
        """A message in a thread, with the dummy reply that clients add."""
        relation = {
            "rel_type": "m.thread",
            "event_id": root,
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": root},
        }
        return await self.say(room, text, {"m.relates_to": relation}, ts=ts, **more)

    async def react(self, room: str, target: str, key: str) -> str:
        relation = {"rel_type": "m.annotation", "event_id": target, "key": key}
        return await self.send(room, {"m.relates_to": relation}, "m.reaction")

    async def redact(self, room: str, target: str, reason: str | None = None) -> str:
        path = f"/rooms/{_q(room)}/redact/{_q(target)}/{self._salt}-{next(self._transactions)}"
        return str((await self.call("PUT", path, {"reason": reason} if reason else {}))["event_id"])

    async def messages(self, room: str, *, dir: str = "f", limit: int = 1000) -> list[Json]:
        """All events that this person can see, oldest first by default: the homeserver's own account."""
        found: list[Json] = []
        params: Json = {"dir": dir, "limit": limit}
        while True:
            page = await self.call("GET", f"/rooms/{_q(room)}/messages", **params)
            found += page["chunk"]
            if "end" not in page:
                return found
            params["from"] = page["end"]

    async def event(self, room: str, event: str) -> Json:
        return await self.call("GET", f"/rooms/{_q(room)}/event/{_q(event)}")

    async def joined_rooms(self) -> list[str]:
        return list((await self.call("GET", "/joined_rooms"))["joined_rooms"])

    # Own account

    async def set_account_data(self, kind: str, content: Json) -> None:
        await self.call("PUT", f"/user/{_q(self.user)}/account_data/{_q(kind)}", content)

    async def tag(self, room: str, tag: str) -> None:
        await self.call("PUT", f"/user/{_q(self.user)}/rooms/{_q(room)}/tags/{_q(tag)}")

    async def ignore(self, *who: "Person") -> None:
        await self.set_account_data("m.ignored_user_list", {"ignored_users": {person.user: {} for person in who}})

    async def set_display_name(self, name: str) -> None:
        await self.call("PUT", f"/profile/{_q(self.user)}/displayname", {"displayname": name})

    async def sign_out(self) -> None:
        """Kills this person's token."""
        await self.call("POST", "/logout")

    # For administrators of the homeserver

    async def purge_history(self, room: str, *, up_to_event: str) -> None:
        """Erase what is older than the event, and wait until it is gone."""
        body = {"delete_local_events": True, "purge_up_to_event_id": up_to_event}
        started = await self.call("POST", f"/_synapse/admin/v1/purge_history/{_q(room)}", body)
        path = f"/_synapse/admin/v1/purge_history_status/{started['purge_id']}"
        status = "active"
        while status == "active":
            status = (await self.call("GET", path))["status"]
        assert status == "complete", status

    async def delete_room(self, room: str) -> None:
        """Remove the room and all in it from the homeserver, at once."""
        await self.call("DELETE", f"/_synapse/admin/v1/rooms/{_q(room)}", {"purge": True})

    async def deactivate(self, who: "Person", *, erase: bool) -> None:
        await self.call("POST", f"/_synapse/admin/v1/deactivate/{_q(who.user)}", {"erase": erase})

    async def lock(self, who: "Person", *, locked: bool = True) -> None:
        await self.call("PUT", f"/_synapse/admin/v2/users/{_q(who.user)}", {"locked": locked})


class People:
    """Makes people on one homeserver. Names are made unique, so that tests share a homeserver but nobody in it."""

    def __init__(self, homeserver: Homeserver) -> None:
        self.homeserver = homeserver
        self._http = httpx.AsyncClient(base_url=homeserver.url, timeout=60, trust_env=False, verify=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._http.aclose()

    def person(self, user: str, token: str) -> Person:
        return Person(self._http, user, token)

    async def register(self, name: str = "alice", *, is_admin: bool = False) -> Person:
        """A new account `@<name>-<six digits>:<server>`."""
        account = self.homeserver.register(f"{name}-{secrets.token_hex(3)}", is_admin=is_admin)
        return Person(self._http, account.user, account.token)

    async def sign_in_again(self, who: Person) -> Person:
        """The same account on another device, by grace of an administrator."""
        admin = await self.register("root", is_admin=True)
        token = (await admin.call("POST", f"/_synapse/admin/v1/users/{_q(who.user)}/login"))["access_token"]
        return Person(self._http, who.user, token)

    async def puppet(self, localpart: str) -> Person:
        """A user in the application service's namespaces (`telegram_...`, `_bridge_...`), who may send in the past.

        The name is taken as it is: a puppet of that name is the same one in every test.
        """
        user = f"@{localpart}:{self.homeserver.server_name}"
        puppet = Person(self._http, user, self.homeserver.appservice_token, masquerade=True)
        service = Person(self._http, user, self.homeserver.appservice_token)
        body = {"type": "m.login.application_service", "username": localpart, "inhibit_login": True}
        try:
            await service.call("POST", "/register", body)
        except RefusedError as refused:
            if refused.errcode != "M_USER_IN_USE":
                raise
        return puppet

    def bridge_bot(self) -> Person:
        user = f"@{BRIDGE_BOT}:{self.homeserver.server_name}"
        return Person(self._http, user, self.homeserver.appservice_token, masquerade=True)


def _q(part: str) -> str:
    return quote(part, safe="")


def _at(ts: int | None) -> Json:
    return {} if ts is None else {"ts": ts}
