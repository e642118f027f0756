"""Links that open a room's event in whatever client a person has. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

from index.model import EventId, RoomId, UserId

MOST_SERVERS: Final = 3  # in `via`: what matrix.to recommends


def event_link(room: RoomId, event: EventId, servers: Sequence[str] = ()) -> str:
    """`servers` are asked for the room by a client whose own does not know it."""
    via = "&".join(f"via={quote(server, safe='')}" for server in servers)
    return f"https://matrix.to/#/{quote(room, safe='!')}/{quote(event, safe='$')}" + (f"?{via}" if via else "")


def servers_of(room: RoomId, speakers: Iterable[UserId]) -> list[str]:
    """Those of the people who spoke, most frequent first, then the room's own: ids of room version 12 name none."""
    counts = Counter(speaker.partition(":")[2] for speaker in speakers)
    ranked = sorted(counts, key=lambda server: (-counts[server], server))
    return [server for server in dict.fromkeys([*ranked, room.partition(":")[2]]) if server][:MOST_SERVERS]
