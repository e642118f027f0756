"""What the bot may say: messages, edits and redactions of its own, and coming and going. Nothing else is ever sent."""

from collections.abc import Mapping
from typing import Protocol

from index.errors import MatrixError
from index.model import EventId, RoomId
from matrix.calls import client_path
from matrix.errors import RefusedError
from matrix.session import Session
from matrix.shape import JsonObject, JsonValue

Content = Mapping[str, JsonValue]


class RoomSender(Protocol):
    """Every `transaction` names one intention: sent twice under the same one, it happens once.

    Errors are those of `RoomReader`; a RefusedError means that it was not sent and never will be.
    """

    async def send(self, room: RoomId, content: Content, *, transaction: str) -> EventId: ...

    async def edit(self, room: RoomId, target: EventId, content: Content, *, transaction: str) -> EventId: ...

    async def redact(
        self, room: RoomId, target: EventId, *, transaction: str, reason: str | None = None
    ) -> EventId: ...

    async def join(self, room: str) -> RoomId: ...

    async def leave(self, room: RoomId) -> None: ...


class HomeserverSender:
    """The one `RoomSender`, over a session in the bot's mode; joining and leaving work in the roster's mode too."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def send(self, room: RoomId, content: Content, *, transaction: str) -> EventId:
        """An `m.room.message` with this content, as it is."""
        return await self._put(client_path("rooms", room, "send", "m.room.message", transaction), content)

    async def edit(self, room: RoomId, target: EventId, content: Content, *, transaction: str) -> EventId:
        """Replace the content of an own message. Clients that do not know edits show it with a leading `* `."""
        return await self.send(room, replacement(target, content), transaction=transaction)

    async def redact(self, room: RoomId, target: EventId, *, transaction: str, reason: str | None = None) -> EventId:
        body: JsonObject = {} if reason is None else {"reason": reason}
        return await self._put(client_path("rooms", room, "redact", target, transaction), body)

    async def join(self, room: str) -> RoomId:
        """By id or alias; being in it already is fine."""
        answer = await self._session.post(client_path("join", room), {}, needs={"room_id": str})
        return RoomId(str(answer["room_id"]))

    async def leave(self, room: RoomId) -> None:
        """Being out of it already is fine."""
        try:
            await self._session.post(client_path("rooms", room, "leave"), {})
        except RefusedError as refused:
            if refused.errcode not in ("M_FORBIDDEN", "M_NOT_FOUND"):
                raise

    async def _put(self, path: str, body: Content) -> EventId:
        answer = await self._session.put(path, body, needs={"event_id": str})
        return EventId(str(answer["event_id"]))


def replacement(target: EventId, content: Content) -> JsonObject:
    """The content of an edit: the new content, and a fallback with the bodies marked.

    A relation in `content` is left out: an edit cannot change what a message answers to.
    """
    fresh: JsonObject = {key: value for key, value in content.items() if key != "m.relates_to"}
    if "m.new_content" in fresh:
        raise MatrixError("an edit cannot be edited: replace the original message instead")
    marked = {key: f"* {fresh[key]}" for key in ("body", "formatted_body") if isinstance(fresh.get(key), str)}
    relation: JsonObject = {"rel_type": "m.replace", "event_id": target}
    return {**fresh, **marked, "m.new_content": fresh, "m.relates_to": relation}
