"""Weights of words as a cluster keeps them: a change of them needs another version, or the copy would hold both."""

from index.engines.qdrant.engine import levelled
from index.engines.qdrant.label import Label, label_of
from index.engines.qdrant.weights import WEIGHTS_VERSION, of_chunk
from index.model import Fingerprint
from tests.qdrant.conftest import Place


def test_these_weights_are_those_of_this_version() -> None:
    found = of_chunk("Backup", "The nightly backup goes to the borg server", "en0backup en0backup en0borg", 9)
    once, twice, with_title = 1.2522, 1.8445, 2.4159
    weights = sorted(round(value, 4) for value in found.values)
    assert (WEIGHTS_VERSION, weights) == (2, [*[once] * 6, twice, twice, with_title]), "raise WEIGHTS_VERSION"


def test_scores_that_differ_by_what_a_sum_in_single_precision_loses_are_one_and_fall_by_id() -> None:
    lost = 5.314566612243652, 5.3145670890808105
    assert levelled([(lost[1], 9), (5.2, 4), (lost[0], 3), (0.0123456, 1)]) == [
        (5.315, 3), (5.315, 9), (5.2, 4), (0.01235, 1)
    ]  # fmt: skip
    assert levelled([(1.0001, 2), (1.0, 1)]) == [(1.0, 2), (1.0, 1)]
    assert levelled([]) == []


def test_a_label_of_before_weights_had_versions_is_of_the_first() -> None:
    label = Label("writer", "made", Fingerprint(1, 1, 1, 1, (), "off", 0, "", ""), is_filling=False)
    told = label.metadata
    assert label_of(told) == label
    del told["weights"]
    former = label_of(told)
    assert former is not None and former.weights == 1


async def test_a_copy_with_weights_of_another_version_is_made_anew(place: Place) -> None:
    await place.refresh()
    label = place.server.client.get_collection("sources").config.metadata or {}
    place.server.client.update_collection("sources", metadata=label | {"weights": 1})
    place.server.client.delete("sources", [min(place.server.points("sources"))])
    await place.refresh()
    now = place.server.client.get_collection("sources").config.metadata or {}
    assert now["weights"] == WEIGHTS_VERSION and now["made"] != label["made"]
    assert place.server.points("sources") == await place.fresh_points()
    await place.refresh()
    assert (place.server.client.get_collection("sources").config.metadata or {})["made"] == now["made"]
