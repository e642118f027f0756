"""The real homeserver for tests of any folder.

`homeserver` is the process, `people` makes users and rooms, `proxy` stands before it and spoils answers on demand.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Final

import pytest

from sources.demo.homeserver import Homeserver
from tests.matrix.people import People
from tests.matrix.proxy import Proxy

UNASKED: Final[Mapping[str, object]] = {
    "stats": {"enabled": False},
    "push": {"enabled": False},
    "update_user_directory_from_worker": "nobody",
    "send_federation": False,
}
"""What Synapse makes of each event for others: the room directory, push, the user directory, other servers.
The program asks for none of it, and it is a quarter of Synapse's work."""


@pytest.fixture(scope="session")
def homeserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homeserver]:
    """One per test process, shared by all its tests: make your own users and rooms."""
    with Homeserver(tmp_path_factory.mktemp("homeserver"), extra=UNASKED) as server:
        yield server


@pytest.fixture
async def people(homeserver: Homeserver) -> AsyncIterator[People]:
    async with People(homeserver) as made:
        yield made


@pytest.fixture
async def proxy(homeserver: Homeserver) -> AsyncIterator[Proxy]:
    async with Proxy(homeserver.url) as between:
        yield between
