"""From a raw event to what somebody asked of the bot, or None where nobody did.

Pure. A command leads the body of an `m.text` message, behind the prefix or behind the bot's name. Whatever else it is
(a notice, an edit, an encrypted event, a state event, a message without a body) it is not for the bot.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from index.model import EventId, UserId
from matrix.records import event_id
from matrix.shape import JsonObject, RawEvent, integer_at, object_at, text_at

NEXT_PAGE: Final = frozenset({"▶", "▶\ufe0f", "▶\ufe0e"})
"""Reactions to an answer that ask for its next page."""

_FALLBACK_HEAD: Final = re.compile(r"> (?:\* )?<@[^>\n]*>")
_MAX_TIME_MS: Final = 2**53 - 1  # federation of old rooms brings more, which nothing could store
_MAX_READ_CHARS: Final = 70_000  # an event holds no more


@dataclass(frozen=True, slots=True)
class Search:
    text: str  # as typed; empty when only the prefix was


@dataclass(frozen=True, slots=True)
class Help:
    pass


@dataclass(frozen=True, slots=True)
class About:
    pass


@dataclass(frozen=True, slots=True)
class More:
    answer: EventId | None = None  # the answer that was reacted to; None: the asker's last one


Command = Search | Help | About | More
_WORDS: Final[Mapping[str, Command]] = {"help": Help(), "about": About(), "more": More(), "next": More()}


@dataclass(frozen=True, slots=True)
class Request:
    """A command, and where its answer belongs."""

    event: EventId
    sender: UserId
    sent_ms: int
    command: Command
    thread: EventId | None = None  # its root; None: the answer is a reply in the main timeline


@dataclass(frozen=True, slots=True)
class Address:
    """What the bot answers to. Names are compared without regard to case."""

    user: UserId
    prefix: str = "!search"
    names: tuple[str, ...] = ()


def read_request(raw: RawEvent, address: Address) -> Request | None:
    sender, event = text_at(raw, "sender"), event_id(raw)
    if sender is None or sender == address.user or event is None or "state_key" in raw:
        return None
    content = object_at(raw, "content")
    kind = text_at(raw, "type")
    if kind == "m.reaction":
        command, thread = _reaction(content), None
    elif kind == "m.room.message":
        command, thread = _message(content, address), _thread(content)
    else:
        return None
    if command is None:
        return None
    sent_ms = max(0, min(integer_at(raw, "origin_server_ts") or 0, _MAX_TIME_MS))
    return Request(event, UserId(sender), sent_ms, command, thread)


def _reaction(content: JsonObject) -> Command | None:
    relation = object_at(content, "m.relates_to")
    target = text_at(relation, "event_id")
    is_wanted = relation.get("rel_type") == "m.annotation" and text_at(relation, "key") in NEXT_PAGE
    return More(EventId(target)) if is_wanted and target else None


def _message(content: JsonObject, address: Address) -> Command | None:
    body = text_at(content, "body")
    relation = object_at(content, "m.relates_to")
    if body is None or content.get("msgtype") != "m.text" or relation.get("rel_type") == "m.replace":
        return None
    if "m.new_content" in content:
        return None
    own = without_fallback(body[:_MAX_READ_CHARS], content).strip()
    words = _addressed(own, address, is_mentioned=_mentions(content, address.user))
    return None if words is None else _WORDS.get(words.casefold(), Search(words))


def _addressed(text: str, address: Address, *, is_mentioned: bool) -> str | None:
    """What follows the prefix or the name; None when the text leads with neither."""
    rest = _after(text, address.prefix)
    if rest is not None and (not rest or rest[0].isspace()):
        return rest.strip()
    localpart = address.user[1:].partition(":")[0]
    for name in (address.user, f"@{localpart}", *address.names, localpart):
        rest = _after(text, name) or _after(text, f"@{name}")
        if not rest:
            continue
        # A bare name may begin any sentence: it takes a colon or comma, or a mention that the client marked as one.
        if rest[0] in ":,":
            return _without_prefix(rest[1:].strip(), address.prefix)
        if rest[0].isspace() and (is_mentioned or name == address.user):
            return _without_prefix(rest.strip(), address.prefix)
    return None


def _after(text: str, head: str) -> str | None:
    """The rest behind `head`, compared without case; lengths are those of `head` as written."""
    return text[len(head) :] if head and text[: len(head)].casefold() == head.casefold() else None


def _without_prefix(text: str, prefix: str) -> str:
    """`sources: !search words` means the same as either alone."""
    rest = _after(text, prefix)
    return text if rest is None or (rest and not rest[0].isspace()) else rest.strip()


def _mentions(content: JsonObject, user: UserId) -> bool:
    users = object_at(content, "m.mentions").get("user_ids")
    return isinstance(users, list) and user in users


def _thread(content: JsonObject) -> EventId | None:
    relation = object_at(content, "m.relates_to")
    root = text_at(relation, "event_id")
    return EventId(root) if root and relation.get("rel_type") == "m.thread" else None


def without_fallback(body: str, content: JsonObject) -> str:
    """The body of a reply without the quotation that older clients put first. A quote of the writer's own stays."""
    is_reply = bool(text_at(object_at(content, "m.relates_to", "m.in_reply_to"), "event_id"))
    formatted = text_at(content, "formatted_body") or ""
    is_quoted = _FALLBACK_HEAD.match(body) is not None or formatted.lstrip()[:9].lower() == "<mx-reply"
    if not is_reply or not is_quoted:
        return body
    lines = body.split("\n")
    first = next((number for number, line in enumerate(lines) if line != ">" and not line.startswith("> ")), len(lines))
    return "\n".join(lines[first:])
