"""`sources status` where a cluster has a copy: what it has not heard of is wrong, since it may be what was erased."""

from sources.status import status
from sources.troubles import troubles
from tests.qdrant.conftest import Place


async def test_a_page_that_went_while_the_cluster_was_away_is_told_of_until_it_is_gone_there(place: Place) -> None:
    await place.refresh()
    assert await _wrong(place) == []
    url, place.server.url = place.server.url, "http://127.0.0.1:1"
    (place.notes / "mail.md").unlink()
    await place.refresh()
    assert await _wrong(place) == ["cluster"]
    place.server.url = url
    await place.refresh()
    assert await _wrong(place) == []


async def _wrong(place: Place) -> list[str]:
    found = await status(place.config())
    now_ms = found.succeeded_ms or 0
    subjects = [one.subject for one in troubles(found, overdue_ms=1_000, now_ms=now_ms)]
    return [one for one in subjects if one != "disk"]  # which is not ours alone
