"""What a host decides about chat, in the terms of this folder."""

import re
from collections.abc import Mapping
from fnmatch import translate
from pathlib import Path

from msgspec import Struct, field

from index.model import RoomId, UserId
from ingest.chat.facts import Account, Visibility
from ingest.chat.gates import OPEN_VISIBILITIES, Override
from ingest.chat.windows import Bounds

HOUR_MS = 3_600_000


class ChatSettings(Struct, frozen=True):
    """The first two say whose eyes are used; the rest has sound defaults."""

    homeserver: str
    user: UserId
    excluded: tuple[str, ...] = ()  # ids and aliases
    overrides: Mapping[RoomId, frozenset[Override]] = field(default_factory=dict)
    visibilities: frozenset[Visibility] = OPEN_VISIBILITIES
    refuses_encrypted: bool = False
    keeps_notices: bool = False
    command: str = ""  # what a command to our bot begins with; empty where there is none
    service_users: frozenset[UserId] = frozenset()
    puppets: tuple[str, ...] = ()  # globs of whole user ids
    erased_users: tuple[UserId, ...] = ()
    grace_ms: int = 24 * HOUR_MS
    bounds: Bounds = field(default_factory=Bounds)
    concurrency: int = 4
    request_timeout_s: float = 60.0
    total_s: float = 1_500.0
    timeline_limit: int = 100  # events of one room in a sync; Synapse gives no more
    page_limit: int = 250  # events that are read, stored and indexed in one transaction
    state_rotation: int = 3  # rooms that stayed silent and are looked at all the same, per run
    known_run: int = 50  # known events in a row that end the walk over a gap
    orders: Path | None = None  # the folder of standing orders to forget

    @property
    def excluded_aliases(self) -> frozenset[str]:
        return frozenset(name for name in self.excluded if name.startswith("#"))

    @property
    def excluded_rooms(self) -> frozenset[RoomId]:
        return frozenset(RoomId(name) for name in self.excluded if name.startswith("!"))

    @property
    def account(self) -> Account:
        puppets = "|".join(f"(?:{translate(glob)})" for glob in self.puppets)
        return Account(
            self.user,
            service_users=self.service_users,
            puppets=re.compile(puppets, re.IGNORECASE) if puppets else None,
        )
