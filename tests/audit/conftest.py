"""The forge of tests/forge, for audits."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forge.forge_place import Place
from tests.forge.forge_server import make_forge


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with make_forge(tmp_path / "forge") as forge:
        yield Place(tmp_path, forge)
