"""A town with a bot, on the shared homeserver."""

from pathlib import Path

import pytest

from tests.bot.town import Town
from tests.matrix.people import People, Person


@pytest.fixture
async def alice(people: People) -> Person:
    return await people.register("alice")


@pytest.fixture
async def town(tmp_path: Path, people: People) -> Town:
    return Town(tmp_path, people, await people.register("reader"), await people.register("sources"))
