"""Which sources an answer may draw on: decided from who will read it, before anything is ranked.

Pure. An answer in a room is read by the whole room, by those who join later, and by every server in it; so the
audience belongs to the room and not to the asker. In a direct chat it is the asker alone. What is not known is not
shown.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from index.model import Audience, Corpus, RoomId, SourceId, corpus_of

HERE: Final = "here"
JOINED: Final = "joined"
PUBLIC: Final = "public"
PUBLIC_FORGE: Final = "forge:public"
PUBLIC_NOTES: Final = "notes:public"


@dataclass(frozen=True, slots=True)
class Sees:
    """What one room, or a direct chat, was allowed to see by the host."""

    here: bool = False  # the asking room's own text
    joined: bool = False  # direct chats: rooms that the asker is in
    public_rooms: bool = False
    public_forge: bool = False
    public_notes: bool = False
    rooms: frozenset[str] = frozenset()  # ids and aliases that the host listed
    sources: frozenset[SourceId] = frozenset()  # repositories and notes that the host listed


def read_sees(entries: Iterable[str]) -> Sees:
    """Each entry is `here`, `joined`, `public`, a room, `forge:public`, `notes:public` or the id of a source."""
    listed = list(entries)
    return Sees(
        here=HERE in listed,
        joined=JOINED in listed,
        public_rooms=PUBLIC in listed,
        public_forge=PUBLIC_FORGE in listed,
        public_notes=PUBLIC_NOTES in listed,
        rooms=frozenset(entry for entry in listed if entry[:1] in ("#", "!")),
        sources=frozenset(
            SourceId(entry)
            for entry in listed
            if entry.startswith(("repo:", "notes:", "forge:")) and entry not in (PUBLIC_FORGE, PUBLIC_NOTES)
        ),
    )


@dataclass(frozen=True, slots=True)
class IndexedSource:
    """One source that searches can reach at all. `is_public` is what the last refresh knew."""

    id: SourceId
    is_public: bool


@dataclass(frozen=True, slots=True)
class Openness:
    """What holds in a room now."""

    join_rule: str
    visibility: str  # of its history

    @property
    def has_open_history(self) -> bool:
        """Whether whoever joins may read what was said before."""
        return self.visibility in ("shared", "world_readable")

    @property
    def is_public(self) -> bool:
        return self.join_rule == "public" and self.has_open_history


@dataclass(frozen=True, slots=True)
class Listener:
    """Who reads the answer. `listed` are the rooms of `sees.rooms`, as ids, as far as they could be resolved."""

    room: RoomId
    sees: Sees
    listed: frozenset[RoomId] = frozenset()
    is_direct: bool = False


def rooms_to_know(listener: Listener, sources: Iterable[IndexedSource]) -> frozenset[RoomId]:
    """Rooms whose openness decides something; those the host listed are admitted whatever it is."""
    sees = listener.sees
    wanted = set()
    for source in sources:
        room = _room_of(source)
        if room is None or room in listener.listed:
            continue
        is_here = sees.here and not listener.is_direct and room == listener.room
        if is_here or (sees.public_rooms and source.is_public) or (sees.joined and listener.is_direct):
            wanted.add(room)
    return frozenset(wanted)


def audience_of(
    listener: Listener,
    sources: Collection[IndexedSource],
    openness: Mapping[RoomId, Openness],
    *,
    joined: Collection[RoomId] = frozenset(),
) -> Audience:
    """`joined` are the rooms that the asker of a direct chat is in now; nothing else of the asker matters."""
    return Audience(
        frozenset(source.id for source in sources if _is_admitted(source, listener, openness, frozenset(joined)))
    )


def _is_admitted(
    source: IndexedSource, listener: Listener, openness: Mapping[RoomId, Openness], joined: frozenset[RoomId]
) -> bool:
    sees = listener.sees
    if source.id in sees.sources:
        return True
    match corpus_of(source.id):
        case Corpus.FORGE:
            return sees.public_forge and source.is_public
        case Corpus.NOTES:
            return sees.public_notes and source.is_public
    room = _room_of(source)
    if room is None:
        return False
    if room in listener.listed:
        return True
    now = openness.get(room)
    if now is None:
        return False
    if listener.is_direct:
        if sees.joined and room in joined and now.has_open_history:
            return True
    elif sees.here and room == listener.room and now.has_open_history:
        # Where newcomers may not read back they must not read it here either; the host can list the room by its id.
        return True
    return sees.public_rooms and source.is_public and now.is_public


def _room_of(source: IndexedSource) -> RoomId | None:
    kind, _, name = source.id.partition(":")
    return RoomId(name) if kind == "chat" else None
