"""Counts as people read them."""

import pytest

from index.wording import counted


@pytest.mark.parametrize(("count", "said"), [(0, "0 rooms"), (1, "1 room"), (2_000, "2,000 rooms")])
def test_one_is_not_many(count: int, said: str) -> None:
    assert counted(count, "room") == said


def test_what_does_not_end_in_s_is_given_whole() -> None:
    assert [counted(n, "copy waits", "copies wait") for n in (1, 2)] == ["1 copy waits", "2 copies wait"]
