"""Raw events as a homeserver sends them, and the records made of them."""

from collections.abc import Callable

import pytest

from index.model import RoomId
from ingest.chat.events import Extracted, extract
from tests.chat.fixtures_of_hosts import alice, homeserver_url, host, reader

__all__ = ["alice", "homeserver_url", "host", "reader"]

ROOM = RoomId("!room:here")

Raw = dict[str, object]


@pytest.fixture
def room() -> RoomId:
    return ROOM


@pytest.fixture
def read() -> Callable[..., Extracted]:
    """One raw event through the extractor, with a scrubber that changes nothing unless another is given."""

    def _read(raw: object, version: str = "11", scrub: Callable[[str], str] = str) -> Extracted:
        return extract(raw, room=ROOM, version=version, scrub=scrub)

    return _read
