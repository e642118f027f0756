"""The real homeserver for tests of any folder.

`homeserver` is the process, `people` makes users and rooms, `proxy` stands before it and spoils answers on demand.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from sources.demo.homeserver import Homeserver
from tests.matrix.people import People
from tests.matrix.proxy import Proxy


@pytest.fixture(scope="session")
def homeserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homeserver]:
    """One per test process, shared by all its tests: make your own users and rooms."""
    with Homeserver(tmp_path_factory.mktemp("homeserver")) as server:
        yield server


@pytest.fixture
async def people(homeserver: Homeserver) -> AsyncIterator[People]:
    async with People(homeserver) as made:
        yield made


@pytest.fixture
async def proxy(homeserver: Homeserver) -> AsyncIterator[Proxy]:
    async with Proxy(homeserver.url) as between:
        yield between
