"""Makers of raw events, as JSON has them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

Raw = dict[str, Any]
NOTHING: Final[Mapping[str, object]] = MappingProxyType({})


def raw_message(
    event: str = "$m",
    content: Mapping[str, object] = NOTHING,
    /,
    *,
    sender: str = "@ann:here",
    ms: object = 1_000,
    **more: object,
) -> Raw:
    """`more` goes into the content too, where the names of fields allow it."""
    return {
        "type": "m.room.message",
        "event_id": event,
        "sender": sender,
        "origin_server_ts": ms,
        "content": {"msgtype": "m.text", **content, **more},
    }


def raw_edit(event: str, target: str, body: str, *, sender: str = "@ann:here", ms: object = 2_000) -> Raw:
    raw = raw_message(event, sender=sender, ms=ms, body=f"* {body}")
    raw["content"]["m.new_content"] = {"msgtype": "m.text", "body": body}
    raw["content"]["m.relates_to"] = {"rel_type": "m.replace", "event_id": target}
    return raw


def raw_redaction(event: str, target: str, *, sender: str = "@ann:here") -> Raw:
    return {
        "type": "m.room.redaction",
        "event_id": event,
        "sender": sender,
        "origin_server_ts": 3_000,
        "redacts": target,
        "content": {"redacts": target},
    }


def raw_state(kind: str, content: object, *, key: str = "", sender: str = "@ann:here", ms: int = 500) -> Raw:
    return {
        "type": kind,
        "event_id": f"$state-{kind}-{key}"[:200],
        "sender": sender,
        "origin_server_ts": ms,
        "state_key": key,
        "content": content,
    }


def raw_member(user: str, membership: str = "join", *, before: Raw | None = None, **content: object) -> Raw:
    raw = raw_state("m.room.member", {"membership": membership, **content}, key=user, sender=user)
    if before is not None:
        raw["unsigned"] = {"prev_content": before}
    return raw
