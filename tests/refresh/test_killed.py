"""A refresh that is killed at any moment leaves a state from which the next one ends as if nothing had happened."""

import random
from collections.abc import Callable
from pathlib import Path

from tests.refresh.conftest import Place

KILLS = 20


def test_killed_at_random_moments_it_ends_with_the_rows_of_an_undisturbed_run(
    place: Place, change: Callable[[], None]
) -> None:
    assert place.refresh("calm").returncode == 0
    moments = random.Random()
    killed = 0
    for number in range(KILLS):
        if number == KILLS // 2:
            change()
        killed += place.kill_during_refresh("wild", moments.uniform(0.2, 1.6))
    assert place.refresh("wild").returncode == 0
    assert place.refresh("calm").returncode == 0
    assert killed, "no run lived long enough to be killed"
    assert place.dump("wild") == place.dump("calm")
    assert place.dump("calm")["vectors"], "nothing was compared"


def test_a_change_of_the_sources_is_what_a_fresh_index_of_them_holds(place: Place, change: Callable[[], None]) -> None:
    assert place.refresh("grown").returncode == 0
    change()
    assert place.refresh("grown").returncode == 0
    assert place.refresh("fresh").returncode == 0
    assert place.dump("grown") == place.dump("fresh")


def test_no_clone_and_no_lock_is_left_in_the_way(place: Place) -> None:
    for after_s in (0.3, 0.6, 0.9):
        place.kill_during_refresh("state", after_s)
    done = place.refresh("state")
    assert (done.returncode, done.stdout) == (0, "")
    left = [path for path in Path(place.root / "state" / "clones").iterdir() if "tmp" in path.name]
    assert left == []
