"""A forge is judged by its listing, which an audit reads and does not store."""

import asyncio

from index.audit import Drift, Facts
from sources.auditing import gather
from tests.forge.forge_place import Place, page


def drifts(facts: Facts) -> list[tuple[str, Drift, str]]:
    return [(look.source, look.drift, look.detail) for look in facts.looks]


def test_repositories_that_came_and_went_are_counted(place: Place) -> None:
    place.forge.host("club/docs", page("docs"))
    place.forge.host("club/site", page("site"))
    assert drifts(asyncio.run(gather(place.config, place.credentials))) == [("forge:here", Drift.NEVER, "")]
    place.refresh()
    assert drifts(asyncio.run(gather(place.config, place.credentials))) == [("forge:here", Drift.NONE, "")]
    place.forge.host("club/late", page("late"))
    place.forge.delete("club/site")
    expected = [("forge:here", Drift.CHANGED, "1 new, 1 not listed any more")]
    assert drifts(asyncio.run(gather(place.config, place.credentials))) == expected
    assert drifts(asyncio.run(gather(place.config, place.credentials))) == expected


def test_a_forge_that_does_not_answer_is_unknown(place: Place) -> None:
    place.forge.host("club/docs", page("docs"))
    place.refresh()
    place.forge.api_fault = "500"
    [(source, drift, detail)] = drifts(asyncio.run(gather(place.config, place.credentials)))
    assert (source, drift) == ("forge:here", Drift.UNKNOWN)
    assert detail
