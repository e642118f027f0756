"""Reading rooms: the few requests that ingest and bot make, checked and put into records.

Nothing here keeps a position or decides what may be read; it asks, and says what came.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal, Protocol
from urllib.parse import quote

from index.errors import ConfigError
from index.model import EventId, RoomId, UserId
from matrix.calls import client_path
from matrix.errors import RefusedError, UnavailableError
from matrix.records import Context, Page, RoomState, SyncBatch, batch_in, event_id, is_id, page_in
from matrix.session import Session
from matrix.shape import JsonObject, RawEvent, integer_at, object_at, objects_in, text_at

Direction = Literal["b", "f"]
"""Towards older ("b") or newer ("f") events. Always said: homeservers differ in what they take for granted."""

MISSING_RETRY_S: Final = 1.0
_NOT_FOUND: Final = 404

_NOTHING: Final[JsonObject] = {"not_types": ["*"]}


@dataclass(frozen=True, slots=True)
class Moment:
    """The event closest to a point in time."""

    event: EventId
    sent_ms: int


class History(Protocol):
    """What a walk through the history of a room asks: see `matrix.detour`, and `RoomReader` for errors."""

    async def messages(
        self,
        room: RoomId,
        *,
        from_: str | None,
        direction: Direction,
        limit: int,
        to: str | None = None,
        attempts: int | None = None,
    ) -> Page: ...

    async def context(self, room: RoomId, event: EventId, *, attempts: int | None = None) -> Context | None: ...

    async def event_at(
        self, room: RoomId, sent_ms: int, direction: Direction, *, attempts: int | None = None
    ) -> Moment | None: ...

    async def is_alive(self) -> bool: ...


class RoomReader(History, Protocol):
    """What ingest and bot may ask of a homeserver.

    Every call may raise CredentialError (dead token: end the run), RefusedError (a definite no), UnavailableError (no
    usable answer) or BudgetSpentError (no time left). Ids of any form are taken; those that cannot exist are answered
    without a request.
    """

    async def check_account(self, expected: UserId) -> None: ...

    async def joined_rooms(self) -> frozenset[RoomId]: ...

    async def state(self, room: RoomId) -> RoomState: ...

    async def state_content(self, room: RoomId, kind: str, key: str = "") -> JsonObject | None: ...

    async def joined_members(self, room: RoomId) -> dict[UserId, str | None]: ...

    async def upload_filter(self, definition: JsonObject) -> str: ...

    async def sync(
        self, since: str | None, *, filter_id: str, wait_ms: int = 0, attempts: int | None = None
    ) -> SyncBatch: ...

    async def sync_blind(self, since: str | None) -> SyncBatch: ...

    async def event(self, room: RoomId, event: EventId, *, is_patient: bool = True) -> RawEvent | None: ...

    async def account_data(self, kind: str) -> JsonObject: ...

    async def ignored_users(self) -> frozenset[UserId]: ...

    async def direct_rooms(self) -> frozenset[RoomId]: ...

    async def tags(self, room: RoomId) -> frozenset[str]: ...

    async def resolve(self, alias: str) -> RoomId | None: ...


def sync_filter(*, timeline_limit: int, lazy_members: bool = True, without: Collection[RoomId] = ()) -> JsonObject:
    """Timelines, state and the two pieces of account data that gates look at; no presence, receipts or typing.

    Of the rooms `without` no timeline is told, and so no change of their state either.
    With `lazy_members` the members that join inside a gap and then stay silent are not told: read `/state` of a room
    whose timeline was limited.
    """
    timeline: JsonObject = {"limit": timeline_limit, "lazy_load_members": lazy_members}
    if without:
        timeline["not_rooms"] = [*sorted(without)]
    return {
        "presence": _NOTHING,
        "account_data": {"types": ["m.direct", "m.ignored_user_list"]},
        "room": {
            "timeline": timeline,
            "state": {"lazy_load_members": lazy_members},
            "ephemeral": _NOTHING,
            "account_data": {"types": ["m.tag"]},
        },
    }


class HomeserverReader:
    """The one `RoomReader`, over HTTP, as `me`."""

    def __init__(self, session: Session, me: UserId) -> None:
        self._session = session
        self._me = me

    async def check_account(self, expected: UserId) -> None:
        """Raises ConfigError when the token is somebody else's, CredentialError when it is dead."""
        answer = await self._session.get(client_path("account", "whoami"), needs={"user_id": str})
        if answer["user_id"] != expected:
            raise ConfigError(
                f"{self._session.host}: the token belongs to {answer['user_id']}, the configuration names {expected}"
                " (store that account's token, or name the other account)"
            )

    async def is_alive(self) -> bool:
        """Whether the homeserver answers this account at all: one request, no patience."""
        try:
            await self._session.get(client_path("account", "whoami"), needs={"user_id": str}, attempts=1)
        except UnavailableError:
            return False
        return True

    async def joined_rooms(self) -> frozenset[RoomId]:
        """The truth about membership; a sync may be cached or silent about a room that was deleted."""
        answer = await self._session.get(client_path("joined_rooms"), needs={"joined_rooms": list})
        rooms = answer["joined_rooms"]
        return (
            frozenset(RoomId(room) for room in rooms if isinstance(room, str))
            if isinstance(rooms, list)
            else frozenset()
        )

    async def state(self, room: RoomId) -> RoomState:
        """RefusedError with status 403 when we are not in the room any more (a left room may answer its last state)."""
        events, odd = objects_in(await self._session.get_list(client_path("rooms", room, "state")))
        return RoomState(events, odd)

    async def state_content(self, room: RoomId, kind: str, key: str = "") -> JsonObject | None:
        """The content of one state event as it holds now; None when there is none. RefusedError when it is not ours."""
        try:
            return await self._session.get(f"{client_path('rooms', room, 'state', kind)}/{quote(key, safe='')}")
        except RefusedError as refused:
            _raise_unless_missing(refused)
            return None

    async def joined_members(self, room: RoomId) -> dict[UserId, str | None]:
        """With their display names in this room, where they have one."""
        answer = await self._session.get(client_path("rooms", room, "joined_members"), needs={"joined": dict})
        joined = object_at(answer, "joined")
        return {UserId(user): text_at(object_at(joined, user), "display_name") for user in joined}

    async def upload_filter(self, definition: JsonObject) -> str:
        """Returns the id to sync with. Uploading the same again gives the same id."""
        answer = await self._session.post(client_path("user", self._me, "filter"), definition, needs={"filter_id": str})
        return str(answer["filter_id"])

    async def sync(
        self, since: str | None, *, filter_id: str, wait_ms: int = 0, attempts: int | None = None
    ) -> SyncBatch:
        """What changed since a token. Without one an answer may be up to two minutes old: trust only its token.

        A refused token is a RefusedError with status 400.
        """
        return await self._sync(since, filter_id, wait_ms, is_blind=False, attempts=attempts)

    async def sync_blind(self, since: str | None) -> SyncBatch:
        """A token without timelines: the first one, or when `sync` cannot be answered because of one bad event."""
        narrow: JsonObject = {
            "presence": _NOTHING,
            "account_data": _NOTHING,
            "room": dict.fromkeys(("timeline", "state", "ephemeral", "account_data"), _NOTHING),
        }
        return await self._sync(since, json.dumps(narrow), 0, is_blind=True, attempts=None)

    async def _sync(
        self, since: str | None, chosen: str, wait_ms: int, *, is_blind: bool, attempts: int | None
    ) -> SyncBatch:
        params: dict[str, str | int] = {"filter": chosen, "timeout": wait_ms, "set_presence": "offline"}
        if since is not None:
            params["since"] = since
        answer = await self._session.get(
            client_path("sync"), params, needs={"next_batch": str}, wait_s=wait_ms / 1000, attempts=attempts
        )
        return batch_in(answer, since=since, is_blind=is_blind)

    async def messages(
        self,
        room: RoomId,
        *,
        from_: str | None,
        direction: Direction,
        limit: int,
        to: str | None = None,
        attempts: int | None = None,
    ) -> Page:
        """One page. `from_` None starts at the newest event ("b") or the oldest ("f") that we may see.

        Go on while the page has an `end`, even when it is empty. A token that is lost or of another room is a
        RefusedError with status 400.
        """
        params: dict[str, str | int] = {"dir": direction, "limit": limit}
        if from_ is not None:
            params["from"] = from_
        if to is not None:
            params["to"] = to
        path = client_path("rooms", room, "messages")
        answer = await self._session.get(path, params, needs={"chunk": list}, attempts=attempts)
        return page_in(answer, came_from=from_)

    async def context(self, room: RoomId, event: EventId, *, attempts: int | None = None) -> Context | None:
        """Tokens around an event, for a position that was lost. None when the event is not to be had."""
        if not is_id(event, "$"):
            return None
        try:
            answer = await self._session.get(
                client_path("rooms", room, "context", event), {"limit": 0}, attempts=attempts
            )
        except RefusedError as refused:
            _raise_unless_missing(refused)
            return None
        return Context(object_at(answer, "event") or None, text_at(answer, "start"), text_at(answer, "end"))

    async def event(self, room: RoomId, event: EventId, *, is_patient: bool = True) -> RawEvent | None:
        """None when the homeserver does not have it or does not show it.

        Right after a sync it may not find what it just told of: a patient caller asks once more.
        """
        if not is_id(event, "$"):
            return None
        for is_last in (False, True) if is_patient else (True,):
            try:
                return await self._session.get(client_path("rooms", room, "event", event))
            except RefusedError as refused:
                _raise_unless_missing(refused)
            if not is_last:
                await self._session.timing.sleep(MISSING_RETRY_S)
        return None

    async def event_at(
        self, room: RoomId, sent_ms: int, direction: Direction, *, attempts: int | None = None
    ) -> Moment | None:
        """The first event at or after ("f"), or the last at or before ("b"), a time. None when there is none."""
        path = client_path("rooms", room, "timestamp_to_event", version="v1")
        try:
            answer = await self._session.get(path, {"ts": max(0, sent_ms), "dir": direction}, attempts=attempts)
        except RefusedError as refused:
            _raise_unless_missing(refused)
            return None
        found, found_ms = event_id(answer), integer_at(answer, "origin_server_ts")
        return Moment(found, found_ms) if found is not None and found_ms is not None else None

    async def account_data(self, kind: str) -> JsonObject:
        """Empty when it was never set."""
        try:
            return await self._session.get(client_path("user", self._me, "account_data", kind))
        except RefusedError as refused:
            _raise_unless_missing(refused)
            return {}

    async def ignored_users(self) -> frozenset[UserId]:
        """Whose messages the homeserver keeps from us without a word. Should be nobody."""
        return frozenset(
            UserId(user) for user in object_at(await self.account_data("m.ignored_user_list"), "ignored_users")
        )

    async def direct_rooms(self) -> frozenset[RoomId]:
        """Rooms that this account has marked as direct chats."""
        lists = (await self.account_data("m.direct")).values()
        return frozenset(
            RoomId(room) for rooms in lists if isinstance(rooms, list) for room in rooms if isinstance(room, str)
        )

    async def tags(self, room: RoomId) -> frozenset[str]:
        path = client_path("user", self._me, "rooms", room, "tags")
        return frozenset(object_at(await self._session.get(path), "tags"))

    async def resolve(self, alias: str) -> RoomId | None:
        """The room that an alias points to now; None when to none.

        UnavailableError when the alias is another homeserver's and that one cannot be asked: what was known of it
        stays true.
        """
        if not is_id(alias, "#"):
            return None
        try:
            answer = await self._session.get(
                client_path("directory", "room", alias), needs={"room_id": str}, attempts=2
            )
        except RefusedError as refused:
            _raise_unless_missing(refused)
            return None
        return RoomId(str(answer["room_id"]))


def _raise_unless_missing(refused: RefusedError) -> None:
    """404 from a homeserver means that it is not there; 403 and the rest mean something else, as does a proxy's 404."""
    if refused.status != _NOT_FOUND or refused.errcode != "M_NOT_FOUND":
        raise refused
