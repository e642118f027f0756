"""How long vectors will take: by the pace of the last minutes, and told where nobody sees a bar."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from structlog.typing import EventDict

from sources.cli.pace import WINDOW_S, Pace
from sources.cli.progress import Lines


def noted(*seen: tuple[float, int]) -> Pace:
    pace = Pace()
    for now_s, done in seen:
        pace.note(now_s, done)
    return pace


def test_of_one_look_nothing_can_be_said() -> None:
    assert Pace().left_s(10) is None
    assert noted((5.0, 3)).left_s(10) is None
    assert noted((5.0, 3), (6.0, 3)).left_s(10) is None


@given(st.floats(0.1, 1e4), st.integers(1, 1_000), st.integers(2, 50), st.integers(0, 10**6))
def test_a_steady_pace_goes_on(every_s: float, batch: int, batches: int, left: int) -> None:
    pace = noted(*((number * every_s, number * batch) for number in range(batches)))
    expected_s = left / batch * every_s
    told_s = pace.left_s((batches - 1) * batch + left)
    assert told_s is not None
    assert abs(told_s - expected_s) <= 1e-6 * max(1.0, expected_s)


def test_what_was_faster_long_ago_does_not_count() -> None:
    fast = [(float(second), second * 1_000) for second in range(10)]
    slow = [(10 + second * WINDOW_S / 4, 9_000 + second) for second in range(1, 9)]
    assert noted(*fast, *slow).left_s(9_008 + 4) == WINDOW_S


def test_a_batch_that_takes_longer_than_the_window_still_tells() -> None:
    assert noted((0.0, 0), (2 * WINDOW_S, 10), (4 * WINDOW_S, 20)).left_s(30) == 2 * WINDOW_S


def test_the_log_hears_of_it_once_a_minute_and_not_at_all_of_what_is_soon_done() -> None:
    def told(times_s: Iterator[float], total: int) -> list[EventDict]:
        lines = Lines(clock=lambda: next(times_s))
        with capture_logs() as logged:
            for done in range(100, total + 1, 100):
                lines.vectors_done(done, total)
        return logged

    assert told(iter(range(0, 50, 10)), 500) == []
    assert told(iter(range(0, 300, 30)), 1_000) == [
        {"event": "refresh.filling_vectors", "log_level": "info", "done": done, "total": 1_000, "left_s": left_s}
        for done, left_s in ((300, 210), (500, 150), (700, 90), (900, 30))
    ]
