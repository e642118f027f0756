"""Windows that stand beside others that match as well come first among windows; documents keep their places."""

from hypothesis import given
from hypothesis import strategies as st

from index.model import ChunkId, Ranked, RoomId
from index.text.conversation import MINUTE_MS, NEAR_MS, SHARE, Stretch, lift_neighbours

ROOM, OTHER = RoomId("!a:example.org"), RoomId("!b:example.org")
ASKED, ANSWER, ELSEWHERE, FILE, PAGE = (ChunkId(number) for number in range(5))


def ranking(*scores: tuple[ChunkId, float]) -> list[Ranked]:
    return [Ranked(chunk, rank, score) for rank, (chunk, score) in enumerate(scores, start=1)]


def said(minute: int, room: RoomId = ROOM) -> Stretch:
    return Stretch(room, minute * MINUTE_MS, (minute + 2) * MINUTE_MS)


def order(ranked: list[Ranked]) -> list[ChunkId]:
    return [one.chunk for one in ranked]


def test_a_window_beside_a_better_one_comes_before_its_equals() -> None:
    found = ranking((ASKED, 10.0), (ELSEWHERE, 6.0), (ANSWER, 5.5))
    places = {ASKED: said(0), ELSEWHERE: said(500), ANSWER: said(10)}
    assert order(lift_neighbours(found, places)) == [ASKED, ANSWER, ELSEWHERE]


def test_neither_another_room_nor_another_hour_is_beside() -> None:
    found = ranking((ASKED, 10.0), (ELSEWHERE, 6.0), (ANSWER, 5.5))
    for beside in (said(10, OTHER), said(90)):
        places = {ASKED: said(0), ELSEWHERE: said(500), ANSWER: beside}
        assert lift_neighbours(found, places) == found


def test_documents_keep_their_places_and_places_keep_their_scores() -> None:
    found = ranking((ASKED, 10.0), (FILE, 7.0), (ELSEWHERE, 6.0), (PAGE, 5.8), (ANSWER, 5.5))
    places = {ASKED: said(0), ELSEWHERE: said(500), ANSWER: said(10)}
    lifted = lift_neighbours(found, places)
    assert order(lifted) == [ASKED, FILE, ANSWER, PAGE, ELSEWHERE]
    assert [(one.rank, one.score) for one in lifted] == [(one.rank, one.score) for one in found]


WINDOWS = st.lists(
    st.tuples(st.floats(0, 50), st.sampled_from([None, ROOM, OTHER]), st.integers(0, 100)), min_size=0, max_size=30
)


@given(WINDOWS)
def test_nothing_is_lost_or_said_twice(drawn: list[tuple[float, RoomId | None, int]]) -> None:
    drawn.sort(key=lambda one: -one[0])
    found = ranking(*((ChunkId(number), score) for number, (score, _, _) in enumerate(drawn)))
    places = {ChunkId(n): said(minute, room) for n, (_, room, minute) in enumerate(drawn) if room is not None}
    lifted = lift_neighbours(found, places)
    assert sorted(order(lifted)) == sorted(order(found))
    assert [one.score for one in lifted] == [one.score for one in found]


@given(WINDOWS, st.lists(st.integers(-5, 60), min_size=30, max_size=30))
def test_each_window_is_held_against_every_other_one_of_its_room(
    drawn: list[tuple[float, RoomId | None, int]], lengths: list[int]
) -> None:
    drawn.sort(key=lambda one: -one[0])
    found = ranking(*((ChunkId(number), score) for number, (score, _, _) in enumerate(drawn)))
    places = {
        ChunkId(n): Stretch(room, minute * MINUTE_MS, (minute + lengths[n]) * MINUTE_MS)
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
