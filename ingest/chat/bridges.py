"""How bridges show: state types, puppets, bots, servers and marks in messages. Tables, and how to read them.

Pure data. Defaults of the bridges as their sources and example configurations have them; each can be configured away,
so a host can add patterns. A localpart that looks like a puppet proves something only on a server where it cannot be
had for the asking: on our own, where the appservice owns the namespace, or on those of `PUBLIC_PUPPETS`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

BRIDGE_STATE: Final = frozenset(
    {
        "m.bridge",
        "uk.half-shot.bridge",
        "com.beeper.room_features",
        "com.beeper.disappearing_timer",
    }
)
"""Any state key: writers use "", the bridge's id, or `<name>:/<network>/<channel>`."""

DIRECT_KEYS: Final = ("com.beeper.room_type", "com.beeper.room_type.v2")
"""Keys inside the bridge states whose value `dm` or `group_dm` marks a bridged direct chat."""
DIRECT_VALUES: Final = frozenset({"dm", "group_dm"})

FEED_STATE: Final = ("uk.half-shot.matrix-hookshot.", "uk.half-shot.matrix-github.")
"""Prefixes of hookshot's connections: feeds of machines, not people elsewhere. Their senders are skipped."""

SERVICE_MEMBERS_STATE: Final = "io.element.functional_members"

# What an id looks like after the prefix. People may be called slack_fan, so the shape is asked for where it is known.
_NUMBER: Final = r"\d+"
_PHONE: Final = r"(?:lid-)?(?:\+|=2b)?\d+"
_UUID: Final = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_ANY: Final = r".+"
_SLACK: Final = r"(?=.*\d)(?:[a-z0-9.=-]+[_-])?[tuwbe][a-z0-9]{8,}(?:-[a-z0-9]{8,})?"


@dataclass(frozen=True, slots=True)
class Family:
    """The puppets of one kind of bridge: `prefix` and then `shape`, the whole localpart."""

    name: str
    prefix: str
    shape: str

    def pattern(self) -> str:
        return f"{self.prefix}(?:{self.shape})"


_SHAPES: Final[Mapping[str, str]] = {
    "telegram": rf"{_NUMBER}|(?:user|channel|chat|bot)[-_=:]?{_NUMBER}",
    "whatsapp": _PHONE,
    "signal": rf"{_UUID}|pni[-_=:]*{_UUID}|{_PHONE}",
    "slack": _SLACK,
    "gmessages": r"[\d.]+",
    "gvoice": _PHONE,
    "googlechat": _NUMBER,
    "twitter": _NUMBER,
    "bluesky": r"did[=:].+",
    "linkedin": r"(?=.*\d)[a-z0-9_=-]{12,}",
    "zulip": r"\d+(?:[-_.]\d+)*",
    "line": r"[ucr][0-9a-f]{32}",
    "facebook": _NUMBER,
    "messenger": _NUMBER,
    "instagram": _NUMBER,
    "meta": _NUMBER,
    "discord": rf"{_NUMBER}(?:[_-].+)?",
    "imessage": rf"{_PHONE}|.+(?:@|=40).+",
    "androidsms": _PHONE,
    "sms": _PHONE,
    "steam": _NUMBER,
    "rustpush": _ANY,
}

PUPPETS: Final[tuple[Family, ...]] = (
    *(Family(network, f"{network}_", shape) for network, shape in _SHAPES.items()),
    Family("irc", "irc_", _ANY),
    Family("irc", r"irc\.[a-z0-9.-]+_", _ANY),
    Family("irc", "_?(?:freenode|oftc|snoonet|libera)_", _ANY),
    Family("heisenbridge", "hbirc_", _ANY),
    Family("appservice-discord", "_discord_", _NUMBER + "(?:_.+)?"),
    Family("appservice-slack", "_slack_", _ANY),
    Family("out-of-your-element", "_ooye_", _ANY),
    Family("bifrost", "_(?:bifrost|xmpp)_", _ANY),
    Family("mx-puppet", "_[a-z0-9]+puppet_", _ANY),
    Family("wechat", "_wechat_", _ANY),
)

