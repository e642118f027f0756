"""Windows that stand beside others that match as well come first among windows; documents keep their places."""

from hypothesis import given
from hypothesis import strategies as st

from index.model import ChunkId, Ranked, RoomId
from index.text.conversation import MINUTE_MS, NEAR_MS, SHARE, Stretch, lift_neighbours

ROOM, OTHER = RoomId("!a:example.org"), RoomId("!b:example.org")


def ranking(*scores: tuple[str, float]) -> list[Ranked]:
    return [Ranked(ChunkId(name), rank, score) for rank, (name, score) in enumerate(scores, start=1)]


def said(minute: int, room: RoomId = ROOM) -> Stretch:
    return Stretch(room, minute * MINUTE_MS, (minute + 2) * MINUTE_MS)


def order(ranked: list[Ranked]) -> list[str]:
    return [one.chunk for one in ranked]


def test_a_window_beside_a_better_one_comes_before_its_equals() -> None:
    found = ranking(("asked", 10.0), ("elsewhere", 6.0), ("answer", 5.5))
    places = {ChunkId("asked"): said(0), ChunkId("elsewhere"): said(500), ChunkId("answer"): said(10)}
    assert order(lift_neighbours(found, places)) == ["asked", "answer", "elsewhere"]


def test_neither_another_room_nor_another_hour_is_beside() -> None:
    found = ranking(("asked", 10.0), ("first", 6.0), ("second", 5.5))
    for beside in (said(10, OTHER), said(90)):
        places = {ChunkId("asked"): said(0), ChunkId("first"): said(500), ChunkId("second"): beside}
        assert lift_neighbours(found, places) == found


def test_documents_keep_their_places_and_places_keep_their_scores() -> None:
    found = ranking(("asked", 10.0), ("file", 7.0), ("elsewhere", 6.0), ("page", 5.8), ("answer", 5.5))
    places = {ChunkId("asked"): said(0), ChunkId("elsewhere"): said(500), ChunkId("answer"): said(10)}
    lifted = lift_neighbours(found, places)
    assert order(lifted) == ["asked", "file", "answer", "page", "elsewhere"]
    assert [(one.rank, one.score) for one in lifted] == [(one.rank, one.score) for one in found]


WINDOWS = st.lists(
    st.tuples(st.floats(0, 50), st.sampled_from([None, ROOM, OTHER]), st.integers(0, 100)), min_size=0, max_size=30
)


@given(WINDOWS)
def test_nothing_is_lost_or_said_twice(drawn: list[tuple[float, RoomId | None, int]]) -> None:
    drawn.sort(key=lambda one: -one[0])
    found = ranking(*((str(number), score) for number, (score, _, _) in enumerate(drawn)))
    places = {ChunkId(str(n)): said(minute, room) for n, (_, room, minute) in enumerate(drawn) if room is not None}
    lifted = lift_neighbours(found, places)
    assert sorted(order(lifted)) == sorted(order(found))
    assert [one.score for one in lifted] == [one.score for one in found]


@given(WINDOWS, st.lists(st.integers(-5, 60), min_size=30, max_size=30))
def test_each_window_is_held_against_every_other_one_of_its_room(
    drawn: list[tuple[float, RoomId | None, int]], lengths: list[int]
) -> None:
    drawn.sort(key=lambda one: -one[0])
    found = ranking(*((str(number), score) for number, (score, _, _) in enumerate(drawn)))
    places = {
        ChunkId(str(n)): Stretch(room, minute * MINUTE_MS, (minute + lengths[n]) * MINUTE_MS)
        for n, (_, room, minute) in enumerate(drawn)
        if room is not None
    }

    def lifted(one: Ranked) -> float:
        own = places[one.chunk]
        beside = [
            other.score
            for other in found
            if other.chunk != one.chunk
            and (stretch := places.get(other.chunk)) is not None
            and stretch.room == own.room
            and max(stretch.first_ms - own.last_ms, own.first_ms - stretch.last_ms) <= NEAR_MS
        ]
        return one.score + SHARE * max([0.0, *beside])

    windows = [one for one in found if one.chunk in places]
    expected = [one.chunk for one in sorted(windows, key=lambda one: -lifted(one))]
    assert [one.chunk for one in lift_neighbours(found, places) if one.chunk in places] == expected
