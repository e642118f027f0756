"""Nobody reads through the bot what they could not read without it, or the host has not allowed."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from bot.audience import IndexedSource, Listener, Openness, Sees, audience_of, read_sees, rooms_to_know
from index.model import RoomId, SourceId

HERE, OPEN, SHUT, NARROW = RoomId("!here"), RoomId("!open:example.org"), RoomId("!shut"), RoomId("!narrow")
SOURCES = [
    IndexedSource(SourceId(f"chat:{HERE}"), is_public=False),
    IndexedSource(SourceId(f"chat:{OPEN}"), is_public=True),
    IndexedSource(SourceId(f"chat:{SHUT}"), is_public=False),
    IndexedSource(SourceId(f"chat:{NARROW}"), is_public=False),
    IndexedSource(SourceId("repo:docs"), is_public=True),
    IndexedSource(SourceId("repo:secret"), is_public=False),
    IndexedSource(SourceId("forge:codeberg/team/tool"), is_public=True),
    IndexedSource(SourceId("notes:board"), is_public=False),
    IndexedSource(SourceId("notes:wiki"), is_public=True),
]
NOW = {
    HERE: Openness("invite", "shared"),
    OPEN: Openness("public", "world_readable"),
    SHUT: Openness("invite", "shared"),
    NARROW: Openness("public", "joined"),
}


def seen(
    *sees: str,
    room: RoomId = HERE,
    listed: frozenset[RoomId] = frozenset(),
    is_direct: bool = False,
    joined: frozenset[RoomId] = frozenset(),
    now: Mapping[RoomId, Openness] = NOW,
) -> set[str]:
    listener = Listener(room, read_sees(sees), listed, is_direct=is_direct)
    sources = audience_of(listener, SOURCES, now, joined=joined).sources
    assert sources is not None
    return {source.partition(":")[2] for source in sources}


def test_a_room_sees_itself_only_where_that_is_allowed() -> None:
    assert seen("here") == {HERE}
    assert seen() == set()


def test_a_room_whose_newcomers_may_not_read_back_does_not_read_back_through_the_bot() -> None:
    assert seen("here", room=NARROW) == set()
    assert seen("!narrow", room=NARROW, listed=frozenset({NARROW})) == {NARROW}


def test_public_rooms_are_those_that_are_public_now_and_were_when_they_were_read() -> None:
    assert seen("public") == {OPEN}
    assert seen("public", now={OPEN: Openness("invite", "shared")}) == set()
    assert seen("public", now={OPEN: Openness("public", "invited")}) == set()
    assert seen("public", now={OPEN: Openness("knock", "world_readable")}) == set()
    assert seen("public", now={SHUT: Openness("public", "shared")}) == set()


def test_what_is_not_known_is_not_shown() -> None:
    assert seen("here", "public", now={}) == set()


def test_a_listed_room_is_seen_whatever_it_is() -> None:
    assert seen("#ops:example.org", listed=frozenset({SHUT}), now={}) == {SHUT}


def test_repositories_and_notes_are_seen_where_public_or_listed() -> None:
    assert seen("forge:public") == {"docs", "codeberg/team/tool"}
    assert seen("notes:public") == {"wiki"}
    assert seen("repo:secret", "notes:board", "forge:codeberg/team/tool") == {"secret", "board", "codeberg/team/tool"}
    assert seen("here", "public", "repo:none") == {HERE, OPEN}


def test_a_direct_chat_sees_the_rooms_that_the_asker_is_in_now() -> None:
    direct = RoomId("!direct")
    assert seen("joined", room=direct, is_direct=True, joined=frozenset({SHUT, NARROW})) == {SHUT}
    assert seen("joined", room=direct, is_direct=True) == set()
    assert seen("here", room=HERE, is_direct=True) == set()
    assert seen("joined", room=HERE, joined=frozenset({SHUT})) == set(), "the room's rule is not the asker's"


def test_the_openness_of_a_room_is_asked_for_only_where_it_decides_something() -> None:
    def asked(
        *sees: str, room: RoomId = HERE, listed: frozenset[RoomId] = frozenset(), is_direct: bool = False
    ) -> frozenset[RoomId]:
        return rooms_to_know(Listener(room, read_sees(sees), listed, is_direct=is_direct), SOURCES)

    assert asked() == asked("forge:public", "notes:public") == frozenset()
    assert asked("here") == {HERE}
    assert asked("here", is_direct=True) == frozenset(), "a direct chat is no room of the index"
    assert asked("joined") == frozenset(), "in a room nobody asks where the asker is"
    assert asked("joined", is_direct=True) == {HERE, OPEN, SHUT, NARROW}
    assert asked("public") == {OPEN}
    assert asked("here", "public", listed=frozenset({HERE, OPEN})) == frozenset(), "what is listed is admitted anyway"


def test_what_stands_for_many_sources_is_the_id_of_none() -> None:
    sees = read_sees(["forge:public", "notes:public", "repo:a", "notes:b", "forge:c/d/e", "#x:y", "!z", "here"])
    assert sees.sources == frozenset(map(SourceId, ("repo:a", "notes:b", "forge:c/d/e")))
    assert sees.rooms == frozenset({"#x:y", "!z"})


ROOMS = [RoomId(f"!{name}") for name in "abcd"]
OPENNESS = st.builds(
    Openness,
    st.sampled_from(["public", "invite", "knock", "restricted", ""]),
    st.sampled_from(["world_readable", "shared", "invited", "joined", ""]),
)
SEES = st.lists(
    st.sampled_from(["here", "joined", "public", "forge:public", "notes:public", "repo:x", "notes:x", "!a", "#a:x"])
).map(read_sees)
CHATS = [SourceId(f"chat:{room}") for room in ROOMS]
OTHERS = [SourceId("repo:x"), SourceId("repo:y"), SourceId("notes:x"), SourceId("notes:y"), SourceId("forge:a/b/c")]


@given(
    sees=SEES,
    room=st.sampled_from(ROOMS),
    is_direct=st.booleans(),
    listed=st.frozensets(st.sampled_from(ROOMS)),
    joined=st.frozensets(st.sampled_from(ROOMS)),
    public=st.frozensets(st.sampled_from(CHATS + OTHERS)),
    now=st.dictionaries(st.sampled_from(ROOMS), OPENNESS),
)
def test_an_audience_is_never_wider_than_the_rules(
    sees: Sees,
    room: RoomId,
    is_direct: bool,
    listed: frozenset[RoomId],
    joined: frozenset[RoomId],
    public: frozenset[SourceId],
    now: dict[RoomId, Openness],
) -> None:
    listener = Listener(room, sees, listed, is_direct=is_direct)
    sources = [IndexedSource(source, source in public) for source in CHATS + OTHERS]
    audience = audience_of(listener, sources, now, joined=joined).sources
    assert audience is not None
    for source in audience:
        name = RoomId(source.partition(":")[2])
        if source in OTHERS:
            kind = "notes" if source.startswith("notes:") else "forge"
            is_public = source in public and (sees.public_notes if kind == "notes" else sees.public_forge)
            assert source in sees.sources or is_public
            continue
        has_open_history = name in now and now[name].visibility in ("shared", "world_readable")
        anybody = has_open_history and now[name].join_rule == "public" and source in public
        assert (
            name in listed
            or (sees.here and name == room and not is_direct and has_open_history)
            or (sees.public_rooms and anybody)
            or (sees.joined and is_direct and name in joined and has_open_history)
        )
    # Only what was asked for can decide anything: with less known, less is seen.
    needed = rooms_to_know(listener, sources)
    known = {name: what for name, what in now.items() if name in needed}
    assert audience_of(listener, sources, known, joined=joined).sources == audience