FEED_PUPPETS: Final[tuple[Family, ...]] = (
    Family("hookshot", "_(?:github|gitlab|jira|webhooks?|feeds?)_", _ANY),
    Family("hookshot", "webhooks?_", _ANY),
)
FEED_BOTS: Final = frozenset({"hookshot"})

BOTS: Final = frozenset(
    {f"{network}bot" for network in _SHAPES}
    | {
        "wechatbot",
        "appservice-irc",
        "oftc-irc",
        "snoonet-irc",
        "freenode-irc",
        "libera-irc",
        "heisenbridge",
        "_discord_bot",
        "_ooye_bot",
        "_bifrost_bot",
        "_xmpp_bot",
    }
)
_BOT_FORMS: Final = r"_[a-z0-9]+puppet_bot|_bot_.+"

WHOLE_SERVERS: Final = frozenset({"libera.chat", "gitter.im", "beeper.local"})
"""Every user there came over a bridge."""
_PORT: Final = re.compile(r":\d+$")
_IRC_SERVER: Final = re.compile(r"irc\..+")
"""By custom the same, but anybody may call a server so: like a foreign look-alike."""

PUBLIC_PUPPETS: Final[Mapping[str, re.Pattern[str]]] = {
    "matrix.org": re.compile(
        r"_(?:oftc|snoonet|xmpp|bifrost|discord|slack)_.+|(?:freenode|oftc)-?(?:irc|_.+)|snoonet-irc"
    ),
    "t2bot.io": re.compile(r"_discord_.+|telegram_\d+|_telegram_.+"),
}
"""Public bridges on servers of others, whose namespaces are known to be theirs."""

_PUPPET: Final = re.compile("|".join(family.pattern() for family in PUPPETS), re.IGNORECASE)
_BOT: Final = re.compile("|".join([*map(re.escape, sorted(BOTS)), _BOT_FORMS]), re.IGNORECASE)
_FEED: Final = re.compile(
    "|".join([*(family.pattern() for family in FEED_PUPPETS), *map(re.escape, sorted(FEED_BOTS))]), re.IGNORECASE
)

DOUBLE_PUPPET_KEY: Final = "fi.mau.double_puppet_source"
PROFILE_KEY: Final = "com.beeper.per_message_profile"
PROFILE_PREFIX: Final = "com.beeper.bridge."
RELAY_TEXT: Final = re.compile(
    r"\[(?:api|discord|gitter|harmony|irc|keybase|mattermost|matrix|msteams|mumble|nctalk|rocketchat|slack|ssh-?chat"
    r"|steam|telegram|twitch|vk|whatsapp|xmpp|zulip)(?:\.[\w-]+)?\] <[^<>\n]{1,80}> ",
    re.IGNORECASE,
)
"""How matterbridge writes with one ordinary account: `[irc] <nick> words`."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What the id of a user looks like, and whether its server makes that a proof."""

    what: str  # "puppet", "bot", "server", "feed" or "" for a person
    is_proof: bool = False
    is_local: bool = False


PERSON: Final = Looks("")


def looks_of(user: str, local_servers: frozenset[str]) -> Looks:
    localpart, _, server = user.removeprefix("@").partition(":")
    server = server.casefold()
    name = _PORT.sub("", server)
    is_local = server in local_servers or name in local_servers
    if not is_local and name in WHOLE_SERVERS:
        return Looks("server", is_proof=True)
    is_known = is_local or _is_public_puppet(localpart, name)
    for what, pattern in (("feed", _FEED), ("bot", _BOT), ("puppet", _PUPPET)):
        if pattern.fullmatch(localpart):
            return Looks(what, is_known, is_local)
    if is_known and not is_local:
        return Looks("puppet", is_proof=True)
    return Looks("server") if not is_local and _IRC_SERVER.fullmatch(name) else PERSON


def _is_public_puppet(localpart: str, server: str) -> bool:
    pattern = PUBLIC_PUPPETS.get(server)
    return pattern is not None and pattern.fullmatch(localpart) is not None
