"""Ranges of keys as SQL, few or many: an audience may be thousands of rooms that are not neighbours."""

import pytest

from index.store.driver import Connection
from index.store.scope import MOST_TESTS, Range, Scope, source_range, within


def kept(ranges: list[Range], asked: list[int]) -> list[int]:
    inside, values = within("key", ranges)
    connection = Connection(":memory:")
    try:
        connection.execute("CREATE TABLE asked(key INTEGER)")
        connection.executemany("INSERT INTO asked VALUES (?)", [(key,) for key in asked])
        return [row[0] for row in connection.execute(f"SELECT key FROM asked WHERE {inside} ORDER BY key", values)]
    finally:
        connection.close()


COUNTS = [0, 1, MOST_TESTS, MOST_TESTS + 1, 5_000]


@pytest.mark.parametrize("count", COUNTS)
def test_what_is_within_is_what_the_ranges_hold(count: int) -> None:
    ranges = [(10 * number, 10 * number + 3) for number in range(count)]
    asked = [-1, 0, 3, 4, 9, 10, 5_000, 5_003, 5_004, 5_010, 49_990, 49_993, 49_994]
    assert kept(ranges, asked) == [key for key in asked if 0 <= key < 10 * count and key % 10 <= 3]


@pytest.mark.parametrize("count", COUNTS)
def test_many_rooms_between_hidden_ones_are_an_audience(count: int) -> None:
    ranges = [source_range(2 * number) for number in range(count)]
    asked = [(number << 32) + at for number in (0, 1, 2, 999, 1_000, 1_001, 9_998, 9_999) for at in (1, 7)]
    assert kept(ranges, asked) == [key for key in asked if (key >> 32) % 2 == 0 and key >> 33 < count]


def test_a_scope_may_hold_the_keys_from_end_to_end_of_its_ranges() -> None:
    scope = Scope(None, ((10, 20), (30, 40)))
    assert [key for key in (0, 9, 10, 20, 21, 29, 30, 40, 41) if scope.may_hold(key)] == [10, 20, 30, 40]
    assert Scope(None, None).may_hold(7)
    assert not Scope(None, ()).may_hold(7)
    assert [key for key in (6, 7, 8) if Scope(None, ((0, 99),), keys=frozenset({7})).may_hold(key)] == [7]
