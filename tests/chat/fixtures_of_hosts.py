"""Who takes part in most tests of a refresh: somebody who talks, the reader, and the host whose index it fills."""

from pathlib import Path

import pytest

from tests.chat.host import Host, host_for
from tests.matrix.people import People, Person


@pytest.fixture
async def alice(people: People) -> Person:
    return await people.register("alice")


@pytest.fixture
async def reader(people: People) -> Person:
    return await people.register("reader")


@pytest.fixture
def host(tmp_path: Path, people: People, reader: Person) -> Host:
    return host_for(tmp_path / "state", people.homeserver.url, reader)


@pytest.fixture
def homeserver_url(people: People) -> str:
    return people.homeserver.url
