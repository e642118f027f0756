"""Budgets hold whatever the order of commands, and are told of once."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bot.budget import WINDOW_MS, Budget, Verdict
from index.model import RoomId, UserId

ALICE, ROOM = UserId("@alice:x"), RoomId("!room")


def test_too_many_commands_of_one_person_get_one_note_and_then_silence() -> None:
    budget = Budget(per_user=2, per_room=10)
    verdicts = [budget.ask(ALICE, ROOM, at) for at in range(5)]
    assert verdicts == [Verdict.ANSWER, Verdict.ANSWER, Verdict.NOTE, Verdict.SILENCE, Verdict.SILENCE]
    assert budget.ask(UserId("@bob:x"), ROOM, 5) is Verdict.ANSWER
    assert budget.ask(ALICE, RoomId("!other"), 6) is Verdict.SILENCE, "another room is no way round"
    assert budget.ask(ALICE, ROOM, WINDOW_MS + 1) is Verdict.ANSWER


def test_a_full_room_gets_one_note_whoever_asks() -> None:
    budget = Budget(per_user=10, per_room=2)
    verdicts = [budget.ask(UserId(f"@{at}:x"), ROOM, at) for at in range(5)]
    assert verdicts == [Verdict.ANSWER, Verdict.ANSWER, Verdict.NOTE, Verdict.SILENCE, Verdict.SILENCE]


def test_a_restart_opens_no_new_budget() -> None:
    budget = Budget(per_user=2, per_room=10)
    before = [Verdict.ANSWER, Verdict.ANSWER, Verdict.NOTE, *[Verdict.SILENCE] * 50]
    budget.recall((ALICE, ROOM, at, verdict) for at, verdict in enumerate(before))
    assert budget.ask(ALICE, ROOM, 100) is Verdict.SILENCE
    assert budget.ask(UserId("@bob:x"), ROOM, 101) is Verdict.ANSWER, "what was not answered does not count"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 40_000)), max_size=60))
def test_no_minute_holds_more_answers_than_the_budget(asked: list[tuple[int, int, int]]) -> None:
    budget = Budget(per_user=3, per_room=5)
    now_ms = 0
    given_at: list[tuple[str, int]] = []
    for user, room, step_ms in asked:
        now_ms += step_ms
        verdict = budget.ask(UserId(f"@{user}:x"), RoomId(f"!{room}"), now_ms)
        if verdict is Verdict.ANSWER:
            given_at += [(f"@{user}", now_ms), (f"!{room}", now_ms)]
    for _, end_ms in given_at:
        counts = Counter(who for who, at_ms in given_at if end_ms - WINDOW_MS < at_ms <= end_ms)
        assert all(count <= (3 if who[0] == "@" else 5) for who, count in counts.items())


def test_a_million_people_leave_nothing_behind() -> None:
    budget = Budget(per_user=1, per_room=1_000_000)
    for number in range(20_000):
        budget.ask(UserId(f"@{number}:x"), ROOM, number * 100)
    assert len(budget._times) < 10_000
